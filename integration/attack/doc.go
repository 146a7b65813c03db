// Package attack tests the harm that another user of the machine can do through a daemon that runs
// as root. It has nothing to import.
//
// # Laws
//
//   - Each kind, and each parameter of it that names a path, is in the table of rows, or in the
//     list of exemptions with the reason.
//   - Each row is attacked on each of its routes, once with everything in place before the daemon
//     looks, and once while two places are exchanged all the time.
//   - Nothing that is root's and not named by the graph changes, nothing that only root may read
//     reaches a file or a log that others may read, and no setuid or setgid file is root's.
//   - The attacker is a process of another user: what it can do, the kernel says.
//   - Another host is an attacker, too. Each kind, and each parameter that it lends to other hosts, is in a table with the reason why it does no
//     harm. Each parameter of each kind is tried with hostile values, in each way that a resource may come from elsewhere.
package attack
