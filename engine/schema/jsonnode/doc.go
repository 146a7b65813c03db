// Package jsonnode reads JSON as a tree of schema.Node with positions. It is the one reader
// of JSON whose findings name a line and a column.
//
// # Laws
//
//   - A text is one value. What follows it, besides space, is an error.
//   - A finding names the line and the column, in characters as for YAML, where the fault begins. Lines before Start count.
//   - A key that is there twice is an error at its second place, with the first place next to it. The tree has the first value.
//   - Numbers stay as they are written. No number is rounded.
//   - The size, the levels and the values of a text are bounded, so a hostile text costs little.
//   - A strict reader also refuses half of a surrogate pair, which encoding/json would replace without a word.
package jsonnode
