// Package sched decides which vertex of a running graph starts next. It is a state machine and
// nothing else: no goroutine, no clock, no input or output, no order that rests on chance. Events
// go in by methods, decisions come out of Next, and the same calls give the same decisions, so that
// every interleaving is a text file in testdata.
//
// # Words
//
// A vertex is unsettled while its Watch has not said Running, and while it is dirty, running or
// failed. It is settled otherwise, whether its last run ended with ok, would-change or unknown. A
// held vertex is unsettled only if it is dirty or failed, one that stands aside only if it failed. An ancestor is any vertex from which a
// path leads here.
//
// # Laws
//
// They are those of the design under the same numbers, as far as they are decided here. The model
// in model_test.go states them once more, naively.
//
//	1 Ready  a vertex starts only after Ready, and after Unready not before the next.
//	2 Order  a vertex starts only if no ancestor, near or far, is unsettled at that
//	         moment. Nothing running is ever stopped; a clean vertex stays clean.
//	3 Events an Event after Ready is followed by a start after it, once whatever
//	         stands in the way of v is gone: a hold, a failure, a delay, an ancestor.
//	         Any number of them before that start lead to that one. Fail voids
//	         what was asked before it.
//	4 Serial a vertex that runs does not start before Done, whatever is told.
//	5 Work   when Next says no, either all slots are taken or no vertex may start.
//	6 Cost   below.
//	7 Order of starts: first come, first served, where the vertices that one settled
//	         vertex lets go count as one that comes once for each of them. Batch keys
//	         take turns with single vertices. Nothing starves.
//
// A batch is one run of several vertices of one key, none of which is above another. Of one key
// there is one run at a time, and none while a member is starting: vertices that become ready
// meanwhile gather for the next, so that twenty packages of a new graph are one transaction. A
// Watch that says nothing fails, and keeps the others no longer. A batch takes one slot until its
// last member is done.
//
// # How it works
//
// Nothing is ever told to descendants. Each dirty vertex is either Due, in a queue, or Parked on
// one unsettled ancestor, its witness. Next takes a Due vertex and looks for an unsettled ancestor:
// if there is none it starts, else it parks there. When a witness settles, all that is parked on it
// is Due again, in one step: the witness itself enters the queue and gives them out one by one; if
// it becomes unsettled before they are out, the rest has never left. A witness that fails moves
// nothing; that those parked on it are now blocked is read from the chain of witnesses on request.
//
// The search goes backwards, depth first, and is cut short by four things:
//
//   - Levels. The level of a vertex is the longest path to it. An ancestor has a lower level, and
//     the lowest level of the unsettled is known at any time: on a quiet graph this alone decides,
//     in a constant.
//   - Virgins. At first all is unsettled, which would make levels worthless. But below a vertex
//     that has never settled nothing has either. Those are kept apart: a vertex that has settled
//     once has none above, and any other vertex meets them one step up.
//   - Certificates. A search leaves with each vertex it passed that no ancestor was unsettled, as
//     of a count of the vertices that became unsettled so far. It proves the same later if nothing
//     that became unsettled since is on a lower level, which a short walk from the newest of them
//     tells. If an ancestor was found, its name is left instead: it is one as long as the topology
//     stays.
//   - Cursors. A search that ends early leaves how far it was. The next one goes on there, so that
//     a vertex below many pays for each edge once, and not once for each time that it is looked at.
//     A void certificate sends it around once more from where it is, not from the start.
//
// # Cost
//
// With nothing else unsettled an event takes some 50 ns to the end of its run, whatever the graph.
// Done takes a constant even if a million vertices wait for it. Else a search looks at edges
// between the unsettled and the asker that no certificate covers. The worst that is known: far
// above a vertex others become unsettled again and again between its searches, which then walk all
// its ancestors on higher levels each time. Nothing allocates but Swap and Patch. A vertex takes
// 80 bytes, an edge 8.
//
// Patch changes a part of the graph at the cost of the part. Levels then need not be the lowest
// that they could be: along each edge they rise, and that is all the searches need. They rise only
// where a new edge asks for it, and fall with the next Swap. A Patch voids all certificates at once,
// by a count.
//
// # Files
//
// Callers stand above callees.
//
//	doc.go events.go ask.go patch.go swap.go topology.go ready.go machine.go search.go keys.go
//	list.go rows.go sets.go
//
// # Callers
//
// One goroutine calls everything; no method blocks. A call for a slot without a vertex does
// nothing. So does Done of a vertex that does not run, and Wake of a vertex that waits for nothing:
// late timers and late Watches do no harm as long as their slot was not given away. To tell the
// vertices of a slot used twice apart is up to the caller.
package sched
