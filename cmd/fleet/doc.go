// Package fleet has the verbs for many machines that share a store: hosts, deploy, deploys and what is below them. What an operator signs is signed here,
// by the keys of remote.Signing. No verb believes what a host says of itself.
package fleet
