// Package undo keeps the reversals of the vertices with the metaparameter reverse: for each id one
// reversal.Reversal and its image. It keeps them from before the first change until the reversal has
// succeeded, over swaps and restarts. It returns the records to write before a vertex is altered.
// The reactor writes these, logs, and tells when they are durable.
//
// # Laws
//
//   - The first image is the true one: a record that is there, or that can't be read, is never
//     replaced by a later look at the machine.
//   - A change that can't be undone is recorded as such, so that our own work is not taken for the
//     earlier state of the machine.
//   - A later edit of a vertex is followed: its new parameters are kept together with the old ones.
//   - A vertex that has nothing to keep costs one look.
//
// # Files
//
// Callers stand above callees.
//
//	doc.go place.go undo.go
package undo
