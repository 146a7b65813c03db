// Package memory keeps an engine.World in the memory of one process. A resource gets it where no
// other World was configured, and tests use it.
//
// # Laws
//
//   - Every Txn that changes something makes one new revision, and all its changes carry it. A Txn
//     without a change makes none.
//   - Readers see whole revisions. Values are copied on the way in and out.
//   - A Watch yields every change below its prefix, in order, once. It holds no queue: it reads the
//     shared history at its own speed, and a Watch that has fallen behind the history ends with
//     engine.ErrCompacted.
//   - No goroutine runs between calls. While leases exist, one timer of the clock waits for the
//     earliest end.
//   - Time is asked of the clock only, and only for leases; order rests on revisions.
package memory
