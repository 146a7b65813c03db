// Package ledger keeps the debts of a graph over a crash: the refreshes that wait for their targets,
// the intents of runs that are about to change something, and the retries. It answers with the
// records to write, and the loop of the reactor has them written. Recorder is the way to the store.
//
// # How a refresh comes about
//
// A run that may change something, and whose change refreshes others, first makes an intent
// durable. When it has changed something, the intent becomes one pending refresh for each target,
// in one commit. A target's next success acts on its pending refreshes, and ends them. After a
// crash an intent alone counts as a change: the next success of its vertex refreshes all targets.
//
// A target that comes while a run goes on has its refresh written down at once: the run may have changed
// something by then. It counts from the end of the run, or is withdrawn.
//
// # Laws
//
//   - A change leads to a run of each target with Refresh, at least once, also over a crash.
//   - A failed run keeps its intent. It ends no refresh.
//   - A later refresh of one source takes the place of the earlier ones that wait, so that they do
//     not pile up before a target that cannot act.
//   - Of a name that leaves the graph no record stays.
//   - A Vertex belongs to the loop. A Run belongs to the goroutine of the run until that has ended;
//     the loop leaves the intent of the vertex alone meanwhile.
//
// # Files
//
// Callers stand above callees.
//
//	doc.go vertex.go book.go pending.go recorder.go
package ledger
