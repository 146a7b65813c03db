// Package expand computes a graph: it stands between the nodes of a file and the declarations that are made of them. Variables, loops,
// conditions, defaults and expressions go in, and a tree without them comes out, as if it had been written out by hand.
//
// # Laws
//
//   - The result for a document is a tree that a frontend reads like any other. Nodes without an expression are those of the document, and not
//     copied. So a graph without expressions is left as it is.
//   - Every node that an expression gives has the place of the expression. A finding has the place of the character inside the scalar, whatever
//     the style of that scalar.
//   - All findings come at once: a value that can't be computed is left out, and the others are computed.
//   - The documents of a graph share one set of variables. A variable that is declared twice is an error that names both places.
//   - An expression is judged by the type of its field, also where a condition or an empty loop leaves it out.
//   - A module sees its inputs, its own variables and data, and facts. Its resources are those of the graph: they share one set of names.
//   - An instance whose input has a fault has no outputs. An expression that reads one of those is not told as a second fault.
//   - The order is: variables, then conditions of loops, then loops, then names and values. A loop visits a map in the order of its keys.
//   - A parameter with a sent value leaves Expand as a formula, with a wire for each value. A formula does no I/O: its files and secrets are read
//     during Expand. Equal inputs give formulas of equal sums, so an unchanged resource keeps its vertex.
//   - No other key of a resource takes a sent value. Names, conditions and loops decide which graph there is, before anything runs.
//   - The store is asked only where an expression reads it: for the facts of its hosts, and for the choice of a schedule. Both are asked once for each
//     computation, and Store tells them, so that the frontend knows when they differ.
//   - After Expand, the inputs are known: facts by name and files by path. Equal inputs give equal trees.
//   - Nothing here watches, or looks at a clock. Files are read by Options.Read alone.
//
// # Files
//
// A Graph is one graph or one module. The value common is shared with its modules, and each concern is a part behind one field. A part takes its
// inputs as arguments, answers in data, and knows no Graph. The files stand in the order of their calls:
//
//   - doc.go, describe.go, names.go, expand.go: the questions of callers, and the way through a computation.
//   - modules.go: the instances of a graph, their inputs and outputs.
//   - resources.go, memory.go, check.go: the expansion of each resource, and the reuse of earlier results.
//   - sent.go: formulas, which are computed after the graph was loaded.
//   - scope.go: the names that an expression of the graph may use.
//   - taint.go, frame.go: the marks of secrets, and an expression at its place.
//   - functions.go, template.go, formats.go: the functions of expressions; templates and notation are parts.
//   - secrets.go, programs.go: the keyring with the sources of secrets.
//   - store.go, proofs.go: the hosts of the store, the choices of schedules, and the leases that prove them.
//   - late.go: the values, files and secrets of formulas.
//   - vars.go, data.go, defaults.go: variables, layers of data, parameters of kinds.
//   - inputs.go, findings.go, place.go, words.go: files and facts that were read, findings, places, and the words of messages. All parts stand on
//     them.
//
// # Keys of a document
//
//	vars:                                   # variables; Setting and Options.VarFiles set them
//	  domain: {type: text, default: example.org, doc: The site's name.}
//	  workers: 4                            # the type is that of the value
//	data:                                   # layers of data, the most exact first
//	  files: ["hosts/${{ facts.hostname }}.yaml", common.yaml]
//	  merge: {users: deep}
//	use:                                    # modules; module.front.port reads an output
//	- {module: ./modules/nginx, name: front, with: {domain: "${{ vars.domain }}"}}
//	defaults:                               # parameters of all resources of a kind
//	  file: {owner: root}
//	  "*": {meta: {timeout: 10m}}
//	resources:
//	  file:
//	  - name: /srv/${{ each.key }}
//	    for_each: ${{ vars.sites }}
//	    when: ${{ each.value.enabled }}
//
// # Keys of a module
//
// The file module.yaml in the folder of a module has these keys, and those of a document:
//
//	module: nginx                           # the name of an instance without a name of its own
//	inputs:                                 # declared as variables are
//	  domain: {type: text, doc: The name of the site.}
//	outputs:                                # a value, or a map with type, value and doc
//	  port: {type: int, value: "${{ vars.port }}"}
package expand
