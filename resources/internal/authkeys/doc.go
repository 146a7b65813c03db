// Package authkeys reads and edits the format of ~/.ssh/authorized_keys: options, the
// type of a key, the key in base64, and a comment, which is the name of the key here.
//
// # Laws
//
//   - Parse(text).String() is text, byte for byte, whatever it is.
//   - A line is a key with a name, or foreign: comments, keys without a comment, what
//     is no key. No method alters or moves a foreign line.
//   - Put makes exactly one line of a name. It alters nothing if there is one already
//     that says the same; otherwise it rewrites the first of them, or appends one.
//   - What Put writes, Parse reads back as the same Key. What could not be read back is
//     an error: no value can bring a second key, or take an option away.
//   - Remove takes the lines of a name away, and nothing else.
//   - A key is one only if what it says inside of its type is the type that stands
//     before it.
package authkeys
