// Package metrics counts what the engine does, in the format of Prometheus. It is
// the only package that imports Prometheus, so who embeds the engine without it
// does not link it.
//
// A Metrics is fed in two ways: Listener is told of each run by the reactor, and a
// Source is asked at each scrape how things stand. docs/metrics.md lists what comes
// out.
//
// # Laws
//
//   - Bounded: a label has a kind, a state, a class or an outcome as its value, never
//     a resource, a path or a text. Kinds beyond MaxKinds are counted together.
//   - Cheap: what is called on the reactor's loop takes less than 500 ns and, but for
//     the first run of a kind, allocates nothing and waits for nobody.
//   - Honest: a scrape while the loop does not answer says so (mgmt_responding 0) and
//     leaves out what it could not learn; what was counted is still there.
//   - Nothing here holds a value of a resource, so no secret can be shown.
//   - It starts no goroutine. Clocks are values.
package metrics
