// Package config reads the settings of the program: flags, variables of the environment,
// and the configuration file. One Table declares each setting once. The flags, the reader
// of the file, the JSON Schema, the reference page and the example file come from it.
//
// # Laws
//
//   - A flag wins over the environment, the environment wins over the file, and the file
//     wins over the default. Of settings that exclude each other (Setting.Group) only those
//     of the strongest source count.
//   - Read reports everything that is wrong with a file at once, each finding with its place.
//     With an error among the findings the file gives no value.
//   - Reading is bounded: MaxBytes, and a regular file only. A pipe is never waited for.
//   - An error about a key that people may expect names the setting to use (Table.Instead).
//   - A resolved value knows where it is from.
//   - The package keeps no state, and starts no goroutine.
package config
