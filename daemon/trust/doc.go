// Package trust says whom a host believes, and who reads its secrets: the keys of its operators, what these have signed about the store and
// its hosts, and the key of this host.
//
// Laws:
//   - Nothing that another host says of itself gives it a right. Roles, topics and removed hosts are what the operator has signed.
//   - A host belongs to the first store that it has met. Another one, or an older record of the same one, does not count.
//   - The key of this host is made once. A lost one is not replaced before the operator says so: the store has secrets for it.
//   - A file with a key that other users could have written is refused, where the process is root's.
package trust
