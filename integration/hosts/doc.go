// Package hosts boots real machines for tests: a systemd of its own as process 1, with journal,
// bus, cron and packages, in about a second.
//
//	tree := hosts.Base(t, "cron")       // a Debian tree, built once
//	host := tree.Boot(t, "web")         // a machine on top of it
//	host.Run("apt-get", "--version")    // in the machine
//
// A [Tree] is read-only; each [Host] writes to a layer in memory, which is gone with it. A Host has
// its own mounts, processes, users, control groups and network, in which there is only its
// loopback. It has fewer rights than root: it can load no module and set no clock.
//
// The machine of the tests sees these parts of it: its processes, an empty folder in t.TempDir, and
// empty control groups below the test's own. All of them end with the test. A test that is killed
// takes its machines along, and the next one removes the control groups.
//
// A machine needs root on Linux, some of Debian's programs, and the rights to mount and to make
// control groups. [Need] looks for all of them: without, the test is skipped with a list of what is
// missing, and under CI=true it fails.
package hosts
