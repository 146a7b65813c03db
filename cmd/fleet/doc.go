// Package fleet has the verbs for many machines that share a store: hosts, deploy, deploys and what is below them. What an operator signs is signed here,
// by the keys of remote.Signing. No verb believes what a host says of itself.
//
// A verb holds what it needs: a sharedStore, a signer who has the keys and reads what they have signed, a bundler that makes the content of a deploy,
// and a leader who gives it to the hosts batch by batch.
package fleet
