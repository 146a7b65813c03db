// Package systemdtest has a message bus of a test's own, and on it a manager that answers as
// systemd does, as far as mgmt asks it. Units are data; the test decides their fate. So units can
// fail, hang and vanish, and manager and bus can be restarted, on any machine.
//
// # Laws
//
//   - A signal is sent only if a client has subscribed since the manager has started.
//   - A job is there from the call that makes it until it has ended; then come the signal of the
//     unit, and JobRemoved.
//   - A job that would undo another one takes its place, or is refused in the mode "fail"; one of
//     the same type is the same job.
//   - A signal of a unit does not name the change, and may come without a change.
//   - A difference between a unit file and the state in force (masked) lasts until Reload.
//   - Nothing outlives the test.
package systemdtest
