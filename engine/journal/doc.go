// Package journal keeps what must survive the death of the process: an
// engine.Store of plain records in named tables. NewMemory is the one that
// survives nothing, for tests and for runs without a state folder.
//
// # Laws
//
//   - Commit does all of its writes, in their order, or none of them; once it
//     has returned nil they are kept. Its error leaves everything as it was.
//   - Records shows one moment, sorted by key, whatever is committed meanwhile.
//   - Values are copied in and out. A nil Value deletes, an empty one does not.
//   - Calls may come from many goroutines. None of them outlives its call.
//
// storetest has the suite that every Store passes.
package journal
