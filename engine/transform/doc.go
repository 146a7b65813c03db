// Package transform turns a declared graph into the one that runs, by a list of
// small steps: AutoEdge adds the edges that the resources ask for, Reverse adds
// what undoes resources that have left the graph, AutoGroup lets resources of one
// kind run as one vertex. A step is data and one function, so each can be left
// out, run alone and tested alone.
//
// # Laws
//
//  1. A step does not alter the graph that it is given: it returns another one, or
//     the same one where there is nothing to do. The resources are the same ones.
//     Only a resource that becomes the owner of a group is altered: SetGroup, and
//     SetMetaParams with what the members' metaparameters make together.
//  2. Order is kept. What came before something else still does, itself or as a
//     member of what does; and a graph without a cycle has none afterwards. An
//     automatic edge that would close one is left out, and the note says so.
//  3. What one resource does wrong (an error, a panic, an answer without an end)
//     costs that resource its automatic edges, or its place in a group, and
//     nothing else. There is a note.
//  4. Deterministic. The same graph gives the same graph and the same notes. The
//     automatic edges do not depend on the order of declaration; nor do the groups,
//     where GroupCmp is as good as an equality. The owner is the member that was
//     declared first.
//  5. Memory. With a Memory, AutoEdge makes the same of a graph as without.
//  6. Cost. AutoEdge looks what is asked for up by its hash, and looks for cycles
//     once for all edges; only where there is one it looks further, between the
//     vertices that could be on it. AutoGroup puts the vertices into buckets. Both
//     are linear but for what resources without hashes, and cycles, cost, which is
//     bounded.
//
// A step reads the parameters as declared: what is received later has no part in
// it.
package transform
