// Package host is what one machine gives to all resources at once: file watches, message buses,
// commands and facts. It implements engine.Host. It is the only package that imports fsnotify and
// godbus.
//
// # Laws of the file watches
//
//   - One source of events serves the whole process: fanotify as root, inotify else, fsnotify on other
//     systems. A folder that fanotify refuses has inotify. It watches directories, each once, however
//     many subscriptions need it, and finds the subscriptions of an event by the name in it: an
//     event of a name that nobody asks for costs no system call.
//   - A subscription is woken when the writer of a name is done, as far as the kernel tells: see
//     passage. What a program needs two seconds for is told before it is done.
//   - Writing answers by what has happened until it is called, and not by what the hub has read by then.
//   - A name whose swap file an editor has made is on its way, as if it were modified.
//   - Modifications are read four times a second, so a program that appends for ever wakes nobody.
//   - A watch is armed when Watch returns: a change made after that is seen. Every directory on the
//     way to a path is watched before its entries are looked at, so nothing happens between looking
//     and watching.
//   - A path is followed as the kernel would follow it, and again whenever a name on the way is
//     made, removed, renamed or replaced: missing parents, moved directories, replaced symbolic
//     links, a directory made anew. A directory that has been moved away is let go of.
//   - A wake-up says "look again". It comes after the change, and rather once too often. A
//     subscription holds at most one; the hub never blocks on it.
//   - When the kernel has lost events, every directory is watched anew and every subscription is
//     woken with Cause.Resync.
//   - A mount on a directory, or an unmount, makes it another directory: the kernel's table of
//     mounts is followed, since the watches tell nothing of it. (The same file system unmounted and
//     mounted again within a moment of mountPause may go unseen until the next look.)
//   - A directory that cannot be watched (limits, permissions) is polled, and only that one; the
//     log names the limit, its value and how much of it we hold. Watching is tried again later.
//
// Changes without an event of the kernel are not seen: writes through a shared memory mapping, and
// changes made by others on network and pseudo file systems (NFS, FUSE, /proc, /sys). Resources
// there need MetaParams.Poll. A ".." in the target of a symbolic link that follows another link is
// resolved when the link is read, not again when that other link changes.
//
// A file system that does not answer (an NFS server that is gone, mounted hard) holds each caller
// in the kernel, where no context or signal ends the call. If that is the goroutine that serves the hub's events, because
// something below is watched, then as long as it lasts no subscription of the process is woken by
// files, a new Watch waits until its own context ends, and Close waits too. Commands, buses and
// polled resources (MetaParams.Poll) go on. Nothing is lost: the queued events are served
// afterwards, or answered by a resync. Mount such file systems soft, or give the resources there
// MetaParams.Poll, which keeps the hub away from them.
//
// # Laws of the commands
//
//   - No shell, no inherited environment, a session and a process group of its own, no controlling
//     terminal, and a result for everything that could be started. So a command cannot type into
//     the terminal from which mgmt was started, and Ctrl-C there reaches it only by way of the
//     context.
//   - When the context ends, the process group is ended, and so is every process of the command's
//     session and every descendant that was still in the process tree at that moment, wherever it
//     has moved itself. A process that had left both before (a daemon that forked twice and made a
//     session of its own) is not found.
//   - A command with a cost (engine.Command.Cost) that has started is ended by KillAll and Close
//     only. Its output goes to files in memory, and under systemd it is in a scope of its own, so
//     neither our death nor the stop of our unit ends it.
//   - Where there is a ledger (Options.Ledger), the Host after a killed Host ends the commands that
//     were left, before any other starts. It ends their first processes, the processes that have
//     their output open, the members of their sessions, and all descendants of these. Those with a
//     cost are let finish, and the next one with a cost waits for them. Numbers of another boot or
//     container, or of later processes, are left alone.
//   - A command is over when its first process has ended. Output that other processes still hold is
//     waited for only a moment (see drainWait).
//   - Errors carry the program's name and never its arguments, input or environment, which may hold
//     secrets.
//
// # Ownership
//
// One goroutine at a time owns the watches and all state of them: the hub's, which starts with the first Watch, one of
// the source that serves what it has read, or one that asks who is writing. Two others carry the watcher's errors and the changes of mounts to the hub's. While subscriptions are made, one for
// each of their folders asks whether the file system answers. Nothing else runs, except one
// goroutine per connected bus, those of running commands, and two while facts are watched. Close
// ends them all.
//
// # Laws of the facts
//
//   - They are read from files and from the kernel, in less than 20 ms: no program is run, and no
//     network asked.
//   - The files determine a fact: the parsers are functions of a root folder, and no link leads out
//     of that.
//   - They are read again only when one of FactPaths has changed, or the hostname; addresses, while
//     facts are watched, only when the kernel tells of a change.
//   - Each watcher of facts is woken after a change of one, whatever its cause; a write that
//     changes none wakes no watcher. Events that the kernel lost count as a change.
package host
