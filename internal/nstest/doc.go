// Package nstest runs a test in namespaces of its own, in which it may mount file systems, take another host name and make links
// of the network, and chooses ports for servers that run outside of them.
//
// # Laws
//
//   - Nothing that a test does there reaches the machine: mounts are private, and the namespaces end with the process.
//   - In CI a test that gets no namespace fails. Elsewhere it is skipped, with the reason.
package nstest
