// Package deploy is signed graphs in an engine.World. An operator writes a graph for a topic, and the hosts of that topic
// take it over, batch by batch. The package has the form of a deploy, its keys, and the choice of the next batch.
//
// # Keys of the store
//
// Each part between slashes is escaped by url.PathEscape.
//
//	deploys/TOPIC/record/NUMBER       the signed description of a deploy (Record)
//	deploys/TOPIC/rollout             which hosts take which deploy (Rollout)
//	contents/TOPIC/DIGEST/N           a part of the files, below the digest of the whole
//	deployed/HOST                     what a host has of its deploys (Report), which that host alone writes
//
// # Laws
//
//   - A deploy is in the store whole or not at all: its parts come first, and one transaction writes the record and the rollout.
//     Two operators may deploy to one topic at once: the first wins, and the second is told.
//   - The signature covers the topic, the number, and the digest of the files. So no user of the store can alter a
//     deploy, hand it to another topic, or bring back an older one.
//   - A number is used once and grows. To go back is a new deploy with the files of an old one.
//   - A rollout is not signed: a user of the store can hold a deploy back, or let it go, and no more.
//   - One operator leads a rollout at a time, without a lease and without an election: each step compares the revision that the operator
//     has read, so one transaction decides both who leads and what goes. An operator who stalls and returns writes nothing, and gets
//     ErrTaken. Under an election, such an operator could write between the end of the lease and the news of it. A killed operator
//     holds nothing up: the next one goes on at once, from the rollout in the store.
//   - A Bundle has one encoding, so equal files have one digest.
//   - No function of this package reads a clock. A private key is never part of an error or a text.
package deploy
