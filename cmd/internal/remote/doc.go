// Package remote is how a verb reaches what is not in its own process: a running daemon by its socket (Daemon), and a store in etcd or the server of another
// machine (Direct). Signing has the keys of an operator, whose signatures the hosts of a store believe.
package remote
