package rtnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Plan is what is to be altered.
type Plan struct {
	State, MTU, Forward  bool // to what is wanted
	AddAddrs, DelAddrs   []netip.Prefix
	AddRoutes, DelRoutes []Route
}

// Empty reports whether there is nothing to be altered.
func (p Plan) Empty() bool {
	return !p.State && !p.MTU && !p.Forward && len(p.AddAddrs)+len(p.DelAddrs)+len(p.AddRoutes)+len(p.DelRoutes) == 0
}

// String says what is left of it, for an error.
func (p Plan) String() string {
	var words []string
	for _, s := range []struct {
		is   bool
		text string
	}{
		{p.State, "its state"},
		{p.MTU, "its mtu"},
		{p.Forward, "whether it forwards"},
		{len(p.AddAddrs) > 0, fmt.Sprint("missing are the addresses ", p.AddAddrs)},
		{len(p.DelAddrs) > 0, fmt.Sprint("too many are the addresses ", p.DelAddrs)},
		{len(p.AddRoutes) > 0, fmt.Sprint("missing are the routes ", p.AddRoutes, ", which another interface may have: then give another metric")},
		{len(p.DelRoutes) > 0, fmt.Sprint("too many are the routes ", p.DelRoutes)},
	} {
		if s.is {
			words = append(words, s.text)
		}
	}
	return strings.Join(words, "; ")
}

// Differ returns the changes that make an interface as wanted. With purge, surplus parts go:
// addresses if some are wanted, and those routes for which ours returns true. A route in the place
// of a wanted one goes in any case, and a bare address is made anew. An MTU of 0 is any.
func Differ(has, want State, purge bool, ours func(Route) bool) Plan {
	p := Plan{
		State: has.Up != want.Up, MTU: want.MTU != 0 && has.MTU != want.MTU,
		Forward:  want.Forward.On && has.Forward.Off || want.Forward.Off && has.Forward.On,
		AddAddrs: without(want.Addrs, has.Addrs), AddRoutes: without(want.Routes, has.Routes),
	}
	if purge && len(want.Addrs) > 0 {
		p.DelAddrs = without(has.Addrs, want.Addrs)
	}
	if bare := common(want.Addrs, has.Bare); want.Up {
		p.DelAddrs, p.AddAddrs = append(p.DelAddrs, bare...), append(p.AddAddrs, bare...)
	}
	p.DelRoutes = slices.DeleteFunc(without(has.Routes, want.Routes), func(r Route) bool {
		return !(purge && ours(r)) && !slices.ContainsFunc(want.Routes, r.inPlaceOf)
	})
	return p
}

// inPlaceOf reports whether two routes are to the same network with the same metric. The kernel has
// only one such route.
func (r Route) inPlaceOf(o Route) bool { return r.To == o.To && r.Metric == o.Metric }

func without[T comparable](list, others []T) (rest []T) {
	for _, x := range list {
		if !slices.Contains(others, x) {
			rest = append(rest, x)
		}
	}
	return rest
}

// Gone adds to the plan the removal of all parts of an interface that are in gone and not wanted.
func (p *Plan) Gone(has, want, gone State) {
	addrs, routes := without(gone.Addrs, want.Addrs), without(gone.Routes, want.Routes)
	p.DelAddrs = append(p.DelAddrs, common(addrs, without(has.Addrs, p.DelAddrs))...)
	p.DelRoutes = append(p.DelRoutes, common(routes, without(has.Routes, p.DelRoutes))...)
}

func common[T comparable](list, others []T) []T { return without(list, without(list, others)) }
