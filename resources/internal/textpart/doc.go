// Package textpart changes a part of a text file, and leaves the rest as it is.
//
// # Laws
//
//   - A reader sees the old text or the new one, and never a part of one.
//   - A change of another program is not lost: the edit that meets one fails with
//     atomicfile.ErrChanged, and atomicfile.Retry begins again with the text of that program.
//   - Where the text stays the same, no byte is written.
//   - Owner, mode and label of a file stay, unless Private asks for less access.
//   - A file above the limit of its caller is neither read nor written.
//
// The caller holds the folder of the file open from the read to the write; see package safepath.
package textpart
