// Package bolt keeps an world.World in one file of bbolt: the store of a host that
// stands alone, and a daemon's default. Package engine/world/internal/mvcc states the
// meaning of its calls.
//
// # Laws
//
//   - Durable: what Txn has acknowledged is there after SIGKILL and after a loss of
//     power, and each Txn is there whole or not at all.
//   - A watch goes on after a restart: the history is in the file. It keeps an hour of
//     changes, unless they are more than Options.History.
//   - When a file is opened, every lease in it has ended: its owner has died. Their
//     keys are deleted as one revision.
//   - One process has the file; another one gets ErrLocked at once. Only the owner of
//     the file can read it.
//   - A damaged file, an emptied one and one of another format are never replaced,
//     since an empty store would delete every object of the host. Open refuses them
//     with a DamageError that says how to go on. Nothing in a file ends the process.
//   - A file that is removed while it is open is written again, with all that it has.
//   - A full disk, or one that cannot be written to, fails a Txn with ErrUnavailable;
//     reading goes on, and so does writing when there is room again.
//
// # How it works
//
// Three buckets hold all. The versions are keyed by the key and its revision, so that
// the newest one is before the next key. The history is keyed by the revision and a
// number within it. The state has the two ends of the history. The newest changes stand
// next to the state, and go to the history some at a time: each page more makes a commit
// slower. Close moves them, so a program that does not know them reads all of a file. Of
// a process that was killed, such a program reads a history that begins later.
package bolt
