// Package generate writes a compiled package of definitions in other languages: TypeScript, Go
// stubs, the schema file of a provider, JSON Schema, Markdown, protobuf and types for Python. Targets lists them; another language is one more
// line in that list.
//
// # Laws
//
//   - A target is pure: the same package gives the same bytes. It returns files in memory, and touches no disk.
//   - Each file of definitions has one file of the same name in TypeScript and in Go.
//   - Every file begins with a line that says by which program it was made, and from what.
//   - Sync writes all files or none, removes those whose definitions are gone, and leaves files without that line alone.
//   - Docs go along into each language, in its own notation.
//
// # A new target
//
// A target is a function that takes a package and returns files. It begins each file with header, which
// Sync knows. It goes through Package.Files, and asks each Shape for its kind. Names of declarations that
// are words of the language need another spelling; scriptName and Decl.Lower show it. The last step is a
// line in Targets, which gives the flag --out its word and the help its text.
package generate
