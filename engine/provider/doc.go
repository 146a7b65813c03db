// Package provider makes kinds of data: a type that is written down as a Definition,
// in Go, JSON or YAML, and a Provider that can Get and Set the things of that type,
// are a kind like any other. The engine cannot tell the difference.
//
// # How it is used
//
//	kind, err := provider.New(def, func() provider.Provider { return &keys{} }) // err is all that is wrong with def
//	err = registry.Register(kind.Name(), kind.New)
//
// External makes a Provider of two commands that speak JSON lines. DecodeDefinition
// reads a Definition from a file, with positions.
//
// # Words
//
// A thing is what exists, or doesn't, on the machine; a Record is what is known of
// one, by attribute; its Name is the values of its namevars. A resource of the kind
// is what a graph wants of one thing; its name in the graph is its title. The
// controller is what all resources of a kind have in common: it alone calls the
// provider, reads once for all of them, and keeps the snapshot, which is what was
// read last.
//
// # The calls
//
// A transaction lasts from the first resource of an idle type that is due until none
// of them is dirty or running. It makes a provider with the constructor, as late as
// possible: at its first call. A provider that is a Closer is closed at the end. Calls
// to the providers of one type never overlap; only Watch runs at the same time as them, on an
// object of its own.
//
//	Get           once in a transaction, with all (or, with simple_get_filter, with the
//	              names of all resources of the type); a Finder is asked name by name
//	Canonicalize  with the wanted values, once each time they change; and with what Get
//	              returned, which it must not alter
//	InSync        instead of the comparison, attribute by attribute, if the provider
//	              is an InSyncer
//	Set           with all resources that are due together, have no path between them,
//	              and differ; then Get again, with their names or with all
//	Refresh       with those that were notified and did not differ
//
// # Laws
//
//   - The results of a provider are checked before they are used: names, types,
//     attributes. A wrong record fails the resource of its name, a wrong list all of
//     the type.
//   - The arguments of a provider are copies. If it alters one, no other code sees
//     that. If it alters one that it must not, that is an error that names it.
//   - An attribute that the resource does not have is not compared. Parameters are
//     never compared. ensure is compared first; where it differs nothing else is.
//   - A graph calls ensure state, unless the type has an attribute state; ensure is
//     read too. Providers, their commands and manifests of types from files say ensure.
//   - An init_only attribute that differs fails the resource; Set is not called.
//   - Under noop Set is called only if the definition has noop_handler, with
//     Change.Noop, and then it must alter nothing.
//   - An error that Get yields with a record, and one of Find, fails the resources of that
//     name. Reading ends after 5 minutes, with an error; where commands read, after
//     their timeout.
//   - A Get that fails makes the type unavailable: all its resources fail with that
//     error, and Get is called again after a pause that grows, from a second to five
//     minutes. The first success wakes them.
//   - A Set that fails fails the resources of the call, except those with the status
//     created, updated, deleted, unchanged or processed. A resource that it called failed
//     has failed, whatever Set returns.
//   - After a Set that reported success its changes are read again; a resource that
//     still differs has failed. The feature unverified leaves that out.
//   - A resource is judged by a read that is not older than the last change of anything
//     above it in the graph. The read behind an error is repeated after such a change, too,
//     without the pause.
//   - A waking is for a change: of the resources only those whose record differs from
//     the one before, or whose name the Watcher gave, are woken.
//   - A resource that has failed because a path is missing (fs.ErrNotExist) is woken
//     by each change of the files that a Locator or a FileSearcher names, and of the folders that they are in.
//   - A record that was read after a resource was woken is not read again for it in the
//     transaction that this begins.
//   - A panic of a provider is the failure of the resources of that call.
//   - Values of sensitive attributes are wrapped wherever they go, and in no message.
//
// # Ownership
//
// A Kind is immutable and safe for concurrent use. A controller is opened by the
// reactor as the Shared of its kind, and closed by it. It starts one goroutine, for
// the Watch, at the first subscriber, and ends it after the last.
package provider
