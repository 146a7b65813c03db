// Package idl compiles the interface definition language of mgmt. The language is a subset of Go: structs, enums
// and constants. The result is a Package, from which other packages generate TypeScript, Go, schemas and pages.
// docs/reference/idl.md describes the language for its users.
//
// # Laws
//
//   - Compile reads only the given file system. It needs no go command, no module and no network.
//   - It reads every .go file but those of tests. A constraint of the build is an error, so no type is absent unseen.
//   - All findings come at once, each with file, line, column, class and a way out, in the order of the source.
//   - A package with an error is not returned: nothing can be generated from it.
//   - The same files give the same Package, in every process.
//   - It never panics, whatever the files contain; FuzzCompile looks for the contrary.
//   - Order is that of the source: files by name, and declarations and fields as they are written.
//   - Types are told apart by identity and not by spelling: a struct of one's own named Resource marks nothing.
//   - Texts of a definition are bounded by MaxFile, MaxFiles and MaxText, so no input takes memory without an end.
//
// # Pipeline
//
// load reads and parses the files. check runs go/types over them with an importer of its own, which knows the
// modules of the file system and the markers. declare reads the declarations from the syntax, since go/types loses
// aliases and the order. fields reads the properties and their tags. collide finds names that the targets
// would give twice. lower makes a schema.Type of each struct.
package idl
