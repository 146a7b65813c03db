// Package state keeps the folder in which a daemon has what outlives it.
//
// Laws:
//   - Two processes never have one folder: a lock of the kernel keeps the second one away, and ends with its process.
//   - A machine that lets nothing be written, as with a full disk, still gets its daemon: with a folder for the time of the run, and a warning.
//   - A folder that others can write to is refused, and so is a link in a place where mgmt makes none.
//   - Whose folder was removed or replaced takes the new one, or ends where another daemon has it.
package state
