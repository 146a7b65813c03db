package resources

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

// ours reports whether a route is one of those that are listed: the default one of the
// gateway's family, or any if there is a list of routes.
func (r *NetRes) ours(route rtnet.Route) bool {
	if !route.IsDefault() {
		return len(r.Routes) > 0
	}
	gw, err := netip.ParseAddr(r.Gateway)
	return err == nil && gw.Is4() == route.To.Addr().Is4() || r.Gateway == "" && len(r.Routes) > 0
}

// CheckApply makes the interface as it is wanted.
func (r *NetRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
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
	plan := rtnet.Differ(has, want, r.Purge, r.ours)
	if plan.Empty() {
		return true, nil
	}
	r.report(has, want, plan)
	if !apply {
		return false, nil
	}
	if err := rtnet.Apply(r.link(), want, plan); err != nil {
		return false, err
	}
	if has, err = rtnet.Look(r.link()); err != nil {
		return false, err
	}
	if plan = rtnet.Differ(has, want, r.Purge, r.ours); !plan.Empty() {
		return false, fmt.Errorf("%s does not take what it was given: it still differs in %+v", r.link(), plan)
	}
	return false, nil
}

// report reports what is to be changed.
func (r *NetRes) report(has, want rtnet.State, plan rtnet.Plan) {
	words := map[bool]string{true: NetUp, false: NetDown}
	if plan.State {
		r.init.Change(engine.Change{Field: "state", From: words[has.Up], To: words[want.Up]})
	}
	if plan.MTU {
		r.init.Change(engine.Change{Field: "mtu", From: has.MTU, To: want.MTU})
	}
	netChange(r.init, "addrs", plan.DelAddrs, plan.AddAddrs)
	for _, c := range []struct {
		field  string
		others func(rtnet.Route) bool
	}{
		{"gateway", func(r rtnet.Route) bool { return !r.IsDefault() }},
		{"routes", rtnet.Route.IsDefault},
	} {
		less := slices.DeleteFunc(slices.Clone(plan.DelRoutes), c.others)
		netChange(r.init, c.field, less, slices.DeleteFunc(slices.Clone(plan.AddRoutes), c.others))
	}
}

// netChange reports what goes and what comes.
func netChange[T fmt.Stringer](init *engine.Init, field string, less, more []T) {
	text := func(list []T) any {
		if len(list) == 0 {
			return nil
		}
		var words []string
		for _, x := range list {
			words = append(words, x.String())
		}
		return strings.Join(words, ", ")
	}
	if len(less)+len(more) > 0 {
		init.Change(engine.Change{Field: field, From: text(less), To: text(more)})
	}
}

// Read returns what the interface is like.
func (r *NetRes) Read(ctx context.Context) (engine.Res, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	has, err := rtnet.Look(r.link())
	if err != nil {
		return nil, err
	}
	got := &NetRes{Interface: r.link(), State: NetDown, MTU: has.MTU, Purge: r.Purge}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	if has.Up {
		got.State = NetUp
	}
	for _, a := range has.Addrs {
		got.Addrs = append(got.Addrs, a.String())
	}
	for _, route := range has.Routes {
		if route.IsDefault() && got.Gateway == "" && route.Via.IsValid() {
			got.Gateway = route.Via.String()
			continue
		}
		one := NetRoute{To: route.To.String(), Metric: route.Metric}
		if route.Via.IsValid() {
			one.Via = route.Via.String()
		}
		got.Routes = append(got.Routes, one)
	}
	return got.ordered(r), nil
}

// ordered returns it with its lists as another one has them, if they say the same.
func (r *NetRes) ordered(as *NetRes) *NetRes {
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
func (r *NetRes) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		names, err := rtnet.Names()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range names {
			one := &NetRes{Purge: true}
			one.SetKind(r.Kind())
			one.SetName(name)
			if got, err := one.Read(ctx); !yield(got, err) || ctx.Err() != nil {
				return
			}
		}
	}
}
