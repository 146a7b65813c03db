// Package derive reads a schema.Type and writes it in other forms, one file for
// each: JSON Schema for editors, Markdown for the reference, plain text for a
// terminal. Nothing that a type says is written a second time by hand.
//
// # Laws
//
//   - Every function is pure: the same input gives the same bytes.
//   - schema.Decode and the JSON Schema accept the same JSON, except for the cases
//     listed below.
//
// # Where JSON Schema and Decode differ
//
// The schema accepts, and Decode refuses:
//
//   - whole numbers and durations beyond 64 bits, and a whole number of 2^53 or
//     more that is written with a point or an exponent;
//   - numbers where text of a certain length or form is asked for, text that has the form of a
//     version, a URI or an address but is none (01.2.3, ::::), and text of a type that
//     reads itself (a time, an address) but is not in its notation;
//   - a size that is not a whole number of bytes;
//   - sizes and durations in text outside of the bounds of the field; only their
//     sign, and bare integers, are checked;
//   - a mode given as an integer that has the digits 8 or 9.
//
// Decode accepts, and the schema refuses:
//
//   - yes, no, on, off, y and n for a boolean, as YAML 1.1 has them;
//   - capital letters in a kind, in a whole graph;
//   - a negative zero where a duration or a size must not be negative ("-0s");
//   - other shapes that a type with its own UnmarshalYAML reads.
//
// # Ownership
//
// The functions keep nothing of what they are given, and alter nothing in it. A result is the
// caller's. They may be called from any number of goroutines.
package derive

import "github.com/reactivegraph/mgmt/engine/schema"

// Kind is all that is known about one kind of resource, as plain data.
// Functions of this package read it and alter nothing in it.
type Kind struct {
	Name      string       // lower case
	Doc       string       // Markdown: what it manages; Type.Doc when empty
	Type      *schema.Type // of its parameters; with defaults if it comes from schema.Of
	Sends     *schema.Type // of what it sends, or nil
	Abilities []string     // its abilities beyond the contract, one or two words each
	Example   string       // a piece of a graph in YAML, or empty
}

// A kind that is made of data has its text in the type.
func (k Kind) doc() string {
	if k.Doc != "" || k.Type == nil {
		return k.Doc
	}
	return k.Type.Doc
}
