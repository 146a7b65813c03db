// Package plain writes plain values as bytes, and reads them back as they were. A record of a
// records.Store is such bytes, if it holds parameters of a resource.
package plain
