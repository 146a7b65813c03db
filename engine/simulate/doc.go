// Package simulate is a machine that is not there. A test of a graph runs the graph on it, in the
// shipped program. Package enginetest gives it to the tests of kinds.
//
// A Host has facts, watches and commands that its owner makes up. A Clock stands still until its owner moves it. A Machine
// has things, such as a file, a package or a user, each with the parameters of its kind. Machine.Kinds replaces the kinds of
// a registry by simulated ones. They derive from the types and the methods of the kinds, so a new kind is simulated without
// code of its own.
//
// A Folder is the file system of a machine: its paths begin in a folder of this machine (safepath.Of). Kinds that need nothing
// else (engine.RootedRes) run their own code there, so that a test sees the content that several of them make.
//
// # Laws of this package
//
//   - Nothing outside the process is touched but the folder of the machine: no other file, no program, no network. No link
//     leads out of the folder.
//   - A simulated resource decodes, validates, compares and names its edges by the code of its kind. Only its look at the
//     machine and its work there are simulated.
//   - A resource in the folder has some simulated parameters, such as an owner: the process may lack the rights. Missing folders
//     above its paths are made, as packages do it.
//   - A parameter that the graph does not set leaves the thing as it is.
//   - It starts no goroutine and reads no clock. All methods are safe for concurrent use.
package simulate
