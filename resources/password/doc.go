// Package password is the kind password: a password that is made once, kept on the machine, and sent to others.
//
// # Laws
//
//   - The password is in a file of VarDir that no other user may read, and in no change, log line or error.
//   - A damaged file, or one of another length or charset, is told of. The password is replaced only where the graph says so.
package password
