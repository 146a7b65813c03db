// Package mounttab reads the table of mounts (/proc/self/mountinfo), edits the table of the mounts
// at boot (fstab), and compares the options of both.
//
// # Laws
//
//   - Nothing here mounts, unmounts or writes a file.
//   - A table keeps its unknown parts: comments, blank lines, lines of others and the order of all
//     of them. A line that says the same already is left as it is written.
//   - Every text is taken: a line that can't be understood is another one's.
//   - Names with blanks and backslashes are escaped as both files do it, and are plain in every
//     value of this package.
package mounttab
