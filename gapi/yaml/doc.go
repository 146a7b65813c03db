// Package yaml is the frontend that reads graphs from documents: YAML, and what else the table of notations has (see Notations). It is the only
// importer of a YAML library: everything it reads leaves it as schema.Node.
//
// # The format
//
//	graph: web                  # optional: the file's name is the default
//	comment: free text
//	noop: true                  # only look and report
//	include: [base.yaml, more/] # paths relative to this file; folders stand for their graphs
//	resources:
//	  file:                     # a kind, and a list of its resources
//	  - name: /etc/app.conf
//	    content: hello          # the kind's parameters
//	    meta: {retry: 3}        # the metaparameters
//	    recv: {content: "password[app].password"}
//	    before: ["exec[x]"]     # an edge from this to exec[x]; also depend, notify, listen
//	edges:
//	- name: e1
//	  from: {kind: file, name: /etc/app.conf}    # or "file[/etc/app.conf]"
//	  to: {kind: exec, name: restart}
//	  notify: true
//
// # Laws
//
//   - One file holds one document, and that is a map. A second document is an
//     error: its meaning next to the first would be a guess.
//   - Scalars are what YAML 1.2 says: yes, no, on and off are text. Where a text is
//     wanted, a name too, every scalar but null is the text that it was written
//     as: true, 1.10 and 0644 need no quotes.
//   - Merge keys (<<) are resolved; keys of the map itself win, then the earlier
//     of the merged maps. !!binary is decoded. Tags of one's own are refused.
//   - Every finding has its place. A file that can't be parsed gives the one
//     error at which the parser gave up; all other errors are reported together,
//     over all files.
//   - Reading is bounded: Options.MaxBytes and Options.MaxResources over all files together, lines of
//     16 MiB, 100 levels, four million values, a million values by way of aliases,
//     10,000 files.
//   - A file is included once: a second time, as in a cycle, is an error.
//   - Files are watched with their folders by way of the Host, armed before they are
//     read, so no change is lost. After a wake-up, reading waits until nothing has
//     happened for a moment (Options.Settle). It waits longer if a file is gone or
//     empty, as some editors leave it in between. Files that read the same yield
//     nothing.
//   - A long list of a graph in one file is read again only where its entries differ in their text, if nothing else does: see outline.
//   - A graph that computes is yielded as its difference to the one before (gapi.Part). An entry
//     whose inputs are the same is taken as it was: see expand.Memory.
//   - Standard input (the path "-"), and anything else than a regular file or
//     folder, is read once and not watched.
package yaml
