// Package mvcc gives the meaning of an world.World to an ordered map that keeps
// versions: transactions, lists at a revision, watches, and leases. The stores of one
// process stand on it; each brings a Backend that keeps the versions.
//
// # Laws
//
//   - Every Txn that changes something makes one new revision, and all its changes
//     carry it. A Txn without a change makes none. Revisions rise by one.
//   - Readers see whole revisions. Values are copied on the way in and out.
//   - Together: transactions that wait are one Update of the Backend, in the order of
//     their calls, each with a revision and an answer of its own. One that is refused
//     fails alone. One of the callers does the work for all; no goroutine runs
//     between calls.
//   - A Watch yields every change below its prefix, in order, once, whole revisions at
//     a time. It holds no queue: it reads the shared history at its own speed, and a
//     Watch that has fallen behind the history ends with world.ErrCompacted. A Watch
//     that saw nothing of its own in many revisions gets a bookmark.
//   - The history is bounded: it keeps Keep.Most changes at most, and Keep.For at
//     least where that many allow it. A whole revision is kept or forgotten.
//   - A lease lives as long as its Client. A Client that is abandoned leaves them to
//     the clock; a Client that is closed ends them at once. Order never rests on time.
package mvcc
