package net

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/rtnet"
)

// ours reports whether a route is listed: the default one of the gateway's family, or any if there
// is a list of routes.
// A route of the other family stays, even the default one: a gateway of IPv4 says nothing of IPv6.
func (r *Res) ours(route rtnet.Route) bool {
	if !route.IsDefault() {
		return len(r.Routes) > 0
	}
	gw, err := netip.ParseAddr(r.Gateway)
	return err == nil && gw.Is4() == route.To.Addr().Is4() || r.Gateway == "" && len(r.Routes) > 0
}

// CheckApply makes the interface as it is wanted.
func (r *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	want, err := r.want()
	if err != nil {
		return false, err
	}
	has, err := rtnet.Look(r.link())
	if err != nil {
		return false, err
	}
	plan := r.plan(has, want)
	if plan.Empty() {
		return true, nil
	}
	// Everything is told before anything is altered, so that a plan and a run tell the same.
	r.report(has, want, plan)
	if !apply {
		return false, nil
	}
	if err := rtnet.Apply(r.link(), want, plan); err != nil {
		return false, err
	}
	// The kernel may answer with success and do less than it was asked for. So the result is looked
	// at. A difference is an error at once, and no endless repair.
	if has, err = rtnet.Look(r.link()); err != nil {
		return false, err
	}
	if plan = r.plan(has, want); !plan.Empty() {
		return false, fmt.Errorf("%s does not take all that it was given: %s", r.link(), plan)
	}
	return false, nil
}

// plan returns the changes that are needed. An undoing also removes what its resource had brought; see Reversed.
func (r *Res) plan(has, want rtnet.State) rtnet.Plan {
	p := rtnet.Differ(has, want, r.Purge, r.ours)
	p.Gone(has, want, r.gone)
	return p
}

// report reports the changes.
func (r *Res) report(has, want rtnet.State, plan rtnet.Plan) {
	words := map[bool]string{true: Up, false: Down}
	if plan.State {
		r.init.Change(engine.Change{Field: "state", From: words[has.Up], To: words[want.Up]})
	}
	if plan.MTU {
		r.init.Change(engine.Change{Field: "mtu", From: has.MTU, To: want.MTU})
	}
	if plan.Forward {
		r.init.Change(engine.Change{Field: "ip_forward", From: !want.Forward.On, To: want.Forward.On})
	}
	var less []goneAddr
	for _, a := range plan.DelAddrs {
		less = append(less, goneAddr{a, slices.Contains(has.Bare, a)})
	}
	change(r.init, "addrs", less, plan.AddAddrs)
	// A default route is told under gateway, and all others under routes, as the user has declared
	// them.
	for _, c := range []struct {
		field  string
		others func(rtnet.Route) bool
	}{
		{"gateway", func(r rtnet.Route) bool { return !r.IsDefault() }},
		{"routes", rtnet.Route.IsDefault},
	} {
		less := slices.DeleteFunc(slices.Clone(plan.DelRoutes), c.others)
		change(r.init, c.field, less, slices.DeleteFunc(slices.Clone(plan.AddRoutes), c.others))
	}
}

// goneAddr is an address that goes.
// It is an address in a change.
// The kernel has one notation for both. The change tells them apart, so a user sees why an address
// that stays is touched.
type goneAddr struct {
	netip.Prefix
	bare bool // it comes back, with the route to its network
}

func (a goneAddr) String() string {
	if a.bare {
		return a.Prefix.String() + " without a route to its network"
	}
	return a.Prefix.String()
}

// change reports the items of a list that go and that come.
func change[L, M fmt.Stringer](init *engine.Init, field string, less []L, more []M) {
	if len(less)+len(more) > 0 {
		init.Change(engine.Change{Field: field, From: joined(less), To: joined(more)})
	}
}

// joined returns a list as text; nil for none.
func joined[T fmt.Stringer](list []T) any {
	if len(list) == 0 {
		return nil
	}
	var words []string
	for _, x := range list {
		words = append(words, x.String())
	}
	return strings.Join(words, ", ")
}

