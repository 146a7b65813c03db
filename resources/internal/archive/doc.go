// Package archive packs files into tar archives so that the same files give the same
// bytes.
//
// # Laws
//
//   - What Walk finds is in one order, whatever the order of the folders on the disk,
//     and each name is there once.
//   - An archive holds nothing that a look at the files, their contents and the targets
//     of their links do not tell: no names of users, no time of reading.
//   - No link is followed but an input itself, and nothing but plain files is opened.
//   - A file that is another one, or has another size, when it is read than when it was
//     looked at is an error: there is no archive of it.
package archive
