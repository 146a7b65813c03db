// Package bus has how a resource speaks on the message buses of the machine, over connections that all resources share.
package bus
