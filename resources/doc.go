// Package resources states the laws of the kinds that come with mgmt. Each kind, or family of kinds, stands in a package below it, and
// registers itself in engine.DefaultRegistry. Importing this package registers all of them, as resources/all does; a program that wants
// a few kinds imports their packages alone.
//
// # Laws, besides those of package engine
//
//   - A kind knows the contract (engine), the traits and the schema, and neither the engine that
//     runs it nor the format that declared it.
//   - The machine is reached through Init.Host and, for files of the resource alone, Init.VarDir.
//     Neither is touched by Init and Cleanup, so every kind here overlaps (traits.Overlapping).
//   - Files of a kind in VarDir are readable by no other user (mode 0600, written to a temporary
//     name and renamed), since a value may turn out to be a secret.
//   - An action without a state of its own (a command, a printed line, a tick) is due once for each
//     thing that asked for it, and never because of a mere look: looking twice in a row finds
//     nothing the second time.
//   - A line in our own log alters nothing, so it does not count as a change: a look gets it too. A
//     message that leaves the program, to the journal or to a command, counts.
//   - A refresh that nothing else asked for is reported as engine.Refreshed.
//   - State that Watch and CheckApply share lives behind a pointer that Init makes, so the declared
//     part of a resource can be overwritten as a whole.
package resources

import "github.com/reactivegraph/mgmt/resources/all"

// Kinds returns the names of all kinds that come with mgmt, sorted.
func Kinds() []string { return all.Kinds() }
