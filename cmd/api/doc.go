// Package api has the verb api: the objects in the store of a daemon, read and changed table by table. Each verb below it asks a daemon, a store in etcd or
// the server of another machine, by an api.Client over one of the transports of package remote.
package api
