// Package net has the kind net: a network interface of the running kernel. Res is its type, and importing the package
// registers the kind in engine.DefaultRegistry.
//
// # Laws
//
//   - A parameter that is not given is left as it is. A list that is given is complete, unless purge is false.
//   - Addresses and routes that the kernel, a protocol or DHCP has made are never removed.
//   - Only resources/internal/rtnet speaks netlink; this package compares and decides.
package net
