// Package private reads and writes the files that a resource keeps in its VarDir.
//
// # Laws
//
//   - No other user can read such a file: its mode is 0600.
//   - A new content takes the place of the old one at once. A reader sees all of one of them.
//   - A link is not followed, and a file above a limit is not read.
package private