// Read returns the interface as it is.
func (r *Res) Read(ctx context.Context) (engine.Res, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	has, err := rtnet.Look(r.link())
	if err != nil {
		return nil, err
	}
	got := &Res{Interface: r.link(), State: Down, MTU: has.MTU, Purge: r.Purge}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	if has.Up {
		got.State = Up
	}
	if has.Forward.On != has.Forward.Off { // else one family does and the other one does not, which can't be asked for
		got.IPForward = new(has.Forward.On)
	}
	for _, a := range has.Addrs {
		got.Addrs = append(got.Addrs, a.String())
	}
	for _, route := range has.Routes {
		// The first default route with a gateway is the gateway. Others, as those of a second
		// table, stay in the list.
		if route.IsDefault() && got.Gateway == "" && route.Via.IsValid() {
			got.Gateway = route.Via.String()
			continue
		}
		one := Route{To: route.To.String(), Metric: route.Metric, OnLink: route.OnLink}
		if route.Via.IsValid() {
			one.Via = route.Via.String()
		}
		got.Routes = append(got.Routes, one)
	}
	return got.ordered(r), nil
}

// Reversed returns the resource that gives the interface its old state back, as far as this
// resource may have altered it. Later additions of others stay.
func (r *Res) Reversed(before engine.Res) (engine.Res, error) {
	was, ok := before.(*Res)
	if !ok {
		return nil, fmt.Errorf("%s: what the interface was like is not known", r)
	}
	undo := &Res{Interface: r.Interface, State: was.State}
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	if r.MTU != 0 {
		undo.MTU = was.MTU
	}
	if r.IPForward != nil {
		undo.IPForward = was.IPForward
	}
	if len(r.Addrs) > 0 {
		undo.Addrs = was.Addrs
	}
	// A parameter that this resource has not given is not the resource's to bring back.
	if was.up() { // else there were none, and go with the state
		undo.Gateway, undo.Routes = r.routesOf(was)
	}
	// The own addresses and routes go, unless they were there before. Later additions of others stay.
	mine, err := r.want()
	undo.gone = rtnet.State{Addrs: mine.Addrs, Routes: mine.Routes}
	return undo, err
}

// routesOf returns the routes of another resource that this one may have altered.
func (r *Res) routesOf(was *Res) (gateway string, routes []Route) {
	if r.Gateway != "" || len(r.Routes) > 0 {
		gateway = was.Gateway
	}
	for _, one := range was.Routes {
		if p, err := rtnet.ParseRoute(one.To, one.Via, one.Metric, one.OnLink); err == nil && r.ours(p) {
			routes = append(routes, one)
		}
	}
	return gateway, routes
}

// ordered returns it with its lists as another one has them, if they say the same.
// The kernel lists addresses and routes in an order of its own, and in its own notation. A
// comparison by text would see a difference in two equal lists.
func (r *Res) ordered(as *Res) *Res {
	has, err := r.want()
	want, werr := as.want()
	if err != nil || werr != nil {
		return r
	}
	if rtnet.Differ(has, rtnet.State{Addrs: want.Addrs}, true, func(rtnet.Route) bool { return false }).DelAddrs == nil && len(has.Addrs) == len(want.Addrs) {
		r.Addrs = as.Addrs
	}
	plan := rtnet.Differ(has, rtnet.State{Routes: want.Routes}, true, func(rtnet.Route) bool { return true })
	if len(plan.DelRoutes)+len(plan.AddRoutes) == 0 {
		r.Routes, r.Gateway = as.Routes, as.Gateway
	}
	return r
}

// List returns all interfaces.
func (r *Res) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		names, err := rtnet.Names()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range names {
			// A listed interface is shown with everything it has, so it could be declared from
			// that.
			one := &Res{Purge: true}
			one.SetKind(r.Kind())
			one.SetName(name)
			if got, err := one.Read(ctx); !yield(got, err) || ctx.Err() != nil {
				return
			}
		}
	}
}
