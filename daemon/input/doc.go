// Package input says where the graph of a machine comes from: a file or a folder of YAML, a catalog of Puppet, a program in TypeScript, or
// the store alone.
//
// Laws:
//   - Nothing is opened before the frontend is read, but to see whether the default graph is there.
//   - One input makes the whole graph. Two of them are an error, and not a choice.
//   - A verb that judges a graph is blind: it runs no program and decrypts nothing.
//   - The program in TypeScript sees its files and its variables, and nothing else of this process or of the machine.
package input
