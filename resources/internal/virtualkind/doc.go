// Package virtualkind is the common part of the kinds whose work a backend does: packages,
// services, users and groups.
//
// # Laws
//
//   - The backend follows from the facts of the machine. When they change, Watch opens the new one.
//   - Watch waits on a small stack. Each call that needs more room runs on another goroutine, and is waited for.
//   - A backend that tells of no changes is asked in intervals of Poll.
package virtualkind
