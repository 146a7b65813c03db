// Package collect turns the resources that other hosts export into declarations of this host's graph.
//
// # Laws
//
//   - The result depends on the arguments alone, and is sorted: equal exports give an equal graph.
//   - A resource that this host declares itself wins over a collected one. Of two hosts that export the
//     same resource the first by name wins. Each time a note says so.
//   - Without a list of accepted kinds, only a resource that says so itself (engine.CollectableRes) is
//     taken over: no program runs because another host wants it.
//   - A record that cannot be read, or is not accepted, is left out with a note, and hides no other.
//   - A collected resource is not exported again.
//   - Exports that change all the time are looked at once in a second, so no host has another one do nothing else.
package collect
