// Package notices tells people and programs of events: over a webhook, by mail, with a command, or in the log.
//
// A Receiver is configuration: a filter, and where to send. Prepare checks it and reads its files. Notices follows the history of a daemon,
// which mgmt log shows, with two goroutines for each receiver: one gathers the events that the filter accepts into messages, one sends these.
//
// # Laws
//
//   - At least once: a message is removed from the queue after its receiver has taken it. The cursor of a receiver moves in the commit that
//     queues the message, so after a kill the events behind it are read again from the history. The ID of a message is never used twice.
//   - Bounded: the queue of a receiver has at most MaxSize bytes, and no message older than MaxAge; a message lists at most 50 events in 32 KiB.
//     The oldest go first.
//   - Said: the next message to the receiver, the log and Status tell how many events were dropped.
//   - Apart: neither the engine nor another receiver waits for one that is slow. A try has a time limit, and the next one waits longer.
//   - No secret of a receiver is in a log, in an error, in a status or in the arguments of a process. Messages have what the events have, in
//     which the engine has redacted secrets, and no value of a parameter.
package notices
