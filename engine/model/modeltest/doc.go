// Package modeltest has the suites of package model. Store has the laws of a model.Store. Vectors plays scenarios, as
// JSON, whose outcomes were seen on an older system.
//
// # Laws
//
//   - A scenario runs on each store, and, where it touches the database, on each World.
//   - The environment variable VECTORS names a folder that holds dragonflow/. Without it, the copy in testdata is read.
//     Nothing else of that folder is read. A folder without scenarios is a failure.
//   - Every expectation is compared. Falsify alters each of them, and asks that the run fails.
//   - Where a scenario recommends something else than was seen, the recommendation holds: departures has it as data.
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
// A recommendation is a sentence. The file departures.go has the outcomes that the known sentences mean. A scenario with another
// sentence may depart from an expectation in three ways only. It fails where the old system went on, it goes on where
// that failed, or it gives a list without repeats. Later steps of such a scenario
// depend on that one, so they may differ. The run still finds crashes, unknown operations, and departures of any other
// kind before that step. Falsify leaves these scenarios out, since it cannot tell a lie from a recommendation.
//
// # Other implementations
//
// A package that has another World calls Vectors and Falsify with that World in Config.Worlds. A package that answers
// over HTTP gives Config.REST, and gets the groups rest and spec-rest, too. The problems in its answers have the key
// errors: a list of objects with the key field.
package modeltest
