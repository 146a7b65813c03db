// Package watches has the forms of a Watch that many kinds share: a Watch without a source, a Watch
// of paths, and turns between Watch and CheckApply.
//
// # Laws
//
//   - A Watch says Running once its source is armed, and never before.
//   - It ends with its context, and starts no goroutine.
package watches
