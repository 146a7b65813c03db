// Package keyring reads and edits files of OpenPGP public keys as apt takes them: keys one after
// the other, in binary or as text between BEGIN and END lines (armor).
//
// # Laws
//
//   - A Ring is a list of keys, each with all that belongs to it (names, signatures, subkeys), as
//     the bytes that were read. Nothing is decoded but where one key ends and the next one begins.
//   - Read(r.Bytes(armored)) is r again. Removing a key leaves the others byte for byte as they
//     were, and in their order.
//   - A key is known by its fingerprint, computed from the key itself, so a file can't lie about
//     it. Only keys of version 4 have one here; others are kept, and found by nothing.
//   - Anything but a keyring is an error; so is a secret key, which no message shows.
//
// Facts come from `gpg --show-keys --with-colons`, which checks signatures.
package keyring
