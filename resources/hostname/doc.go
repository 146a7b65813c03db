// Package hostname has the kind hostname: the name of the machine, now, at the next boot, and for people. Res is its
// type, and importing the package registers the kind in engine.DefaultRegistry.
//
// # Laws
//
//   - The files and the kernel are looked at themselves, so a change is seen whichever program makes it.
//   - Where systemd runs, hostnamed is asked first. This package itself makes the changes that hostnamed refuses.
//   - A secret is never taken for a name, since every user can read the name of a machine.
package hostname
