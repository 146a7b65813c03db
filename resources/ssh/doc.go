// Package ssh is the transport to machines that have an SSH server. A type whose provider is nothing but commands works over
// it as it does on this machine: each command runs on the target.
//
// The client is golang.org/x/crypto/ssh, and not the program ssh: one connection serves all types of a target, its secrets are in no argument list and
// no file, an unknown host key and a wrong password are different errors, and no process is left behind when the daemon is killed.
//
// # Laws
//
//   - The key of the host is checked against host_key or known_hosts before anything else is said. There is no way to leave that out.
//   - Secrets are read from the connection info only. They are in no error and in no argument.
//   - A connection that answers no keepalive is closed: a command on it ends with an error, and does not wait for the network.
//   - A command ends on the target when its connection does. While it runs it holds a lock of the target's user where the target has flock, so the
//     commands that follow over another connection see its end, and not its middle.
//   - A connection has two goroutines of its own, for keepalives and for the protocol. They end with Close.
//   - The input of a command, its environment and its arguments go over its standard input. Other
//     users of the target see the same
//     words for every command in the list of processes.
//
// # Limits
//
// A command keeps 1 MiB of each of its outputs unless it says otherwise, and drops later bytes, which its result tells. A login shell may print 64 KiB before the mark. A file with a private
// key has at most 64 KiB.
//
// # Time
//
// A connection is lost after three keepalives without an answer: 45 seconds unless keepalive says
// otherwise. A command has no limit of its own here: its context has.
package ssh
