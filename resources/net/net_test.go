package net

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/rtnet"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

// TestBug28_CancelledWatchesEnd: the Watch returns as soon as its context ends.
//
// Seen failing with: net.go, Watch: ctx.Done answered by a break out of the select alone.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	kindtest.WatchEnds(t, "net", &Res{Interface: "lo"}, nil)
}

// layLinks makes two links that are tied together, a0 and a1, where there are no others.
func layLinks(t *testing.T, _ string) {
	t.Helper()
	if old, err := netlink.LinkByName("a0"); err == nil {
		kindtest.Must(t, netlink.LinkDel(old))
	}
	kindtest.Must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "a0"}, PeerName: "a1"}))
	other, err := netlink.LinkByName("a1")
	kindtest.Must(t, err)
	kindtest.Must(t, netlink.LinkSetUp(other))
	forward(t, "0")
}

// forward has a0 forward or not: a new link does as the machine that the test runs on.
func forward(t *testing.T, value string) {
	t.Helper()
	for _, family := range []string{"ipv4", "ipv6"} {
		if err := os.WriteFile("/proc/sys/net/"+family+"/conf/a0/forwarding", []byte(value), 0); !errors.Is(err, fs.ErrNotExist) {
			kindtest.Must(t, err)
		}
	}
}

func link(t *testing.T) netlink.Link {
	t.Helper()
	l, err := netlink.LinkByName("a0")
	kindtest.Must(t, err)
	return l
}

func addr(t *testing.T, text string) *netlink.Addr {
	t.Helper()
	a, err := netlink.ParseAddr(text)
	kindtest.Must(t, err)
	return a
}

func route(t *testing.T, to, via string) *netlink.Route {
	t.Helper()
	_, dst, err := net.ParseCIDR(to)
	kindtest.Must(t, err)
	return &netlink.Route{LinkIndex: link(t).Attrs().Index, Dst: dst, Gw: net.ParseIP(via), Protocol: unix.RTPROT_STATIC}
}

// by is the same route as somebody else makes it.
func by(protocol int, r *netlink.Route) *netlink.Route {
	r.Protocol = netlink.RouteProtocol(protocol)
	return r
}

func res() *Res {
	return &Res{
		Interface: "a0", State: Up, MTU: 1400, Addrs: []string{"192.0.2.5/24", "10.1.0.1/32"}, Gateway: "192.0.2.1",
		Routes: []Route{{To: "198.51.100.0/24", Via: "192.0.2.9"}, {To: "203.0.113.0/24", Metric: 7}}, Purge: true,
		IPForward: new(true),
	}
}

