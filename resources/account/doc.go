// Package account has the kinds user and group: the accounts of the machine, or of an image below a folder. UserRes and
// GroupRes are their types, and importing the package registers both in engine.DefaultRegistry. The package backends
// below it alters the databases.
//
// # Laws
//
//   - A parameter that is not given is left as it is.
//   - All resources of one folder share one look at the databases, until these change.
//   - A function that a backend lacks is an error before anything is altered.
package account
