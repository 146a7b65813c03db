// Package reactor runs a graph of resources. It watches each vertex, runs the vertices that package
// sched names, and carries notifications and values along the edges. It replaces the graph by
// another one while it runs.
//
// Each component below internal decides one question, and answers in data. The loop puts the
// decisions into effect. The components are:
//
//   - sched: which vertex runs next,
//   - hold: whether a vertex may be altered now,
//   - ledger: the refreshes and intents that are owed over a crash,
//   - values: the values that vertices send and receive,
//   - watch: how the Watch of a vertex stands,
//   - undo: the state to keep before a first change.
//
// A vertex has one field for each component. The fields of loop belong to the loop. A runner plays
// runs on other goroutines, and touches nothing of the loop.
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
// returns an engine.AbandonedError that names the vertices whose methods did not end.
//
// # Files
//
// Callers stand above callees. A test counts the calls that point up.
//
//	doc.go stage.go life.go swap.go commit.go part.go removals.go loop.go settle.go doubt.go match.go compare.go
//	retry.go status.go pause.go begin.go held.go rest.go next.go watched.go leave.go wire.go report.go stuck.go
//	worker.go converge.go ties.go realize.go ask.go noop.go run.go absent.go place.go batch.go reverse.go
//	refresh.go budget.go host.go costly.go due.go shared.go watch.go why.go handle.go limits.go check.go job.go
//	reactor.go core.go options.go metas.go altered.go calls.go context.go mailbox.go places.go failures.go
//	listener.go change.go redact.go recall.go holds.go declared.go state.go clock.go vertex.go names.go json.go
//
// # Laws
//
// The fifteen laws are in docs/ARCHITECTURE.md. Here they mean:
//
//   - A parameter of a resource is written only by the loop, under Reactor.values, while neither
//     Watch nor CheckApply of that resource runs; that of a nowatch field while no CheckApply runs.
//     SetRefresh and SetRecv are called by the loop before each run.
//   - A suspended vertex belongs to the Swap that exchanges it: nothing of it starts, and the loop
//     leaves what Init and Cleanup write alone.
//   - The loop reads the fields that a run writes to a vertex (intent, job, sent, out) only after
//     its end; a successor gets it when the one before has left.
//   - A vertex's Watch is started again only after the one before and a running CheckApply have
//     ended.
//   - The loop reads the reports of a run (changes, values, outcome) only after the run has ended.
//   - Events carry no data. News of a vertex set a bit.
//   - Time is read from one monotonic clock. It decides only when something is looked at again and how many runs start at once,
//     never in which order.
package reactor
