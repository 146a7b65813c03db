// Package systemdtest has a message bus of a test's own, and on it a manager that
// answers as systemd does, as far as mgmt asks it. Units are data; what becomes of them is what the
// test says. So units can fail, hang and vanish, and manager and bus can be restarted, on any machine.
//
// # Laws
//
//   - A signal is sent only if a client has subscribed since the manager has started.
//   - A job is there from the call that makes it until it has ended; then come the signal
//     of the unit, and JobRemoved.
//   - A job that would undo another one takes its place, or is refused in the mode "fail"; one of the same type is
//     the same job.
//   - A signal of a unit says nothing of what has changed, and may come though nothing has.
//   - What differs between a unit file and what is in force (masked) differs until Reload.
//   - Nothing outlives the test.
package systemdtest
