// Package lifecycle is the life of one resource: it makes, decodes, validates, initialises, reads, lists and cleans up. It keeps
// panics and secrets in. The reactor, single looks (package look), the suite of laws (package enginetest) and simulated machines
// (package simulate) stand on it, so a resource meets the same treatment everywhere.
//
// An Env holds the common parts of all resources of one engine. A Life is one resource in an Env. The functions Make, Copy, Undo,
// Validate, Read and List also serve a resource that has no Life.
//
// # Laws
//
//   - Order: New, the parameters, kind and name, Validate, CheckMachine, the opening of the Shared, Init. Then come the calls of the owner: Watch,
//     CheckApply, Read, List. Cleanup is the last call of a resource, and comes at most once after each Init without an error.
//   - An Init that fails leaves nothing behind: no Cleanup follows, and the Shared is given up.
//   - A Shared is opened by the first Life of its key, and closed after the last one. While it is closed, a new Life of the key
//     waits. Begin comes before the first use, and End before Close. No two of these calls overlap.
//   - The context of a Shared outlives the call that opened it. It ends with the context of Start, or after Close.
//   - A panic of a method is an *callsafe.PanicError, and the text of an error is read on the goroutine that called the method.
//     So a caller may read each error of this package on any goroutine. Validate and CheckMachine are the exceptions: their errors keep their parts.
//   - Texts, errors, changes and log records that went through a Life hold no secret of its own. They hold no secret of another Life of the
//     Env either, from six bytes on.
//   - A folder for state is made only where the engine may alter the machine.
//   - This package starts no goroutine and has no clock. Each call takes as long as the methods that it calls.
//
// # Ownership
//
// Init and Cleanup of one Life must not overlap. All else is callable from any goroutine.
package lifecycle
