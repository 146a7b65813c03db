// Package plugin makes kinds of providers, which are programs. A file in a folder, the descriptor, names the program and
// the schema of its types, so the kinds are known before the program runs. The engine cannot tell such a kind from
// another one.
//
// # How it is used
//
//	set, ds := plugin.Load(nodes, plugin.Options{...})   // nodes are the files of the folder
//	err := set.Register(registry)
//
// # Words
//
// A plugin is one descriptor with its program. Its process is started with the first call of a resource, and ends after the last
// resource has left (engine.SharedRes). Conn is the connection to a process: JSON lines on descriptor 3, or gRPC over a unix socket
// by provider.proto. Nothing above Conn knows which one it is.
//
// # Laws
//
//   - The kinds of a descriptor come from its schema file alone. A provider whose schema has another hash, or whose versions
//     do not overlap, is refused, and the error names both sides.
//   - Before a create an intent is on the disk, with an idempotency key. After a crash a Get by that key comes first, so
//     nothing is made twice.
//   - A provider that ends is started again: at once, then after pauses that grow from 100 ms to 30 s. A call that has not been
//     answered is asked anew, so no resource fails by that. After a restart each resource looks once.
//   - A provider that has ended 5 times in 2 minutes is broken. Its resources fail, with its last lines. No other
//     resource does.
//   - No provider outlives the daemon. At the end its standard input ends, and its process group is killed. The kernel kills
//     it where the daemon was killed.
//   - Every call has a deadline, and the calls that wait for an answer have a bound. A message that is too long ends the connection.
//   - Resources of a kind with batches that are due together ask together. Each has its own record, as a resource alone has.
//   - A provider over gRPC gets a socket in a folder that others cannot enter, and a token. The folder is gone when mgmt has
//     connected. A connection is never made a second time: its end is the end of the process.
//   - A value that the schema calls secret is in no message, in no log and in no record.
//   - An output of a replaced thing is sent, so its receivers run.
//
// # Ownership
//
// A Set is safe for concurrent use. The process of a plugin belongs to the Shared of its resources.
package plugin
