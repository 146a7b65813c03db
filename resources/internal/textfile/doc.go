// Package textfile edits a part of a text file and leaves the rest as it is.
//
// # Laws
//
//   - A reader sees the whole old text or the whole new text.
//   - A change by another program between the look and the write is seen, and the edit starts again.
//   - A file that receives a secret is taken from all but its owner.
package textfile
