// Package archived is the kinds tar and gzip: files that are made of other files, and archives that are unpacked into a folder.
//
// # Laws
//
//   - The same inputs give the same bytes, so a file with those bytes is right.
//   - Archives are not trusted: what leads out of the folder is refused before anything is altered.
//   - What is made of a secret can be read by its owner only, and is not shown.
package archived
