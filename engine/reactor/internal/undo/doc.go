// Package undo keeps what undoes the vertices with the metaparameter reverse: for each id one
// engine.Reversal and its image, from before the first change until the reversal has succeeded,
// over swaps and restarts. It says what has to be written before a vertex is altered. The reactor
// writes that, logs, and says when it is durable.
//
// # Laws
//
//   - The first image is the true one: a record that is there, or that can't be read, is never
//     replaced by a later look at the machine.
//   - What can't be undone is kept as that, so that our own work is not taken for the earlier
//     state of the machine.
//   - A later edit of a vertex is followed: what it wants now is kept beside what it wanted before.
//   - A vertex that has nothing to keep costs one look.
package undo
