package net

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/resources/internal/procfile"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/resources/internal/rtnet"
	"github.com/reactivegraph/mgmt/resources/internal/rules"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("net", func() engine.Res { return &Res{} })
}

var (
	_ engine.ClashingRes    = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ engine.ReversibleRes  = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.Listable       = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// States of a link.
const (
	Up   = "up"
	Down = "down"
)

// Res is a network interface of the running kernel: whether it is up, its addresses,
// and the routes by it.
type Res struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Reversible

	Interface string   `yaml:"interface" lang:"interface" mgmt:"identity" doc:"Name of the interface, which has to be there; the name if absent."`
	State     string   `yaml:"state" lang:"state" mgmt:"enum=up|down" doc:"Whether it is up; up if nothing is said."`
	MTU       int      `yaml:"mtu" lang:"mtu" mgmt:"min=0,max=65536" doc:"How many bytes a packet has at most; left as it is if absent."`
	Addrs     []string `yaml:"addrs" lang:"addrs" doc:"Addresses, each with the length of its network, as in 192.0.2.5/24. Left as they are if absent."`
	Gateway   string   `yaml:"gateway" lang:"gateway" doc:"Address of the gateway for everything without another route. Left as it is if absent."`
	Routes    []Route  `yaml:"routes" lang:"routes" doc:"Routes by this interface. Left as they are if absent."`
	IPForward *bool    `yaml:"ip_forward" lang:"ip_forward" doc:"Whether packets that come in by it and are for others are passed on. Left as it is if absent."`
	Purge     bool     `yaml:"purge" lang:"purge" mgmt:"param" doc:"Remove everything that a given list does not have: addresses, but for the link-local ones of the kernel, and routes that a person has made."`

	// init is of one life of the resource, from Init to Cleanup.
	init *engine.Init
	gone rtnet.State // addresses and routes that must not be there; see Reversed
}

// Route is a way to a network.
type Route struct {
	To     string `yaml:"to" lang:"to" mgmt:"required" doc:"The network, as in 198.51.100.0/24."`
	Via    string `yaml:"via" lang:"via" doc:"Address of the next machine; if absent, the network is reached directly."`
	Metric int    `yaml:"metric" lang:"metric" mgmt:"min=0" doc:"Of several routes the one with the lowest is taken."`
	OnLink bool   `yaml:"onlink" lang:"onlink" doc:"The next machine is at this link, though no address of the interface says so."`
}

// Default returns an interface that has the listed settings and nothing else.
func (r *Res) Default() engine.Res { return &Res{Purge: true} }

// link returns the name of the interface in the kernel.
func (r *Res) link() string {
	if r.Interface == "" {
		return r.Name()
	}
	return r.Interface
}

// up reports whether the interface is to be up, which it is unless the resource says otherwise.
func (r *Res) up() bool { return r.State != Down }

// Validate checks the parameters and how they go together.
func (r *Res) Validate() error {
	errs := []error{checkLink(r.link())}
	_, err := r.want()
	errs = append(errs, err)
	return errors.Join(append(errs, rules.Broken([]rules.Rule{
		{If: !slices.Contains([]string{"", Up, Down}, r.State), Text: fmt.Sprintf("state is %q, it must be up or down", r.State)},
		{If: r.MTU < 0 || r.MTU > 65536, Text: fmt.Sprintf("mtu is %d, it must be from 0 to 65536", r.MTU)},
		{If: !r.up() && (r.Gateway != "" || len(r.Routes) > 0), Text: "state is down: there are no routes by it then"},
		{If: received.AnyTainted(r.Recv()), Text: "a secret is received: everyone can see addresses and routes"},
	})...)...)
}

// checkLink refuses a text that the kernel does not take for the name of an interface.
func checkLink(name string) error {
	switch {
	// The kernel has room for IFNAMSIZ bytes, which is 16 with the zero byte at the end.
	case name == "" || name == "." || name == ".." || len(name) > 15:
		return fmt.Errorf("interface %.50q is no name of one: it has from 1 to 15 bytes", name)
	case strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || c == '/' || c == ':' }) || name[0] == '-':
		return fmt.Errorf("interface %q is no name of one: there is something else than letters, digits and . - _ in it", name)
	}
	return nil
}

