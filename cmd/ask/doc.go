// Package ask has the verbs that ask a running daemon how things stand, and those that steer it: status, why, events, log, pause, resume, retry, apply,
// reload, proposals, approve and reject. They read no graph and touch nothing of the machine; the daemon does, by its socket.
package ask
