// Package password is the kind password: a password that is made once, kept on the machine, and sent to others.
//
// # Laws
//
//   - The password is in a file of VarDir that no other user may read, and in no change, log line or error.
//   - A damaged file, or one of another length or charset, is told of. The password is replaced only where the graph says so.
//   - A plan and noop make no password: they send the kept one, or say that it is not known yet.
//   - Each character is chosen by the random source of the system for cryptography, with the same
//     chance.
//
// # The file
//
// It is text of three lines: the header with a version, the password, and a sum over both. The sum
// finds damage, such as a file that was cut by a full disk. It does not protect against users who can write the file: these are root, and the user of mgmt.
package password
