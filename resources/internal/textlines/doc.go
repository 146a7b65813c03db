// Package textlines edits a line, some lines or a marked block in a text, and leaves everything
// else as it is.
//
// # Laws
//
//   - Every byte outside of the edit stays: ends of lines, blanks, bytes that are not UTF-8.
//   - A second edit by the same Edit changes nothing.
//   - Whether a text that is not empty ends in an end of line stays as it was, unless its last line
//     is an empty one now. The first text in an empty file ends in one.
//   - A new line ends as the line that it replaces, or else as the first line of the text: in "\n"
//     or in "\r\n". Lines are compared without their ends.
//   - Nothing here reads a file.
package textlines
