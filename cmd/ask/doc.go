// Package ask has the verbs that ask a running daemon how things stand, and those that steer it: status, why, events, log, pause, resume, retry, notify,
// apply, reload, proposals, approve, reject, plugin status and plugin restart. They read no graph and touch nothing of the machine; the daemon does, by its
// socket. Notify test alone does its work itself: it sends a message to the receivers of the configuration.
package ask
