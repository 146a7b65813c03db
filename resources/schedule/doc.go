// Package schedule has the kind schedule: it chooses some of the live hosts for a task. Res is its type, and
// importing the package registers the kind in engine.DefaultRegistry.
//
// # Laws
//
//   - All hosts that see one revision of the store send the same hosts.
//   - A host that dies leaves its place at the end of its lease, and no sooner than it knows that itself.
//   - mine is true only where the lease of this host proves it. While the store is lost, hosts stays as it was.
//   - All schedules of a daemon stand under one lease. A changed parameter does not move a sticky place.
//   - Where nothing may be altered, this host looks and is no candidate.
package schedule
