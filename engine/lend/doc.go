// Package lend judges what other hosts want of this host: exports of a store, objects of a topic, and objects that a client of another
// machine writes.
//
// # Laws
//
//   - What is judged is the decoded resource, so no second name of a key and no notation hides a value.
//   - A kind comes from another host only if it says so (engine.CollectableRes), and the rules accept it.
//   - A field that is given counts only if the kind lends it (schema.Field.Lend). The rules, or the graph that collects, widen that, field by field.
//   - Of a field that the kind lends, no value takes the thing away, and no mode has bits above 0777.
//   - The place is the identity of the resource, and not its name: its first identity field, or the name where the kind takes that.
//     It fits the patterns of the rules, and of the graph that collects. A text with . or .. between slashes fits no pattern.
//   - Metaparameters pass by Meta, which leaves out all but a few.
//   - What the operator sets himself is not judged.
package lend
