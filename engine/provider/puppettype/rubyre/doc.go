// Package rubyre reads regular expressions in the notation of Ruby and finds with them
// what Ruby finds. Definitions and manifests of Puppet hold such expressions.
//
// RE2 of the package regexp runs them. The package translates where the two
// notations differ: \Z, \h, \H, \R, (?<name>), [[:alpha:]], && in classes, (?m),
// (?x), {,n}. It refuses by name what RE2 cannot do: look-around, back-references,
// atomic groups, possessive repeats.
//
// # Laws
//
//   - A Regexp is immutable and safe for concurrent use.
//   - A source that New takes is found in the same texts as by Ruby; \b, \B and ^
//     behind a last line break are RE2's.
//   - Source returns the text that New got, byte by byte.
//   - New is bounded: maxPattern bytes, maxProgram steps, maxDepth nested classes.
//     A match takes time in proportion to its text, as always in RE2.
//   - The package does no I/O and starts no goroutine.
//
// # How it works
//
// The source is read once, from the left to the right. A piece that both notations share is
// copied, and another one is written anew. Classes are worked out to sets of runes, since RE2 has
// neither classes in classes nor &&. Then the result is parsed and measured, before it is
// compiled.
//
// # Sources
//
// The notation is that of Ruby's documentation of Regexp, and of the file doc/RE of its engine
// Onigmo. That of RE2 is in the package regexp/syntax.
package rubyre
