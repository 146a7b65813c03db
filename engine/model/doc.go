// Package model keeps objects of registered models: in an world.World, which many hosts share, and in memory, where
// indexes find them. A model is data. It is written in Go (Define), or read from a description. Each kind of resource
// is a model without another line, so the objects of a kind are declarations of the graph.
//
// # Parts
//
//   - Spec describes a model; Define makes the Model of it; Registry knows models by name and table.
//   - Object is an immutable snapshot of an object, or of the part of it that its set fields are.
//   - NB is the northbound API over a World: Create, Update, Replace, Get, One, First, List, All, Delete, Call, Watch,
//     Txn and Migrate.
//   - Store keeps objects in memory; package model/store has three. Store and NB answer the same questions (Source).
//   - Through answers from a Store, and from the NB where the Store does not have the object.
//   - Events calls subscribers; Replica keeps a Store equal to the topics of a host, and emits events.
//   - View reads through references.
//
// # Laws
//
//   - A Registry is a value, and nothing here is global. A Model never changes.
//   - Unset, null and a value are three things. Update takes the set fields over, null clears a field, and lists and
//     nested objects are replaced whole. In a query, unset and null find everything; empty text, zero and false are values.
//   - An index always has id. Its paths go through lists, sets and values of maps; several paths are the product of
//     their values. An absent value and an empty list are found by Any only.
//   - A reference is an id. Reading the id needs no look at the target. A target that is absent never refuses a write: an index behind
//     it has the value Missing until the target comes.
//   - Create never writes over an object. A version or a revision that is given with a change is the expected one.
//     Writers without one never lose an update: their transactions run again.
//   - Where nothing changes, no hook is called, nothing is written, and no event follows.
//   - Hooks of mixins and bases run first, in the order of the Spec, then the model's own. The check for required
//     fields comes after all hooks. An error of a hook is that of the change. What a failed change and its hooks have
//     asked for is taken back: a transaction that goes on does without it.
//   - A transaction is one revision: objects that change together are seen together.
//   - A record that cannot be read hides no other. Records of an older schema are migrated as they are read. A record
//     of a newer schema is refused alone, unless it says that this program may read it. Update keeps unknown fields.
//   - An error is an Error: it has a code, the object, the path of the field, and the position where there was a text.
//     All faults of one object come at once.
//   - A secret is written encrypted, or not at all. No answer shows one.
//   - Nothing here reads a clock.
//
// # Limits
//
// One object has at most a MiB of JSON, and ten thousand keys in one index. A create and a move are two operations of
// the World, and every other change is one, so 64 new objects fit one transaction by default. A World may have
// other Limits; a dry run tells of them, too. An NB keeps nothing in memory between two calls, and a
// list holds about a thousand records at a time, however long it is.
//
// # How it works
//
// A record is JSON: an envelope with the version of the schema, and the set fields of the object. Its key begins with
// the topic. A host watches its topics alone, and a role of the store can be bound to them. A second
// key has the topic for each id. An id is escaped, so it may have any character.
//
// A transaction of NB reads, calls hooks, and writes with a comparison for each key that it has read. Where a
// comparison does not hold, another writer was faster, and the transaction runs again from the beginning.
//
// An index key is the list of the values at the paths of the index. Missing stands for a value that is absent, and Any
// in a question for every value. A path that goes through a reference reads the target in the same store. The store
// remembers who has read what, and makes those keys again when the target changes.
package model
