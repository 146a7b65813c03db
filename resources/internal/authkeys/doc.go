// Package authkeys reads and edits the format of ~/.ssh/authorized_keys: options, the type of a
// key, the key in base64, and a comment, which is the name of the key here.
//
// # Laws
//
//   - Parse(text).String() is text, byte for byte, whatever it is.
//   - A line is a key with a name, or foreign: comments, keys without a comment, other text. No
//     method alters or moves a foreign line.
//   - Put makes exactly one line of a name. It alters nothing if there is one already that says the
//     same; otherwise it rewrites the first of them, or appends one.
//   - Parse reads a line of Put back as the same Key. A value that could not be read back is an
//     error: no value can bring a second key, or take an option away.
//   - Remove takes the lines of a name away, and nothing else.
//   - A key counts only if the type inside of it is the type that stands before it.
package authkeys
