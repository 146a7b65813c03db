// Package provided has the parts that kinds with a provider share: their registration, the values
// of a record, and the edits of a text file for all records at once.
package provided
