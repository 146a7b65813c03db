// Package reactor runs a graph of resources. It watches each vertex, runs the vertices that package
// sched names, and carries notifications and values along the edges. It replaces the graph by
// another one while it runs.
//
// The loop, the one goroutine of Run, makes every decision take effect. It asks the parts, which
// answer in data and know nothing of the loop: a part gets what it needs as arguments, and returns
// what to do. Packages below internal are parts that need no vertex:
//
//   - sched: which vertex runs next,
//   - hold: whether a vertex may be altered now,
//   - ledger: the refreshes and intents that must survive a crash,
//   - values: the values that vertices send and receive,
//   - watch: the state of a vertex's Watch,
//   - undo: the state to keep before a first change.
//
// A vertex has one field for each of them. The other parts are types of this package:
//
//   - holds: the pauses in effect, and which vertices run too often,
//   - failures: the failed vertices without a retry, and which of them a change frees,
//   - watches: the Watches that are about to start, and those that are slow or late,
//   - pool and runner: the goroutines that run vertices, and what a run does,
//   - alarms: what is due at a time,
//   - ending: what the end of Run has cut off.
//
// core holds what all of them share and any goroutine may use: the options, the clock, the mailbox,
// the records. It knows nothing of the loop either.
//
// The way of an event through the files: loop.go takes it and marks the vertex (due.go), begin.go
// starts the run that sched allows, run.go and the files below it play it on a goroutine of the
// pool, settle.go takes its end, report.go tells of it, and wire.go carries values and refreshes to
// other vertices. A new graph begins in stage.go and takes effect in commit.go. What people ask for
// is in status.go, pause.go and retry.go. A file stands above those whose functions it names, and a
// test computes that no circle of files does so.
//
// # Ownership
//
// One goroutine, the loop in Run, owns all scheduling state: the machine of package sched, the
// vertices, pending refreshes, received values, timers. Every other goroutine tells it something
// through the mailbox, in which a vertex stands at most once whatever happens to it, so nothing
// queues without bound and nothing that a resource calls ever blocks. The goroutines are:
//
//   - one for the Watch of each vertex that has something to watch, is not polled or hidden, and is
//     not watched by the host alone (engine.WatchedRes),
//   - one for the start of Watches,
//   - a few for the work that Watches have done elsewhere, as long as they wait for it,
//   - one for each CheckApply, or batch of them, that runs at once; it takes the next run when
//     there is one; when the graph is at rest one is left,
//   - one for the Stage that is being committed,
//   - one for each vertex that leaves, while its Cleanup runs,
//   - one for each shared value whose End is running,
//   - one for the cleanup at the end.
//
// Run owns all of them and returns when they have ended. The one exception is Abandon: then it
// returns an AbandonedError that names the vertices whose methods did not end.
//
// # Laws
//
// The fifteen laws are in docs/ARCHITECTURE.md. Here they mean:
//
//   - A parameter of a resource is written only by the loop, under core.values, while neither
//     Watch nor CheckApply of that resource runs; that of a nowatch field while no CheckApply runs.
//     SetRefresh and SetRecv are called by the loop before each run.
//   - A suspended vertex belongs to the Swap that exchanges it: nothing of it starts, and the loop
//     leaves what Init and Cleanup write alone.
//   - The loop reads the fields that a run writes to a vertex (running, values) only after
//     its end; a successor gets it when the one before has left.
//   - A vertex's Watch is started again only after the one before and a running CheckApply have
//     ended.
//   - The loop reads the reports of a run (changes, values, outcome) only after the run has ended.
//   - Events carry no data. News of a vertex set a bit.
//   - Time is read from one monotonic clock. It decides only when something is looked at again and how many runs start at once,
//     never in which order.
package reactor
