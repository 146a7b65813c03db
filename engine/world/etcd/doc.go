// Package etcd keeps an world.World in a cluster of etcd that already runs: the store of several hosts.
// It works with servers from version 3.4 on.
//
// # Laws
//
//   - A World has one prefix. It reads and writes no key without it, so several Worlds share a cluster.
//   - Reads are linearizable, so an answer is never older than an acknowledged change.
//   - A call ends. Each attempt has Options.Timeout. Where that ends a call without an answer, the error is world.ErrUnavailable.
//     A read that met a silent server asks the next one.
//   - Watches and calls ask for a leader, so a member that lost its cluster refuses them, and another one serves.
//     A Watch goes on from its last whole revision. It loses nothing and shows nothing twice.
//   - A Watch is one stream of its own, and reads no further than its user. A slow user holds no memory here.
//   - Bookmarks come by the server's clock: each ten minutes, or as its flag for progress notifications says.
//   - A lease has ended here when its time is over without an answer of the store, even if a server still counts.
//   - A change of the leader lets etcd count the time of each lease anew. Only then may a key outlive its ttl.
//   - Close ends each goroutine and each connection.
//
// # How it works
//
// The client of etcd answers Get, List and Txn. Watch and the renewal of leases use streams of their own. The client's
// watcher would hide a lost store, and would buffer without a bound. Its keeper of leases would end in silence.
//
// Built with the tag small, Open refuses: such a program has neither etcd's client nor gRPC.
package etcd
