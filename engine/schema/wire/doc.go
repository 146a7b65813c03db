// Package wire writes a schema.Type as JSON, and reads it again. Programs that are no part of
// this process learn from that form what a kind takes: providers, generators of code, other
// hosts. docs/reference/types.md describes the form for its users.
//
// # Laws
//
//   - Complete: what Decode gives for the text of Encode is Equal to the type, and has the same
//     names, docs, enum names, aliases and deprecations. Only the Go side is another one, and a
//     name that Go gives to every such value (string, Duration) is left out.
//   - Canonical: equal types of equal names and docs have the same bytes, in every process.
//     Encode of what Decode gives is canonical for every text that Decode takes.
//   - Versioned: Decode reads Version. Another version is one clear error, and nothing else of
//     the text is judged.
//   - Strict: an unknown key, a key that is there twice, null, and a number where text is wanted are
//     errors. Each error names the line and the column. All errors are found at once.
//   - Bounded: a text has at most MaxBytes bytes and MaxLevels levels. Encode writes nothing that
//     Decode would refuse for its size.
//   - A secret default is never written; Encode refuses the type.
//   - Decode builds the type (schema.Build), so values of it can be made at once. Go keeps what Build
//     makes: a caller that reads the same type often keeps it by its Hash.
//
// The form describes itself: Form is the type of a text, read from the structs that Decode fills.
package wire