// want returns the wanted state of the link. The error has all that is wrong.
func (r *Res) want() (w rtnet.State, err error) {
	var errs []error
	w.Up, w.MTU, w.Forward = r.up(), r.MTU, rtnet.Wanted(r.IPForward)
	for i, a := range r.Addrs {
		p, err := netip.ParsePrefix(a)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("addrs[%d]: %q is no address with a length, as 192.0.2.5/24", i, a))
		// An address of IPv4 in the form of IPv6 would be taken by the kernel, and be found under
		// no name that was given.
		case p.Addr().IsUnspecified() || p.Addr().IsMulticast() || p.Addr().Is4In6():
			errs = append(errs, fmt.Errorf("addrs[%d]: %s is no address that an interface can have", i, a))
		case slices.Contains(w.Addrs, p):
			errs = append(errs, fmt.Errorf("addrs[%d]: %s is there twice", i, a))
		default:
			w.Addrs = append(w.Addrs, p)
		}
	}
	add := func(what string, route rtnet.Route, err error) {
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		// The kernel would refuse a second one with a message about a file that exists.
		case slices.Contains(w.Routes, route):
			errs = append(errs, fmt.Errorf("%s is there twice", what))
		default:
			w.Routes = append(w.Routes, route)
		}
	}
	if r.Gateway != "" {
		route, err := rtnet.Default(r.Gateway)
		add("gateway", route, err)
	}
	for i, one := range r.Routes {
		route, err := rtnet.ParseRoute(one.To, one.Via, one.Metric, one.OnLink)
		add(fmt.Sprintf("routes[%d]", i), route, err)
	}
	return w, errors.Join(errs...)
}

// Init keeps the handle.
func (r *Res) Init(init *engine.Init) error {
	r.init = init
	return nil
}

// Cleanup has nothing to release.
func (*Res) Cleanup() error { return nil }

// Watch waits for the kernel's messages on links, addresses and routes. Where it tells more than
// can be heard, it is looked at, as always.
func (r *Res) Watch(ctx context.Context) error {
	socket, err := rtnet.Listen()
	if err != nil {
		return err
	}
	f, err := procfile.FollowFile(engine.ClockOf(r.init.Host), socket, rtnet.Take)
	if err != nil {
		return err
	}
	defer f.Close()
	r.init.Running()
	for {
		select {
		// A message says nothing that is used: it only wakes the resource, which then looks. So no
		// message can be misread or missed.
		case <-f.C():
			r.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

// Cmp compares the parameters.
func (r *Res) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// UIDs is the name of the interface, under which it is found whatever the resource is
// called.
func (r *Res) UIDs() []autoedge.UID {
	return []autoedge.UID{autoedge.NameUIDOf(r, "net", r.link())}
}

// AutoEdges wants nothing.
func (*Res) AutoEdges() (autoedge.Needs, error) { return nil, nil }

// Clashes says what two resources want differently of one interface.
func (r *Res) Clashes(other engine.Res) error {
	o, ok := other.(*Res)
	// A received address is known only when the graph runs, so two such resources can't be
	// compared here.
	if !ok || r.link() != o.link() || len(r.Recv())+len(o.Recv()) > 0 {
		return nil
	}
	switch {
	case r.up() != o.up():
		return errors.New("one wants it up, the other one down")
	case r.MTU != 0 && o.MTU != 0 && r.MTU != o.MTU:
		return errors.New("they want different sizes of packets")
	case r.IPForward != nil && o.IPForward != nil && *r.IPForward != *o.IPForward:
		return errors.New("one wants it to forward, the other one not")
	case len(r.Addrs) > 0 && len(o.Addrs) > 0 && (r.Purge || o.Purge) && !slices.Equal(r.Addrs, o.Addrs):
		return errors.New("one purges the addresses of the other one")
	case r.Gateway != "" && o.Gateway != "" && r.Gateway != o.Gateway:
		return errors.New("they want different gateways")
	}
	return nil
}

// Doc describes the kind.
func (*Res) Doc() string {
	return `A network interface of the running kernel: whether it is up, its addresses, and the routes by it.

    net:
    - name: eth1
      addrs: [192.0.2.5/24, "2001:db8::5/64"]
      gateway: 192.0.2.1
      routes:
      - {to: 198.51.100.0/24, via: 192.0.2.9}
      - {to: 203.0.113.0/24, via: 10.0.0.1, onlink: true}
    - name: eth2
      state: down

The interface has to be there. Absent parameters are left as they are. A given list is complete, unless ` + "`purge: false`" + ` says
that there may be more. Never removed are the address of the link that the kernel makes for IPv6, and routes that the kernel, a protocol or
DHCP has made.

The kernel tells of each change, which is repaired within milliseconds. Should it tell more than can be heard, nothing is lost: the present state counts, and not the messages. A route that another interface has already, with the same metric, is an error. Nothing is written down for the next boot. This program does that when it starts, or write the files of networkd or ifupdown, as resources of the kind ` + "`file`" + `.

` + "`ip_forward`" + ` is what net.ipv4.conf.NAME.forwarding and net.ipv6.conf.NAME.forwarding say: both are set, where the kernel has both. With IPv6 nothing is
passed on unless net.ipv6.conf.all.forwarding is 1 as well, which is of the kind ` + "`sysctl`" + `, and an interface that forwards takes no address and no route from
router advertisements any more. A write to net.ipv4.ip_forward sets it for all interfaces anew; that is repaired at
once.

With the metaparameter ` + "`reverse: true`" + ` the interface gets back the state, the size of packets, the addresses and the routes that it had, and forwards as it did, as far as they are given here. Later additions by others stay.`
}
