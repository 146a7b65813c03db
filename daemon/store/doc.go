// Package store opens the store that the resources of a machine, and hosts, share: in memory, in a file, or in a cluster of etcd. It knows
// who this program is for the servers of a cluster, and whether these answer.
//
// Laws:
//   - A fault of the settings is told before anything is opened, and all of them together.
//   - A daemon that has met its cluster once starts without it, with its last state. A host that has not is told at once.
//   - A file in the state folder is made when something uses the store.
//   - No error and no log line has a password.
package store
