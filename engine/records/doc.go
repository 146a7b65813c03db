// Package records is what survives the death of the process: records in named tables. The reactor
// writes them through a Store; package journal is the one on a disk.
package records
