// Package machine has the verbs that look at this machine, or alter one thing of it, without a graph: resource, import, facts, interface and call.
package machine
