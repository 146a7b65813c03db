// Package archive packs files into tar archives so that the same files give the same bytes, and
// unpacks archives of others without trusting them.
//
// # Laws
//
//   - The result of Walk is in one order, whatever the order of the folders on the disk, and each
//     name is there once.
//   - An archive depends only on the files, their contents and the targets of their links: it has
//     no names of users and no time of reading.
//   - No link is followed but an input itself, and nothing but plain files is opened.
//   - A file that was replaced, or has another size, between the look and the reading is an error:
//     there is no archive of it.
//   - Every unpacked name is below the given folder, whatever the archive says: no name and no link
//     leads out of it, and no link that is there is followed.
//   - Only files, folders and symbolic links are unpacked, without setuid, setgid and sticky bits;
//     what git notes about an archive is passed over. An archive with anything else in it is
//     refused as a whole, before anything is altered. So is an archive that is too large or has a
//     name twice.
//   - Names of the folder that are not in the archive are left alone.
//
// # Limits
//
// An archive to be unpacked has at most 2^20 entries, and names of at most 4,095 bytes, as
// PATH_MAX allows. The caller bounds the size of all contents together. Contents go through a
// buffer of 64 KiB, so a large file needs no memory of its size.
//
// # Time and threads
//
// Every function blocks on the disk. Each looks at its context between two entries and between two
// buffers, and returns the cause of its end. None starts a goroutine. An Unpacking and the results
// may be used by one goroutine at a time.
package archive
