// Package deploy is what an operator signs in an world.World: graphs, and the records of the store and of its hosts. An operator writes a
// graph for a topic, and the hosts of that topic take it over, batch by batch. The package has the form of a deploy, its keys, the
// choice of the next batch, and what a host holds of its store.
//
// # Keys of the store
//
// Each part between slashes is escaped by url.PathEscape.
//
//	deploys/TOPIC/record/NUMBER       the signed description of a deploy (Record)
//	deploys/TOPIC/rollout             which hosts take which deploy (Rollout)
//	contents/TOPIC/DIGEST/N           a part of the files, below the digest of the whole
//	deployed/HOST                     what a host has of its deploys (Report), which that host alone writes
//	fleet/store                       the signed record of the store (StoreRecord): its id, and what counts no more
//	fleet/hosts/HOST                  the signed record of a host (HostRecord): its roles, and to whom its secrets are encrypted
//
// # Laws
//
//   - A deploy is in the store whole or not at all: its parts come first, and one transaction writes the record and the rollout.
//     Two operators may deploy to one topic at once: the first wins, and the second is told.
//   - The signature covers the store, the topic, the number, and the digest of the files. So no user of the store can alter a
//     deploy, hand it to another topic or copy it to another store, or bring back an older one.
//   - A store has one id, made once. A host belongs to the store of its admission, or where it has none to the first that it meets. It
//     notes that in a file (Pin), and accepts deploys of that store alone.
//   - A deploy that has expired is accepted by no further host. A host that has it goes on with it, also over a restart.
//   - What a host says of itself gives it no right. Its roles, and the recipient of its secrets, are those of its signed record.
//   - The record of the store has a number that grows, and a host never takes an older one than it has had, as long as it trusts the key of
//     that one. What is taken from a host is in it: a removal, the serials of its certificates, and a number below which records of the
//     host count no more. So no earlier record comes back, neither that of the store nor that of a host.
//   - Each kind of record is signed under a word of its own, so no record stands for one of another kind.
//   - A number is used once and grows. To go back is a new deploy with the files of an old one.
//   - A rollout is not signed: a user of the store can hold a deploy back, or let it go, and no more.
//   - One operator leads a rollout at a time, without a lease and without an election: each step compares the revision that the operator
//     has read, so one transaction decides both who leads and what goes. An operator who stalls and returns writes nothing, and gets
//     ErrTaken. Under an election, such an operator could write between the end of the lease and the news of it. A killed operator
//     holds nothing up: the next one goes on at once, from the rollout in the store.
//   - A Bundle has one encoding, so equal files have one digest.
//   - No function of this package reads a clock. A private key is never part of an error or a text.
package deploy
