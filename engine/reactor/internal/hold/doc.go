// Package hold decides whether a vertex may be altered now, and for how long it may not. It has the
// change budget, flapping, approvals, windows, pauses, semaphores, the limits settle, limit and burst, storms of runs, and
// the waits before another try. It answers in data. The loop of the reactor holds the vertex, tells
// the listener, and writes the records.
//
// # Laws
//
//   - Time is an argument: a count of nanoseconds of the reactor's clock, which begins at 1, or a
//     time of the wall clock. Nothing here reads a clock or waits, but for Semaphores.
//   - Semaphores and Account are called by runs, on any goroutine. All else belongs to the loop.
//   - No run takes more from an Account than its Budget allows within the time. An account that
//     was used up stays so until an operator says to go on, also over a restart.
//   - A vertex flaps when the same correction came Times times within a time, and at the first
//     same correction after a rest.
//   - Runs that share semaphores never wait for each other in a circle.
//
// # Files
//
// Callers stand above callees.
//
//	doc.go flapping.go approval.go window.go vertex.go throttle.go stall.go storm.go backoff.go account.go budget.go
//	pauses.go semaphores.go
package hold
