// Package nspawn has the kind nspawn: a container of systemd-nspawn. Res is its type, and importing the package registers
// the kind in engine.DefaultRegistry. It stands above the kinds file and svc, which do their parts as its children.
//
// # Laws
//
//   - An image is never removed, unless the graph says force.
//   - A container that runs with other settings than the wanted ones is restarted once, also after a crash.
//   - A machine of the same name that another unit has started is left alone, and the error names that unit.
package nspawn
