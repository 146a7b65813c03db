// Package transform turns a declared graph into the running one, by a list of small
// steps. AutoEdge adds the edges that the resources ask for. Reverse adds vertices
// that undo resources which have left the graph. AutoGroup lets resources of one
// kind run as one vertex. A step is data and one function, so each can be left out,
// run alone and tested alone.
//
// # Laws
//
//  1. A step does not alter the graph that it is given: it returns another one, or
//     the same one where there is nothing to do. The resources are the same ones.
//     Only a resource that becomes the owner of a group is altered: SetGroup, and
//     SetMetaParams with the combined metaparameters of the members.
//  2. Order is kept. Each order between two resources stays, between them or the
//     groups that they are members of; and a graph without a cycle has none
//     afterwards. An automatic edge that would close one is left out, and the note
//     says so.
//  3. A fault of one resource (an error, a panic, an answer without an end)
//     costs that resource its automatic edges, or its place in a group, and
//     nothing else. There is a note.
//  4. Deterministic. The same graph gives the same graph and the same notes. The
//     automatic edges do not depend on the order of declaration; nor do the groups,
//     where GroupCmp is as good as an equality. The owner is the member that was
//     declared first.
//  5. Memory. With a Memory, AutoEdge makes the same of a graph as without.
//  6. Parts. After any sequence of changes, Parts is the graph that the steps make of the whole.
//  7. Cost. AutoEdge looks UIDs up by their hash, and looks for cycles once for all
//     edges. Only where there is one it looks further, between the vertices that
//     could be on it. AutoGroup puts the vertices into buckets. Both are linear but
//     for the cost of UIDs without hashes, and of cycles, which is bounded.
//
// A step reads the parameters as declared: values received later have no part in
// it.
package transform
