// Package rtnet reads and alters a network interface of the running kernel by netlink: its state,
// its addresses, and the routes by it in the main table.
//
// # Laws
//
//   - Apply does exactly the steps of Plan; after it, Look shows the wanted state.
//   - Addresses of the link that the kernel makes are not there for this package, nor are routes
//     that no person has made.
//   - The contents of the kernel's messages do not matter: each message is a reason to look. So
//     lost messages are only one more reason.
package rtnet

import (
	"errors"
	"fmt"
	"net/netip"
)

// State is what an interface is like.
type State struct {
	Up     bool
	MTU    int
	Addrs  []netip.Prefix
	Routes []Route

	Forward Forwarding

	// Bare are those addresses of IPv4 to whose network the kernel has no route by the interface,
	// though it makes one with the address: another program has removed the route.
	Bare []netip.Prefix
}

// Route is a route by the interface.
type Route struct {
	To     netip.Prefix
	Via    netip.Addr // zero for none
	Metric int
	OnLink bool // Via is at the link, though no address says so
}

// String returns it as the command ip shows it.
func (r Route) String() string {
	text := r.To.String()
	if r.IsDefault() {
		text = "default"
	}
	if r.Via.IsValid() {
		text += " via " + r.Via.String()
	}
	if r.OnLink {
		text += " onlink"
	}
	if r.Metric != 0 && r.Metric != metric6 {
		text += fmt.Sprint(" metric ", r.Metric)
	}
	return text
}

// IsDefault reports whether it is for all that has no other route.
func (r Route) IsDefault() bool { return r.To.Bits() == 0 }

// metric6 is what the kernel makes of no metric with IPv6.
const metric6 = 1024

// Default returns the route for all that has no other one.
func Default(via string) (Route, error) {
	gw, err := netip.ParseAddr(via)
	if err != nil {
		return Route{}, fmt.Errorf("%q is no address", via)
	}
	return newRoute(Route{To: netip.PrefixFrom(gw, 0).Masked(), Via: gw})
}

// ParseRoute returns the route that is written so; without via the network is reached
// directly.
func ParseRoute(to, via string, metric int, onLink bool) (Route, error) {
	p, err := netip.ParsePrefix(to)
	if err != nil {
		return Route{}, fmt.Errorf("to: %q is no network, as 198.51.100.0/24", to)
	}
	if p != p.Masked() {
		return Route{}, fmt.Errorf("to: %s is an address in the network %s", to, p.Masked())
	}
	if via == "" {
		return newRoute(Route{To: p, Metric: metric, OnLink: onLink})
	}
	gw, err := netip.ParseAddr(via)
	if err != nil {
		return Route{}, fmt.Errorf("via: %q is no address", via)
	}
	return newRoute(Route{To: p, Via: gw, Metric: metric, OnLink: onLink})
}

// newRoute checks a route, and makes it as the kernel shows it.
func newRoute(r Route) (Route, error) {
	to, via := r.To, r.Via
	switch {
	case r.OnLink && !via.IsValid():
		return Route{}, errors.New("onlink is about the address via, which is missing")
	case via.IsValid() && (via.Is4() != to.Addr().Is4() || via.Is4In6()):
		return Route{}, fmt.Errorf("the network %s and the address %s are of different families", to, via)
	case via.IsValid() && (via.IsUnspecified() || via.IsMulticast() || via.Zone() != ""):
		return Route{}, fmt.Errorf("%s is no address of a machine", via)
	case r.Metric < 0:
		return Route{}, fmt.Errorf("metric: %d is negative", r.Metric)
	case r.Metric == 0 && to.Addr().Is6():
		r.Metric = metric6
	}
	return r, nil
}
