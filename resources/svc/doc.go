// Package svc has the kind svc: a service of the machine's service manager. Res is its type, and importing the package
// registers the kind in engine.DefaultRegistry. The package backends below it knows the service managers.
//
// # Laws
//
//   - Services that systemd has still to be told of are told at once, by one reload for all.
//   - A service is neither started nor stopped while another process holds the lock of a package manager.
//   - Only the methods of a backend are called, so a service of another manager is like one of systemd.
//   - A service is looked at before it is altered, and once after that. A service that loses its
//     new state is looked at again
//     three times, and then left until the next event.
//   - The first event after a change of our own is not taken for drift.
//
// # Times
//
// A waiting service is looked at every two seconds, or every ten where only a lock keeps it
// waiting. A manager has two minutes to read its files, and five seconds when mgmt ends.
package svc
