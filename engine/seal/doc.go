// Package seal encrypts secrets to the hosts that read them, with age (X25519). Each host has an identity in its state folder, and
// publishes the recipient that belongs to it in the store.
//
// # Keys of the store
//
//	recipients/HOST   the recipient of a host with its topics (Recipient), which that host alone writes
//
// The name is escaped by url.PathEscape. The key has no lease: a secret is for hosts that are off, too.
//
// # Laws
//
//   - An identity never leaves its file and its process: no function returns it, and no text shows it.
//   - A cipher text says nothing of the secret but its length. No error has a part of the clear text.
//   - What a host says of itself is shown, and gives it no right: a caller seals to the recipients that the operator has signed.
//   - A text is sealed to all recipients of its topic at the time of the write. A later host cannot read it before it is written anew.
package seal
