// Package hostsfile reads and edits the format of /etc/hosts: a line has an address,
// a name, other names, and a comment after a #.
//
// # Laws
//
//   - Parse(text).String() is text, byte for byte, whatever it is.
//   - A line that is no entry (a comment, an address that is none, other bytes than
//     printable ASCII in a name) is foreign: no method alters or moves it.
//   - Put makes exactly one line of a name and a family. It alters nothing if there is
//     one already that says the same; otherwise it rewrites the first of them, or
//     appends one.
//   - What Put writes, Parse reads back as the same Entry. What could not be read back
//     is an error, so no value can bring a second line or a second name with it.
//   - Remove takes the lines of a name and a family away, and nothing else.
//
// Names are compared without regard to case.
package hostsfile
