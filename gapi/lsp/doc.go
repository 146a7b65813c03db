// Package lsp is a server of the Language Server Protocol, version 3.17, for graphs in YAML. An editor starts the program that has it, and
// speaks with it over the standard streams.
//
// # Laws
//
//   - The diagnostics of a graph are the findings of mgmt validate, at the same places. Files that are open in the editor count as the
//     editor has them, and all others as they are on the disk.
//   - The server only looks. It runs no command, no provider and no daemon, decrypts nothing and opens no connection. A secret is an unknown value.
//   - A file belongs to the graph that reads it: an included file, a module and a template are judged as parts of their graph. A file that no
//     known graph reads is a graph of its own, if it looks like one.
//   - A text that is being typed is often broken YAML. The place of the cursor is found by indentation (see cursor). Names of resources come
//     from the last reading of the graph that worked.
//   - A change of names is whole or refused: a rename alters the declaration and every reference, or says which place is in its way.
//   - The places that name a resource come from the files, and the last reading confirms them. That reading has no reference of a resource that
//     a condition leaves out; a name that an expression makes stands in no file, and refuses the rename.
//   - A bad message costs an error answer, and so does a panic of one request. Only a broken frame ends the server, since the next one can't be found.
//   - One goroutine owns all state. A second one reads messages, and blocks when 64 of them wait. A third one checks one graph at a time. Serve
//     waits for the check before it returns.
//
// # Columns
//
// The protocol counts UTF-16 units from 0, a schema.Pos counts characters from 1, and Go counts bytes. The type text is the only place that
// converts between them.
package lsp
