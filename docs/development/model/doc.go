// Package model is an executable model of swap, refresh and journal: what the reactor promises, in few words that a machine can check.
// No program imports it. model.go has the state, actions.go what can happen, and laws.go the laws, in less than 460 lines of code together.
//
// # What is checked
//
// TestLaws visits every state that three vertices can reach with two graphs, one drift, one failure, one change of the graph while a process
// runs, and one kill at any moment. It asks the laws in each of them: Ready, Order, No lost event, Serial, Refresh, Swap, Converged and
// Leave nothing behind, as docs/ARCHITECTURE.md names them. Besides, the engine always comes to rest. With -short fewer of these things
// happen in one life. TestMistakes makes the model wrong in one place at a time, and sees the law that forbids it fail.
//
// TestTraces plays 1,000 random lives of the real reactor, with drift, failures, other graphs and kills, and checks each of them against the
// model. The reactor has no hook and no build tag for that. SetRefresh is called on the loop when a vertex is chosen, CheckApply while it
// runs, Listener.Ran when the loop takes the end, Listener.Swapped when a graph takes effect, and Store.Commit when the journal is
// written. So a trace is of the very program that users run. What happens between two lines of a trace, such as an event in the mailbox, is
// hidden: the checker keeps all states in which the model may be. At the end the reactor is at rest, and the model has to be.
//
// # What a state is
//
// It is the graph in effect, what the process knows of each vertex (heard of, dirty, failed, its run, its intent), the refreshes that wait
// for their targets, the notes and the writes under way, the journal, and the world. A run goes in steps (chosen, asked, intended, applied,
// written down, taken by the loop), and everything else may happen between two of them.
//
// # What it leaves out
//
//   - Values that vertices send, noop, batches, limits, pauses, budgets, the reversal of changes, and parts of a graph.
//   - Watches that fail, and kinds that do not overlap: no vertex is stopped before a swap.
//   - A graph that is refused. It has no effect, so there is nothing to model.
//   - Notes that the journal refuses. Where it refuses what a run waits for, the run fails; the traces have that of intents.
//   - Time. Whatever waits may end its wait at once; nothing waits for a place among the parallel runs.
//
// # Limits of the promise
//
// The model had to say where a refresh is owed. An edge counts from the moment at which its graph takes effect, also for a run of its source
// that goes on then, whatever that has changed already, and whether it fails afterwards. The record of that is a note: over a kill the
// edge counts once the note is written, as if the graph had taken effect at that moment. A kill during such a run may lead to a refresh
// without a change. When a source or its edge leaves before a run of it has succeeded, nothing is owed any more.
package model
