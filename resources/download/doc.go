// Package download is the kind download: a file that comes from a server.
//
// # Laws
//
//   - A content is fetched into a private folder, compared, and put in its place at once. A wrong or partial one changes nothing.
//   - Headers go to the host of the address alone, and no error has an address, in which there may be a secret.
//   - A look fetches only where it has no other way to know the change.
//   - An unchanged file is not read again, and a server that can tell whether its content is the
//     same is asked for that alone.
//   - Without a checksum, a record in the state folder says what came from where. A damaged record
//     counts as none.
//
// # Limits
//
// By default all of it may take ten minutes, and a content may have 1 GiB. A connection and its
// encryption may take 30 s each, the first line of an answer one minute. The content goes through
// a buffer to the disk, so its size costs no memory.
//
// # Files
//
// The state folder of a resource has the record, and while a content is fetched, that content
// under the name "content". The rest of a killed process goes with the next fetch. The
// file itself is replaced by a rename, so its readers keep the opened file.
package download
