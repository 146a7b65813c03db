// Package gapi is the contract of the frontends: whatever reads a graph from
// somewhere (a YAML file, a catalog, Go code) declares it as plain data, and one
// builder, Build, turns the declaration into a checked resgraph.Graph.
//
// # Laws
//
//   - A frontend declares and never builds. It knows kinds only through the
//     Registry, and most need not know them at all.
//   - Everything that is wrong is reported at once, each with its place. Findings
//     of a frontend that do not stop it go into Declared.Problems. Build adds its
//     own findings and returns all of them together, sorted by position. Of each
//     severity schema.MaxFindings are kept, and the rest is counted.
//   - A graph that Build returns is checked: kinds exist, names are unique, values
//     are decoded and validated, every reference is there, wiring fits, no cycle.
//     With any finding of severity Error there is no graph.
//   - Build leaves no goroutine behind, does no I/O, and looks at nothing outside its
//     arguments. A panic in a method of a resource is that resource's error.
//   - A Declared is immutable once yielded, and its parts may be shared between
//     several; Build may be called on it again and makes new resources each time
//     (except those declared ready, see Declaration.Res).
//
// # A frontend of your own
//
// A frontend implements the one method of Frontend. It reads its source, makes a Declared of it with a Declaration for each resource,
// and yields that; then it waits for a change, and yields the next one. schema.NodeOf turns a map of Go values into the node of
// the parameters, and schema.Pos is the place that findings show. Follow does the waiting for a source that is made of files. Hand the frontend to
// mgmt.Run.
//
// # Graphs and parts
//
// Three functions lead from a declaration to a graph. Build is for a caller without a graph that runs. NewDraft makes the resources,
// so that the caller can compare them with those that run; Draft.Check then validates only the others. NewPart does the same for a
// part: a reference may name a resource that runs (Running), and the part is judged as if the whole graph had been declared with it.
// A Memory takes the edges of an unchanged graph from the one before.
//
// # What Build decides
//
//   - Kinds are compared in lower case: File[/etc/x] is file[/etc/x].
//   - A required parameter may be received instead of declared. Where one is both
//     declared and received, the received value wins, and a warning says so.
//   - Before Validate, a resource that receives has been given its wiring by
//     SetRecv, so it can tell a coming value from a missing one. An error of Validate that
//     names a received parameter first is left for the time when the value is there. So it is
//     where the wiring is wrong, which is said already.
//   - An error of Validate that begins with the key of a declared parameter (or
//     carries its path, as schema.Diagnostics do) is placed at that parameter, any
//     other at the resource.
//   - Where an expression gives the state, a resource leaves out what makes no sense for it (declaration.Stated).
//   - A valid resource may warn of parameters that are seldom meant so (declaration.Linted), at their places.
//   - Two resources that are one thing, as their UIDs say, are an error at the later
//     one if one of them says that they clash (engine.ClashingRes): each would undo
//     the work of the other. A resource that only looks (noop) undoes nothing.
//   - A parameter that refers to a resource (schema.Ref) must name one of the graph.
package gapi
