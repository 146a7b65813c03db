// Package boltfile keeps one file of bbolt safely: it opens, locks, checks and
// copies the file, and it turns every panic of bbolt into an error. The journal and
// the World of one host stand on it; each has its own rule for a damaged file.
//
// # Laws
//
//   - A file is locked before anything of it is read, and while it is open. A second
//     process gets ErrLocked at once.
//   - Check reads a file with plain reads before bbolt maps it, so that no damage can
//     end the process.
//   - A panic of bbolt, and a fault in its map, are a Damage. They never leave Update,
//     View or CopyTo as a panic.
//   - Only the owner of a file can read it.
//   - Each stored value begins with a sum over its bucket, its key and itself.
package boltfile
