// Package kept makes an world.World that keeps the answers of a store of several hosts in a file of the host. So a
// host that starts while the store is away goes on with its last state.
//
// # Laws
//
//   - Only keys with the given prefix are kept, and only List and Watch of them differ from those of the store.
//   - Away says that the store was away when the host started, or has refused the host. From then on List answers from
//     the file. A Watch waits for the store, and ends with world.ErrCompacted when it has met the store: its reader
//     lists again. The same begins with a List that the store cannot answer before the first Watch of it.
//   - After that each answer is that of the store.
//   - The file has whole lists and whole revisions. A process that dies while it writes loses its last lines at most.
//   - A file that cannot be read or written is a warning and no error: the store has all that the file has.
//   - The file grows to at most four times its content, or 1 MiB.
package kept
