// Package metrics counts the work of the engine, and tells it in the text format of
// Prometheus, version 0.0.4. It writes the format itself: the client of Prometheus
// brings protocol buffers with it, a tenth of the program, to say the same. Its tests
// read the output with that client's parser.
//
// A Metrics is fed in two ways: Listener is told of each run by the reactor, and a
// Source is asked at each scrape how things stand. docs/metrics.md lists the
// output.
//
// # Laws
//
//   - Bounded: a label has a kind, a state, a class or an outcome as its value, never
//     a resource, a path or a text. Kinds beyond MaxKinds are counted together.
//   - Cheap: a call on the reactor's loop takes less than 500 ns and, but for
//     the first run of a kind, allocates nothing. It takes no lock, so it never
//     waits, and no scrape holds it up.
//   - Honest: a scrape while the loop does not answer says so (mgmt_responding 0) and
//     leaves out unknown figures; the counts are still there.
//   - A count never goes down between two scrapes, and the buckets of a
//     histogram always add up to its count.
//   - Nothing here holds a value of a resource, so no secret can be shown.
//   - It starts no goroutine. Clocks are values.
package metrics
