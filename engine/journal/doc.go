// Package journal keeps the data that must survive the death of the process: an
// records.Store of plain records in named tables, and a history of events. Open
// keeps both in one file; NewMemory and NewHistory keep nothing over the end, for
// tests and for runs without a state folder.
//
// # Laws of every Store
//
//   - Commit does all of its writes, in their order, or none of them; once it
//     has returned nil they are kept. Its error leaves everything as it was.
//   - Records shows one moment, sorted by key, whatever is committed meanwhile.
//   - Values are copied in and out. A nil Value deletes, an empty one does not.
//     A write without a table or a key is refused.
//   - Calls may come from many goroutines. None of them outlives its call.
//
// storetest has the suite that every Store passes.
//
// # Laws of a Journal
//
//   - Durable: what Commit has acknowledged is there after SIGKILL and after a loss
//     of power, and each Commit is there whole or not at all. If the disk itself
//     fails in the last step (an I/O error, not a lack of room), a refused Commit
//     may turn out to be there.
//   - Together: whatever waits is one transaction. Each caller hears of its own
//     writes: a write that is refused, or too big for the remaining room, fails
//     alone. A transaction that would change nothing is not made.
//   - Context: if it ends before the group has begun, it ends the Commit, and
//     nothing was done. Once begun it is waited for.
//   - Bounded: a group has at most 8 MiB, or one Commit of at most 16. Only the
//     callers' goroutines wait; there is no other queue.
//   - Alone: the file is locked. If another process has it, Open says ErrLocked at
//     once. It is readable by its owner only.
//   - Damage: each record has a check sum, and Open looks at the whole file (up to
//     96 MiB of it) before bbolt does, with plain reads. A damaged file, a foreign
//     file and a file of another format are renamed to NAME.damaged-1 and so on;
//     three of them are kept. A new file is started with the whole records of the
//     damaged one, and one warning names the others. That holds for records behind a
//     damaged page too, as long as the list of the free pages is whole: it tells the
//     present from the past. A file of another format gives none. Damage found while running, also by a fault in the map, is answered in
//     the same way, and the call that met it goes on with the new file. Nothing of
//     this ends the process.
//   - Removed: a file that is removed while it is in use is written again, with
//     all that it has, before the next Commit. So is one whose place another file has
//     taken, which is set aside. Where that can't be done, as without a folder, the work
//     goes on in the nameless one, after a warning, and it is tried again. A keeper
//     (Options.Kept) looks by itself: only it knows whether the folder is still ours.
//   - Room: ErrFull and ErrUnwritable tell that one can go on without durability.
//     A full disk fails a Commit; reading goes on, and so does writing when there
//     is room again.
//   - Size: space is used again, so put and delete in turn let nothing grow. A file
//     that is mostly free is made smaller by the next Open.
//
// # Laws of a History
//
//   - Append never waits for the disk. Entries wait in a buffer of bounded size;
//     an entry without room is dropped, and an entry with OutcomeDropped tells how
//     many were.
//   - An entry can be queried at once, and is on the disk after FlushEvery (the
//     first after a pause right away). A kill loses at most the entries appended
//     since; Close loses nothing.
//   - Ids rise for ever, also over restarts and kills, so a follower can go on with
//     the last id that it knows. Within one run of the process they have no gaps.
//     After damage they go on from a number made of the time, far above.
//   - Followers are woken, and queue nothing.
//   - Entries older than MaxAge, and the oldest ones above MaxBytes, are removed in
//     small transactions, by whole chunks of some 4 KiB.
//
// # How it works
//
// One goroutine commits. Before it takes a group it lets everybody else run who
// can, since a transaction costs the same for one and for many: for 16 callers that
// is a quarter of the CPU time. bbolt syncs twice for a transaction, the pages and
// then the page that makes them valid. Its list of free pages is kept in the file:
// without that, bbolt looks for them in a goroutine of its own, where a damaged
// page ends the process, and it is no faster here.
//
// The history is chunks of entries in a bucket of the same file, keyed by the first
// id. The last chunk is in memory, and is written again until it is complete. No id
// reaches the ceiling, a number in the file that is raised long before it is
// reached: that is why a kill gives no id a second time.
package journal