func TestNetSuite(t *testing.T) {
	if !kindtest.InNamespaces(t, unix.CLONE_NEWNET) {
		return
	}
	enginetest.Run(t, enginetest.Suite{
		Kind: "net", Prepare: layLinks,
		New: func(*testing.T, string) engine.Res { return res() },
		Snapshot: func(t testing.TB, dir string) enginetest.Tree {
			s, err := rtnet.Look("a0")
			if err != nil {
				t.Fatal(err)
			}
			return enginetest.Tree{"a0": fmt.Sprint(s.MTU, " ", describe(s), s.Bare, s.Forward)}
		},
		Drifts: map[string]func(*testing.T, string){
			"down":       func(t *testing.T, _ string) { kindtest.Must(t, netlink.LinkSetDown(link(t))) },
			"mtu":        func(t *testing.T, _ string) { kindtest.Must(t, netlink.LinkSetMTU(link(t), 1300)) },
			"no address": func(t *testing.T, _ string) { kindtest.Must(t, netlink.AddrDel(link(t), addr(t, "192.0.2.5/24"))) },
			"one more":   func(t *testing.T, _ string) { kindtest.Must(t, netlink.AddrAdd(link(t), addr(t, "192.0.2.6/24"))) },
			"one of six": func(t *testing.T, _ string) { kindtest.Must(t, netlink.AddrAdd(link(t), addr(t, "2001:db8::5/64"))) },
			"no route": func(t *testing.T, _ string) {
				kindtest.Must(t, netlink.RouteDel(route(t, "198.51.100.0/24", "192.0.2.9")))
			},
			"a route": func(t *testing.T, _ string) {
				kindtest.Must(t, netlink.RouteAdd(route(t, "198.18.0.0/15", "192.0.2.9")))
			},
			"gateway": func(t *testing.T, _ string) {
				kindtest.Must(t, netlink.RouteReplace(route(t, "0.0.0.0/0", "192.0.2.77")))
			},
			"forwards": func(t *testing.T, _ string) {
				kindtest.Must(t, os.WriteFile("/proc/sys/net/ipv4/conf/a0/forwarding", []byte("0"), 0))
			},
			"all forward": func(t *testing.T, _ string) {
				kindtest.Must(t, os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0))
				kindtest.Must(t, os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0"), 0))
			},
			"no way to the network": func(t *testing.T, _ string) {
				_, dst, err := net.ParseCIDR("192.0.2.0/24")
				kindtest.Must(t, err)
				kindtest.Must(t, netlink.RouteDel(&netlink.Route{LinkIndex: link(t).Attrs().Index, Dst: dst, Scope: netlink.SCOPE_LINK}))
			},
			"another's": func(t *testing.T, _ string) {
				kindtest.Must(t, netlink.RouteReplace(by(unix.RTPROT_BOOT, route(t, "0.0.0.0/0", "192.0.2.77"))))
			},
			"another's, of any scope": func(t *testing.T, _ string) {
				kindtest.Must(t, netlink.RouteAdd(by(unix.RTPROT_BOOT, route(t, "198.18.0.0/15", ""))))
			},
			"another's, direct": func(t *testing.T, _ string) {
				direct := by(unix.RTPROT_BOOT, route(t, "198.18.0.0/15", ""))
				direct.Scope = netlink.SCOPE_LINK
				kindtest.Must(t, netlink.RouteAdd(direct))
			},
		},
		Variants: map[string]func(engine.Res){
			"down":     func(r engine.Res) { r.(*Res).State, r.(*Res).Gateway, r.(*Res).Routes = Down, "", nil },
			"forwards": func(r engine.Res) { r.(*Res).IPForward = new(false) },
			"other":    func(r engine.Res) { r.(*Res).Addrs[0] = "192.0.2.4/24" },
		},
	})
}

func describe(s rtnet.State) string {
	var words []string
	for _, a := range s.Addrs {
		words = append(words, a.String())
	}
	for _, r := range s.Routes {
		words = append(words, r.String())
	}
	return strings.Join(append(words, map[bool]string{true: "up", false: "down"}[s.Up]), ", ")
}

// TestNetReversed: what the resource may have altered is as it was, and what others have
// added since stays.
func TestNetReversed(t *testing.T) {
	if !kindtest.InNamespaces(t, unix.CLONE_NEWNET) {
		return
	}
	for name, c := range map[string]struct {
		r          *Res
		was, since func()
		want       string
	}{
		"from nothing": {res(), func() { kindtest.Must(t, netlink.LinkSetDown(link(t))) }, func() {}, "1500 down"},
		"up":           {res(), func() {}, func() {}, "1500 up"},
		"other addresses": {res(), func() {
			kindtest.Must(t, errors.Join(netlink.AddrAdd(link(t), addr(t, "192.0.2.4/24")), netlink.AddrAdd(link(t), addr(t, "192.0.2.5/24"))))
		}, func() {}, "1500 192.0.2.4/24, 192.0.2.5/24, up"},
		"another gateway": {res(), func() {
			kindtest.Must(t, errors.Join(netlink.AddrAdd(link(t), addr(t, "192.0.2.4/24")), netlink.RouteAdd(route(t, "0.0.0.0/0", "192.0.2.7")), netlink.RouteAdd(route(t, "198.18.0.0/15", "192.0.2.7"))))
		}, func() {}, "1500 192.0.2.4/24, 198.18.0.0/15 via 192.0.2.7, default via 192.0.2.7, up"},
		"down, and more since": {res(), func() { kindtest.Must(t, netlink.LinkSetDown(link(t))) }, func() {
			kindtest.Must(t, netlink.RouteAdd(route(t, "198.18.0.0/15", "192.0.2.7")))
		}, "1500 down"},
		"more since": {&Res{Addrs: []string{"192.0.2.5/24"}, Gateway: "192.0.2.1"}, func() {}, func() {
			kindtest.Must(t, errors.Join(netlink.AddrAdd(link(t), addr(t, "192.0.2.6/24")), netlink.RouteAdd(route(t, "198.18.0.0/15", "192.0.2.7")), netlink.LinkSetMTU(link(t), 1300)))
		}, "1300 192.0.2.6/24, 198.18.0.0/15 via 192.0.2.7, up"},
	} {
		t.Run(name, func(t *testing.T) {
			layLinks(t, "")
			kindtest.Must(t, netlink.LinkSetUp(link(t)))
			c.was()
			c.r.SetName("a0")
			f := kindtest.Begin(t, "net", c.r)
			before, err := c.r.Read(t.Context())
			kindtest.Must(t, err)
			kindtest.Verbs(t, f, c.r, true)
			c.since()
			undo, err := c.r.Reversed(before)
			kindtest.Must(t, err)
			uf := kindtest.Begin(t, "net", undo)
			if got := kindtest.Verbs(t, uf, undo, false); got == "" || got != kindtest.Verbs(t, uf, undo, true) {
				t.Errorf("looking says %q", got)
			}
			kindtest.Want(t, uf, undo, "")
			s, err := rtnet.Look("a0")
			kindtest.Must(t, err)
			if got := fmt.Sprint(s.MTU, " ", describe(s)); got != c.want || s.Forward.On {
				t.Errorf("it is %s\nand not %s, and forwards: %v", got, c.want, s.Forward)
			}
		})
	}
	if _, err := res().Reversed(nil); err == nil {
		t.Error("it goes back to what is not known")
	}
}

