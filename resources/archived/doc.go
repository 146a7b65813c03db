// Package archived is the kinds tar and gzip: files that are made of other files, and archives that are unpacked into a folder.
//
// # Laws
//
//   - The same inputs give the same bytes, so a file with those bytes is right.
//   - Archives are not trusted: an entry that leads out of the folder is refused before anything is altered.
//   - What is made of a secret can be read by its owner only, and is not shown.
//
// # How a check is cheap
//
// Making an archive only to compare it would read every input at each event. So a
// resource remembers, in inputs.Seen, how inputs and result looked when the bytes were
// found right: size, times and number of each file. As long as all of that is the same, a
// check ends there. Only a look from before the comparison is remembered, and only if the
// clock of the file system can tell a later write apart.
//
// # Ownership of a file
//
// Both kinds tell package files in Init which path they manage, and take it back in
// Cleanup. By that a file resource of the same path knows that the content is not its
// own.
package archived
