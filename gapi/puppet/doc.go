// Package puppet is the frontend that runs Puppet catalogs: the JSON that
// `puppet catalog compile` prints, or that an agent keeps. It needs no Puppet.
//
// # Laws
//
//   - A catalog is carried out as Puppet would do it, or refused with the reason
//     and the line of the manifest. Nothing is left out without a word: with
//     Options.Lenient each omission is a warning.
//   - All faults are reported at once, by the line of the manifest where the
//     catalog tells it, else by the place in the JSON.
//   - The translation of each attribute of each type is one row of a table (Types),
//     which is also the page of the reference.
//   - A type that is in no table, but whose name in lower case is a kind of the
//     registry, is that kind, attribute by attribute.
//   - A sensitive parameter becomes a secret: it is in no message, difference or
//     log, and refused where others on the machine could see it.
//   - Order is that of Puppet: relations, containment and automatic relations. An
//     automatic relation that the others contradict is none.
//
// # The translation
//
//   - A resource is declared with its title as its name, unless its type says who it
//     is by the parameter name.
//   - A container (class, defined type, stage) that is the end of a relation becomes
//     two vertices of the kind noop, "start of X" and "end of X", with its content
//     between them. That takes as many edges as resources, not their product. A
//     container that no relation names is nothing.
//   - A refresh goes through containers as it does in Puppet: X ~> Class[c] refreshes
//     what in c can be refreshed, Class[c] ~> X refreshes X when something in c
//     changes. Only where a relation asks for it are these vertices more than order
//     (hidden vertices never run).
//   - A resource that does not run, by Options.Tags or because it is left out,
//     becomes a hidden vertex that order leads through.
//   - Automatic relations that our kinds ask for by themselves (see
//     engine/transform.AutoEdge) are left to them.
//
// # Bounds
//
// Reading is bounded: Options.MaxBytes, Options.MaxResources, 100 levels, a million values; findings by
// schema.Findings. The cost is linear in the catalog, but for automatic relations
// that would close a cycle.
package puppet
