// Package values keeps the values that vertices send to each other: the values that wait to be
// assigned, the values that were assigned, whether they are secret, and the answers of Init.Recv.
// It answers in data; the loop of the reactor decides when nothing of a receiver runs, and calls
// Assign then.
//
// # Laws
//
//   - Each value is a deep copy of its own. A later value of a wire takes the place of a waiting
//     earlier value; a value equal to the assigned one does not wait.
//   - Assign assigns all that waits, or nothing: on an error the receiver has its old values, and
//     nothing waits.
//   - A formula makes its value when all values of it are there, and again when one of them is another one. What it makes of a
//     secret is a secret.
//   - Changed stays up from the assignment until a run of the receiver has succeeded, and is not
//     raised for a value that an earlier process has acted on.
//   - A receiver of a secret is tainted: it stays so, and so is all that it sends.
//   - A value needs the leases that its sender has named, and those that the sender itself needed. The same value by another lease is
//     assigned anew, so that what the receiver sends is by that lease, too; Changed is not raised for it.
//   - An error of a secret does not quote it. A record of a secret is a salted digest.
//
// A nil *Vertex neither receives nor sends, and hides no parameter. The loop calls everything but
// Send, Recv, Feeds, Received, Proofs and IsTainted, which are for any goroutine; and Carry, Same, Wires
// and SecretFields, for a Swap while nothing is assigned.
//
// # Files
//
// Callers stand above callees.
//
//	doc.go send.go vertex.go seen.go formula.go wire.go
package values
