// Package modeltest has the suites of package model. Store has the laws of a model.Store. Vectors plays scenarios, as
// JSON, whose outcomes were seen on an older system.
//
// # Laws
//
//   - A scenario runs on each store, and, where it touches the database, on each World.
//   - The environment variable VECTORS names a folder that holds dragonflow/. Without it, the copy in testdata is read.
//     Nothing else of that folder is read. A folder without scenarios is a failure.
//   - Every expectation is compared. Falsify alters each of them, and asks that the run fails.
//   - Where a scenario recommends something else than was seen, the recommendation holds. It is derived from the steps.
//
// # The format of a scenario
//
// A file has a group and scenarios. A scenario has models and steps; recommend says in words that another outcome than
// the expected one is right.
//
// A model has a table, bases, fields, indexes, events, hooks, methods, schema_version and migrations. plain is a struct
// without an id. A model without a table is only nested, or a base. A deferred model is registered by a step.
// The bases Topic, Version, Name, UniqueKey and BasicEvents are built in.
//
// The types of fields are string, int, float, bool, enum, enumlist, ip, cidr, mac, portrange, ref, reflist, nested,
// list, set and dict.
//
// A hook is a list of actions: set a field, log, log_orig, chain, fail, and keep_if with equals. The action chain has
// nothing to do here, since the hooks of bases always run.
//
// A value {"$m": MODEL, FIELD: VALUE} is an object with just these fields set. {"$class": MODEL} is the model itself,
// and {"$var": NAME} a variable. null is a field that is set to none.
//
// A step has an operation, its arguments, and an expectation: ok, an error, or parts of the answer. Lists of ids are
// sorted. A step without an expectation must succeed. The steps published, writes, calls, fetches and db_reads return
// everything since they were asked last.
//
// # Recommendations
//
// A recommendation is a sentence, and its expectations show the fault that was seen. The file recommend.go lists the
// faults by operation, and plays the scenario twice on plain values: with all faults, and without any. An expectation that
// the faulty play gives is replaced by the outcome of the sound play. No scenario is known by its id, so another scenario
// with these faults is judged, too. Every other expectation holds as it is written.
//
// # Other implementations
//
// A package that has another World calls Vectors and Falsify with that World in Config.Worlds. The package of the HTTP API
// plays the groups rest and spec-rest itself.
package modeltest
