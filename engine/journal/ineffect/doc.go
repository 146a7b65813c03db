// Package ineffect keeps the names of the resources that are in effect in a file. The next process compares its first graph with
// them, so that a start too can be held by a limit of removals. Another file has digests of the declarations of the resources that are
// right: so the next process tells a new declaration from a machine that somebody has altered meanwhile.
//
// # Laws
//
//   - The files have names and salted digests only, and no values: no secret stands in them.
//   - The file of the names is replaced in one step. The new file is on the disk before it gets the name, and the name before the write has ended.
//     After a loss of power it has the names of the last write that ended, or of a later graph.
//   - Keep never blocks, and calls for the names only when it writes them. A burst of graphs is one write a second.
//   - The file of the digests is replaced like that, and then appended to. What was appended outlives a kill of the process; it is on
//     the disk a second later. A last line that was cut is left out.
//   - A write that fails is logged once, and tried again, until Close.
package ineffect
