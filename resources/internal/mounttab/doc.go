// Package mounttab reads what is mounted (/proc/self/mountinfo), edits the table of
// what is to be mounted at boot (fstab), and compares the options of both.
//
// # Laws
//
//   - Nothing here mounts, unmounts or writes a file.
//   - A table keeps what it does not know: comments, blank lines, lines of others and
//     the order of all of them. A line that says the same already is left as it is
//     written.
//   - Every text is taken: a line that can't be understood is another one's.
//   - Names with blanks and backslashes are escaped as both files do it, and are plain
//     in every value of this package.
package mounttab
