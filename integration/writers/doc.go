// Package writers tests that no program fails, and none is disturbed, because mgmt manages the file
// that it writes. It has nothing to import.
//
// # Laws
//
//   - Each writer alters each kind of name: one that has to be there, also in a folder that is
//     purged, one that has to be absent, and one in a folder that is purged.
//   - No writer fails. After the last one the name is as the graph says.
//   - The history has the whole text of each writer that began after the last repair.
//   - Who is named in the history is the process that wrote, or nobody.
//
// Each writer writes sixty times in each situation, nine times with -short; -writers.rounds 1000 looks longer.
package writers
