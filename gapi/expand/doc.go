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
//   - The order is: variables, then conditions of loops, then loops, then names and values. A loop visits a map in the order of its keys.
//   - After Expand, the inputs are known: facts by name and files by path. Equal inputs give equal trees.
//   - Nothing here watches, or looks at a clock. Files are read by Options.Read alone.
//
// # Keys of a document
//
//	vars:                                   # variables; Setting and Options.VarFiles set them
//	  domain: {type: text, default: example.org, doc: The site's name.}
//	  workers: 4                            # the type is that of the value
//	data:                                   # layers of data, the most exact first
//	  files: ["hosts/${{ facts.hostname }}.yaml", common.yaml]
//	  merge: {users: deep}
//	defaults:                               # parameters of all resources of a kind
//	  file: {owner: root}
//	  "*": {meta: {timeout: 10m}}
//	resources:
//	  file:
//	  - name: /srv/${{ each.key }}
//	    for_each: ${{ vars.sites }}
//	    when: ${{ each.value.enabled }}
package expand
