// Package svc has the kind svc: a service of the machine's service manager. Res is its type, and importing the package
// registers the kind in engine.DefaultRegistry. The package backends below it knows the service managers.
//
// # Laws
//
//   - Services that systemd has still to be told of are told at once, by one reload for all.
//   - A service is neither started nor stopped while another process holds the lock of a package manager.
//   - Only the methods of a backend are called, so a service of another manager is like one of systemd.
//   - A service that mgmt has started is watched until it has stayed up for the time of stable, in the
//     same CheckApply, which holds no place among the parallel runs meanwhile. One that others have
//     started is waited for.
//   - A service that its manager starts again by itself is left to the manager, and is one failure until
//     it has stayed up. A notification starts it at once.
//   - A service is looked at before it is altered, and once after that. A service that loses its
//     new state is looked at again three times, and then left until the next event.
//   - The first event after a change of our own is not taken for drift.
//
// # Times
//
// A service has to stay up for five seconds, or as long as stable says; after a life of less than a
// minute that ended by itself, for twice as long as that. A waiting service is looked at every two
// seconds, or every ten where only a lock keeps it waiting. A manager has two minutes to read its
// files, and five seconds when mgmt ends.
package svc
