// Package archive packs files into tar archives so that the same files give the same
// bytes, and unpacks archives of others without trusting them.
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
//   - What is unpacked is below the folder that is given, whatever the archive says: no
//     name and no link leads out of it, and no link that is there is followed.
//   - Only files, folders and symbolic links are unpacked, without setuid, setgid and
//     sticky bits; what git notes about an archive is passed over. An archive with anything else in it is refused as a whole, before
//     anything is altered, as is one that is too large or has a name twice.
//   - What is in the folder and not in the archive is left alone.
package archive
