// Package toml reads documents of TOML 1.1 for the table of notations in gapi/yaml. It is the only importer of the library.
//
//   - A text gives the tree that the same document in YAML gives: lists of tables are lists, numbers keep their notation, dates are text.
//   - Each key and each value has its place. A text that can't be parsed gives the one error at which the parser gave up; all other errors come together.
//   - Format alters space between values, and nothing else.
//   - 100 levels and four million dots bound the memory. The caller bounds the bytes, the lines and the values.
package toml
