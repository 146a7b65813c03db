// Package net has the kind net: a network interface of the running kernel. Res is its type, and importing the package
// registers the kind in engine.DefaultRegistry.
//
// # Laws
//
//   - A parameter that is not given is left as it is. A list that is given is complete, unless purge is false.
//   - Addresses and routes that the kernel, a protocol or DHCP has made are never removed.
//   - Only resources/internal/rtnet speaks netlink; this package compares and decides.
//
// # Cost
//
// A look asks the kernel for the links, the addresses and the routes of one interface. A check
// that finds nothing to do costs one look; a change costs two, since the kernel may do
// less than it was asked for. Watch has one socket of netlink.
//
// # Time
//
// A setting holds until the next boot, or until another program alters it.
package net
