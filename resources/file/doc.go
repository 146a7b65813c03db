// Package file is the kind file: a file, a folder or a symbolic link. Importing it registers the kind, and links neither the other
// kinds nor their needs.
//
// # Laws
//
//   - A path is opened step by step (engine/safepath). A link that another user may have put there is not followed.
//   - A file is replaced at once: a reader sees the old content or the new one.
//   - A content that holds a secret, or that other users may not read, is in no change and in no line of the log.
//   - Undo takes back only things that the resource has made: see Reversed.
//   - Kinds that make a whole file (download, tar, gzip) do it by Made, so that all of this holds for them.
package file
