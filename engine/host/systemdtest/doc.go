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
//
// # Use
//
// NewBus starts the bus and NewManager the manager on it. Both end with the test. The
// code under test gets the address of the bus, for most of it in DBUS_SYSTEM_BUS_ADDRESS.
// NewMachined adds systemd-machined to the same bus.
//
// A test adds a Unit, lets the code act, and then asks Calls for the calls that it made.
// Set and Twitch are the world outside: the former alters a unit, the latter sends a
// signal without a cause. Hold keeps a job open until its channel is closed, so a test
// decides when it ends.
//
// The interfaces are those of org.freedesktop.systemd1(5) and
// org.freedesktop.machine1(5), as far as mgmt calls them. Any other method fails as
// unknown, so a new call shows up in the first test that makes it.
package systemdtest
