// Package plugintest is the suite that every provider passes, in whatever language it is written. `mgmt plugin test` runs it on a
// program, and Run in a test.
//
// # Laws
//
//   - Each check is one rule of the protocol, with a name. A finding names the check, the type and the fault.
//   - The suite makes one thing of each type, and removes it again. It alters nothing else, but the provider makes a real thing: a
//     test needs a place for that.
//   - The inputs of the thing follow from the schema, unless the caller gives them.
//   - Every wait has a bound, so a provider that hangs is a finding and not a hanging test.
//
// # The order
//
// First come the rules about versions and unknown words. Then each type has its turn: check, get of no thing, create, create again, get by
// key, get by id. The rest follows: many calls at once, batch, list, watch, delete, delete again, get after delete.
//
// # Ownership
//
// Run starts the program and ends it. A host of the caller runs the process, and ends it at the latest with itself. The findings belong to
// the caller. Nothing here keeps state between two runs.
package plugintest