// TestNetRoutes: routes whose next machine no address reaches, and those that are in the
// way.
func TestNetRoutes(t *testing.T) {
	if !kindtest.InNamespaces(t, unix.CLONE_NEWNET) {
		return
	}
	layLinks(t, "")
	r := &Res{Addrs: []string{"192.0.2.5/32"}, Gateway: "10.9.9.9", Routes: []Route{
		{To: "198.51.100.0/24", Via: "10.8.8.8", OnLink: true},
		{To: "10.9.9.0/24"}, // through which the gateway is reached
		{To: "2001:db8:1::/48", Via: "2001:db8::9", OnLink: true},
	}}
	r.SetName("a0")
	f := kindtest.Begin(t, "net", r)
	if got := kindtest.Verbs(t, f, r, true); strings.HasPrefix(got, "error") {
		t.Fatal(got)
	}
	kindtest.Want(t, f, r, "")
	s, err := rtnet.Look("a0")
	kindtest.Must(t, err)
	const all = "192.0.2.5/32, 10.9.9.0/24, 198.51.100.0/24 via 10.8.8.8 onlink, 2001:db8:1::/48 via 2001:db8::9 onlink, default via 10.9.9.9, up"
	if got := describe(s); got != all {
		t.Errorf("it is %s", got)
	}

	// One that is in the place of ours goes, though nothing is purged, and one beside it stays.
	second := route(t, "0.0.0.0/0", "10.9.9.7")
	second.Priority = 9
	kindtest.Must(t, netlink.RouteAdd(second))
	kindtest.Want(t, f, r, "")
	kindtest.Must(t, netlink.RouteReplace(by(unix.RTPROT_BOOT, route(t, "0.0.0.0/0", "10.9.9.8"))))
	kindtest.Want(t, f, r, `gateway: "default via 10.9.9.8" -> "default via 10.9.9.9"`)
	kindtest.Want(t, f, r, "")

	kindtest.Must(t, netlink.RouteDel(second))

	// Another interface keeps its own, and that is said.
	kindtest.Must(t, netlink.RouteDel(route(t, "0.0.0.0/0", "10.9.9.9")))
	other, err := netlink.LinkByName("a1")
	kindtest.Must(t, err)
	kindtest.Must(t, netlink.AddrAdd(other, addr(t, "10.7.7.1/24")))
	theirs := route(t, "0.0.0.0/0", "10.7.7.7")
	theirs.LinkIndex = other.Attrs().Index
	kindtest.Must(t, netlink.RouteAdd(theirs))
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "missing are the routes [default via 10.9.9.9], which another interface may have") {
		t.Errorf("it says %s", got)
	}
	if s, err := rtnet.Look("a1"); err != nil || describe(s) != "10.7.7.1/24, default via 10.7.7.7, up" {
		t.Errorf("the other one is %s, %v", describe(s), err)
	}
}

