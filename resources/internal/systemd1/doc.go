// Package systemd1 asks the systemd manager of the machine, or of a user's session, for what
// kinds need of it: to start, stop and enable units, to read its unit files again, and to tell
// of what changes. It is the only way in which kinds reach systemd.
//
// # Laws
//
//   - There is one connection, that of engine.Host; nothing here opens another one,
//     and nothing takes back a subscription, since others may share it.
//   - A call returns when what it began has come to its end, or the context ends. A
//     unit that did not get where it was to go is an error that says where it is, why, and
//     what its log ends with.
//   - What others have asked the manager to do is not disturbed: a job of a unit, or of one that it depends on, is
//     neither replaced nor cancelled. The call returns an *engine.WaitError then, which names the job.
//   - What is so already is done: starting what runs is no error and begins nothing.
//   - Systemd starts a unit only so often in a while (five times in ten seconds). That is for units that
//     crash, and it holds for them; what somebody has stopped or killed is started however
//     often that was.
//   - A changed unit file is read before its unit is started.
//   - Names of units are checked by who has them from a user, with CheckUnit, before anything
//     is asked.
package systemd1
