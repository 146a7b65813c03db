// Package policy reads rules in CEL from files, and judges resources and their changes by them. It is the reactor.Policy of the program.
//
// # Laws
//
//   - A rule that reads neither changes nor history is judged with the graph, and again with each change: the parameters may have come from
//     another resource, and another policy may count by then. The others are judged with a change alone.
//   - A rule that cannot be decided, such as for a parameter that the kind does not have, matches. So a fault never lets a change through.
//   - No rule reads a secret: a parameter that is one, or has one in it, is not there.
//   - A rule is bounded by what it costs, without a look at a clock. In a graph, one that is too costly is not asked about further resources.
//   - A Policy is immutable and safe for concurrent use.
package policy
