// Package systemd1 asks the systemd manager of the machine, or of a user's session: to start, stop
// and enable units, to read its unit files again, and to tell of changes. It is the only way in
// which kinds reach systemd.
//
// # Laws
//
//   - There is one connection, that of engine.Host; nothing here opens another one, and nothing
//     takes back a subscription, since others may share it.
//   - A call returns when its job has come to its end, or the context ends. A unit that misses its
//     wanted state is an error with the present state, the reason, and the end of its log.
//   - Jobs of other clients are not disturbed: a job of a unit, or of a unit that it depends on, is
//     neither replaced nor cancelled. The call returns an *failure.WaitError then, which names the
//     job.
//   - A state that is there already is done: to start a running unit begins nothing, and is not an
//     error.
//   - Systemd starts a unit only so often in a while (five times in ten seconds). That is for units
//     that crash, and it holds for them; a unit that was stopped or killed by hand is started
//     however often that was.
//   - A changed unit file is read before its unit is started.
//   - Names of units that a user wrote are checked by the caller, with CheckUnit, before anything
//     is asked.
package systemd1