func TestNetParameters(t *testing.T) {
	if !kindtest.InNamespaces(t, unix.CLONE_NEWNET) {
		return
	}
	for name, c := range map[string]struct {
		r          *Res
		says, want string
	}{
		"up only":  {&Res{Purge: true}, `state: "down" -> "up"`, "192.0.2.4/24, 192.0.2.8/24, up"},
		"down":     {&Res{State: Down}, "", "192.0.2.4/24, 192.0.2.8/24, down"},
		"one less": {&Res{State: Down, Addrs: []string{"192.0.2.8/24"}, Purge: true}, `addrs: "192.0.2.4/24" -> (none)`, "192.0.2.8/24, down"},
		"more": {&Res{State: Down, Addrs: []string{"2001:db8::1/64"}}, `addrs: (none) -> "2001:db8::1/64"`,
			"192.0.2.4/24, 192.0.2.8/24, 2001:db8::1/64, down"},
		"forwards":         {&Res{State: Down, IPForward: new(true)}, "ip_forward: false -> true", "192.0.2.4/24, 192.0.2.8/24, down"},
		"does not forward": {&Res{State: Down, IPForward: new(false)}, "", "192.0.2.4/24, 192.0.2.8/24, down"},
		"gateways": {
			&Res{Addrs: []string{"192.0.2.8/24", "2001:db8::1/64"}, Gateway: "2001:db8::2", Routes: []Route{{To: "198.51.100.0/24", Via: "192.0.2.1"}}},
			`state: "down" -> "up" addrs: (none) -> "2001:db8::1/64" gateway: (none) -> "default via 2001:db8::2" routes: (none) -> "198.51.100.0/24 via 192.0.2.1"`,
			"192.0.2.4/24, 192.0.2.8/24, 2001:db8::1/64, 198.51.100.0/24 via 192.0.2.1, default via 2001:db8::2, up",
		},
	} {
		t.Run(name, func(t *testing.T) {
			layLinks(t, "")
			kindtest.Must(t, errors.Join(netlink.AddrAdd(link(t), addr(t, "192.0.2.4/24")), netlink.AddrAdd(link(t), addr(t, "192.0.2.8/24"))))
			c.r.SetName("a0")
			f := kindtest.Begin(t, "net", c.r)
			kindtest.Want(t, f, c.r, c.says)
			s, err := rtnet.Look("a0")
			kindtest.Must(t, err)
			if got := describe(s); got != c.want {
				t.Errorf("it is %s\nand not %s", got, c.want)
			}
			kindtest.Want(t, f, c.r, "")
		})
	}
}

// TestNetForwardsOneFamily: an interface that forwards IPv4 alone, as after net.ipv4.ip_forward=1, is read as
// one of which that is left as it is, since nobody can ask for it.
func TestNetForwardsOneFamily(t *testing.T) {
	if !kindtest.InNamespaces(t, unix.CLONE_NEWNET) {
		return
	}
	layLinks(t, "")
	if _, err := os.Stat("/proc/sys/net/ipv6/conf/a0/forwarding"); err != nil {
		t.Skip("this kernel has one family")
	}
	for value, want := range map[string]string{"0": "false", "1": "none"} {
		kindtest.Must(t, os.WriteFile("/proc/sys/net/ipv4/conf/a0/forwarding", []byte(value), 0))
		r := &Res{Interface: "a0"}
		kindtest.Begin(t, "net", r)
		read, err := r.Read(t.Context())
		kindtest.Must(t, err)
		got := "none"
		if on := read.(*Res).IPForward; on != nil {
			got = fmt.Sprint(*on)
		}
		if got != want {
			t.Errorf("with IPv4 at %s ip_forward is read as %s, want %s", value, got, want)
		}
	}
}

// deafSocket is as that of a Watch, and nobody reads it.
func deafSocket(t *testing.T) syscall.RawConn {
	t.Helper()
	socket, err := rtnet.Listen()
	kindtest.Must(t, err)
	t.Cleanup(func() { kindtest.Must(t, socket.Close()) })
	raw, err := socket.SyscallConn()
	kindtest.Must(t, err)
	return raw
}

// recv returns what reading says after f.
func recv(t *testing.T, raw syscall.RawConn, f func(fd uintptr)) (err error) {
	t.Helper()
	kindtest.Must(t, raw.Control(func(fd uintptr) {
		f(fd)
		_, _, err = unix.Recvfrom(int(fd), make([]byte, 1), 0)
	}))
	return err
}

