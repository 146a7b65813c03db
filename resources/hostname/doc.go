// Package hostname has the kind hostname: the name of the machine, now, at the next boot, and for people. Res is its
// type, and importing the package registers the kind in engine.DefaultRegistry.
//
// # Laws
//
//   - The files and the kernel are looked at themselves, so a change is seen whichever program makes it.
//   - Where systemd runs, hostnamed is asked first. This package itself makes the changes that hostnamed refuses.
//   - A secret is never taken for a name, since every user can read the name of a machine.
//
// # Names
//
// The kernel has the transient name, of at most 64 bytes, and forgets it at a reboot.
// /etc/hostname has the static one, in its first line after any comments, by hostname(5).
// /etc/machine-info has the pretty one, as a shell would write it, by machine-info(5).
//
// # Cost
//
// A look reads two small files and asks the kernel once. Watch has one subscription and one
// descriptor of /proc.
package hostname
