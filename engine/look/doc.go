// Package look looks at single things as they are now, without a graph. It serves the verbs that show, list, follow and import
// things. It alters nothing: single.Set of package daemon/single does.
//
// A look is the life of a resource (package lifecycle) without CheckApply: it is made and validated, Init is called with the host of
// this machine, then Read or List, then Cleanup.
//
// # Laws
//
//   - A look shows a thing as its kind shows it. No parameter needs a value for that, but those that name the thing.
//   - A wrong target is told with its place (schema.Diagnostics), and nothing is opened for it.
//   - What resources share is opened once by an Inspector. All looks of one Read or List are between its Begin and its End.
//   - A panic of a resource is the error of that look, and no secret of a resource is in an error or in the log.
//   - A sequence ends when its context does. After Close nothing remains: no goroutine, process or temporary folder.
//
// # Ownership
//
// An Inspector serves one goroutine at a time. Abandon is callable from any goroutine.
package look
