// Package command has the parts of a command that several kinds share: its words, the end of its
// output, and the command that checks a new file before it replaces the old one.
//
// # Laws
//
//   - The words of a command are never given to a shell.
//   - An error shows the last lines of an output, shortened, and no secret.
//   - A command that checks has a time limit, and runs in / with PATH alone.
package command
