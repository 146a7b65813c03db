// Package watch keeps how the Watch of one vertex stands: when it was started, whether it has said
// Running, why it was told to end, and the causes of an event that its subscriptions know. It
// starts no goroutine; the loop of the reactor calls Watch with the Context that Start returns, and
// tells the end of it.
//
// # Laws
//
//   - A Watch is started only after the one before it has ended. A start that is asked for during a
//     run of CheckApply comes after that run.
//   - Running counts once for each start, and an event only after it.
//   - A Watch that says nothing in time is told to end. Its state says why it was told to, until it
//     has ended: that decides what follows.
//   - The loop sees what led to an event without taking it away from the resource, and the other
//     way round: each gets all of it.
//   - Time is an argument.
//
// # Files
//
// Callers stand above callees.
//
//	doc.go vertex.go notice.go context.go subs.go
package watch
