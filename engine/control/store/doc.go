// Package store lets an operator reach some keys of the daemon's store over its socket: those of deploys and of hosts. So the
// verbs for deploys work alike with a store in a file, which one process alone can open, and with one that several hosts share.
//
// # Laws
//
//   - Only callers who may change objects are answered: a deploy may hold secrets.
//   - Only the keys of deploys are written. Reports and members are of the hosts, and objects have an API of their own.
//   - A Client is an world.World without Watch and Lease, which it refuses.
package store