// TestNetOverflow: however much is told at once, the Watch goes on, and hears of what
// comes after.
func TestNetOverflow(t *testing.T) {
	if !kindtest.InNamespaces(t, unix.CLONE_NEWNET) {
		return
	}
	layLinks(t, "")
	r := res()
	f := kindtest.Begin(t, "net", r)
	if got := kindtest.Verbs(t, f, r, true); strings.HasPrefix(got, "error") {
		t.Fatal(got)
	}
	kindtest.Watching(t, f, r)
	lost, taken := deafSocket(t), deafSocket(t)
	lo, err := netlink.LinkByName("lo")
	kindtest.Must(t, err)
	for range 5000 {
		kindtest.Must(t, netlink.LinkSetMTU(lo, 1300))
		kindtest.Must(t, netlink.LinkSetMTU(lo, 1301))
	}
	if err := recv(t, lost, func(uintptr) {}); !errors.Is(err, unix.ENOBUFS) {
		t.Errorf("the kernel has told all of it: %v", err)
	}
	if err := recv(t, taken, rtnet.Take); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("something is left: %v", err)
	}
	kindtest.Must(t, netlink.LinkSetDown(link(t)))
	f.WaitEvent(t)
	kindtest.Verbs(t, f, r, true)
	kindtest.Want(t, f, r, "")
}

// TestNetGone: an interface that is not there is an error, and its coming is an event.
func TestNetGone(t *testing.T) {
	if !kindtest.InNamespaces(t, unix.CLONE_NEWNET) {
		return
	}
	r := &Res{Interface: "a0"}
	f := kindtest.Begin(t, "net", r)
	kindtest.Watching(t, f, r)
	if got := kindtest.Verbs(t, f, r, true); got != "error: there is no interface a0" {
		t.Errorf("it says %s", got)
	}
	layLinks(t, "")
	f.WaitEvent(t)
	kindtest.Want(t, f, r, `state: "down" -> "up"`)
	r.Gateway = "192.0.2.1" // which no address reaches
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "error: route default via 192.0.2.1 by a0: ") {
		t.Errorf("it says %s", got)
	}
	var names []string
	for one, err := range r.List(context.Background()) {
		kindtest.Must(t, err)
		names = append(names, one.Name()+" "+one.(*Res).State)
	}
	if !slices.Equal(names, []string{"a0 up", "a1 up", "lo down"}) {
		t.Errorf("there are %v", names)
	}
}

func TestNetValidate(t *testing.T) {
	for says, r := range map[string]*Res{
		"from 1 to 15 bytes":                    {Interface: strings.Repeat("a", 16)},
		"`../x`":                                {Interface: "../x"},
		"`-o`":                                  {Interface: "-o"},
		"`a\\nb`":                               {Interface: "a\nb"},
		"no address with a length":              {Addrs: []string{"192.0.2.5"}},
		"addrs[1]: 192.0.2.5/24 is there twice": {Addrs: []string{"192.0.2.5/24", "192.0.2.5/24"}},
		"that an interface can have":            {Addrs: []string{"224.0.0.1/4"}},
		"gateway: \"x\" is no address":          {Gateway: "x"},
		"gateway: 0.0.0.0 is no address":        {Gateway: "0.0.0.0"},
		"address in the network 10.0.0.0/8":     {Routes: []Route{{To: "10.1.0.0/8"}}},
		"different families":                    {Routes: []Route{{To: "10.0.0.0/8", Via: "2001:db8::1"}}},
		"routes[1] is there twice":              {Routes: []Route{{To: "10.0.0.0/8"}, {To: "10.0.0.0/8"}}},
		"routes[0] is there twice":              {Gateway: "192.0.2.1", Routes: []Route{{To: "0.0.0.0/0", Via: "192.0.2.1"}}},
		"no routes by it":                       {State: Down, Gateway: "192.0.2.1"},
		"it must be up or down":                 {State: "sideways"},
		"mtu is -1":                             {MTU: -1},
		"onlink is about the address via":       {Routes: []Route{{To: "10.0.0.0/8", OnLink: true}}},
		"negative":                              {Routes: []Route{{To: "10.0.0.0/8", Metric: -1}}},
		"addrs[1]: \"y\"":                       {Addrs: []string{"x", "y"}},
	} {
		if r.Interface == "" {
			r.Interface = "eth0"
		}
		says = strings.ReplaceAll(says, "`", `"`)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	p := netip.MustParsePrefix("0.0.0.0/0")
	if r, err := rtnet.Default("192.0.2.1"); err != nil || r.To != p || !r.IsDefault() {
		t.Errorf("%v, %v", r, err)
	}
}
