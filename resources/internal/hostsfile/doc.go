// Package hostsfile reads and edits the format of /etc/hosts: a line has an address, a name, other
// names, and a comment after a #.
//
// # Laws
//
//   - Parse(text).String() is text, byte for byte, whatever it is.
//   - A line without an entry (a comment, a wrong address, other bytes than printable ASCII in a
//     name) is foreign: no method alters or moves it.
//   - Put makes exactly one line of a name and a family. It alters nothing if there is one already
//     that says the same; otherwise it rewrites the first of them, or appends one.
//   - Parse reads a line of Put back as the same Entry. A value that could not be read back is an
//     error, so no value can bring a second line or a second name with it.
//   - Remove takes the lines of a name and a family away, and nothing else.
//
// Names are compared without regard to case.
package hostsfile
