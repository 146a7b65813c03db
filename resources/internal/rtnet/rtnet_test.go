package rtnet

import (
	"errors"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ownNet moves the goroutine of a test into a network namespace of its own, in which there
// is a link a0 and its other end a1. The thread ends with the goroutine.
func ownNet(t *testing.T) netlink.Link {
	t.Helper()
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_NEWNET)
	if errors.Is(err, unix.EPERM) && os.Getenv("CI") != "true" {
		t.Skip("no network namespace for this user")
	}
	must(t, err)
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "a0"}, PeerName: "a1"}))
	other, err := netlink.LinkByName("a1")
	must(t, err)
	must(t, netlink.LinkSetUp(other))
	link, err := netlink.LinkByName("a0")
	must(t, err)
	return link
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func aRoute(t fataler, to, via string, metric int, onLink bool) Route {
	t.Helper()
	r, err := ParseRoute(to, via, metric, onLink)
	must(t, err)
	return r
}

func some[T comparable](t *rapid.T, what string, all []T) []T {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, len(all), rapid.ID[T]).Draw(t, what)
}

// states draws what an interface may be like, its lists in the order of Look. The routes
// have no place in common.
func states(t *rapid.T, what string) State {
	s := State{Up: rapid.Bool().Draw(t, what+" up"), MTU: rapid.SampledFrom([]int{1300, 1500}).Draw(t, what+" mtu")}
	addrs := []string{"192.0.2.5/24", "192.0.2.6/24", "10.1.0.1/8", "2001:db8::5/64", "2001:db8::6/128"}
	for _, a := range append(some(t, what+" addresses", addrs), "192.0.2.7/32") { // without any there is no gateway
		s.Addrs = append(s.Addrs, netip.MustParsePrefix(a))
	}
	slices.SortFunc(s.Addrs, netip.Prefix.Compare)
	if !s.Up {
		return s
	}
	s.Routes = some(t, what+" routes", []Route{
		aRoute(t, "0.0.0.0/0", "198.18.0.1", 0, true), aRoute(t, "0.0.0.0/0", "198.18.0.2", 7, true),
		aRoute(t, "198.51.100.0/24", "", 0, false), aRoute(t, "203.0.113.0/24", "198.51.100.9", 0, true),
		aRoute(t, "2001:db8:1::/48", "2001:db8::9", 0, true), aRoute(t, "::/0", "2001:db8::9", 5, true),
	})
	slices.SortFunc(s.Routes, func(a, b Route) int { return strings.Compare(a.String(), b.String()) })
	return s
}

func all(Route) bool { return true }

func same(a, b State) bool {
	return a.Up == b.Up && a.MTU == b.MTU && slices.Equal(a.Addrs, b.Addrs) && slices.Equal(a.Routes, b.Routes) && len(a.Bare)+len(b.Bare) == 0
}

// What the kernel has after Apply is what was wanted, whatever it had.
func TestApply(t *testing.T) {
	ownNet(t)
	rapid.Check(t, func(t *rapid.T) {
		for _, what := range []string{"has", "want"} {
			want := states(t, what)
			has, err := Look("a0")
			must(t, err)
			p := Differ(has, want, true, all)
			must(t, Apply("a0", want, p))
			got, err := Look("a0")
			must(t, err)
			if !same(got, want) {
				t.Fatalf("of\n%v\nand %s it became\n%v\nand not\n%v", has, p, got, want)
			}
			if left := Differ(got, want, true, all); !left.Empty() || left.String() != "" {
				t.Fatalf("left is %s", left)
			}
		}
	})
}

// Without purge what is not listed stays, and Gone takes away what is named and not wanted.
func TestApplyLeavesOthers(t *testing.T) {
	ownNet(t)
	rapid.Check(t, func(t *rapid.T) {
		has, want, gone := states(t, "has"), states(t, "want"), states(t, "gone")
		has.Up, want.Up = true, true
		now, err := Look("a0")
		must(t, err)
		p := Differ(now, has, true, all)
		p.Gone(now, has, now)
		must(t, Apply("a0", has, p))
		p = Differ(has, want, false, nil)
		p.Gone(has, want, gone)
		must(t, Apply("a0", want, p))
		got, err := Look("a0")
		must(t, err)
		for _, a := range slices.Concat(has.Addrs, want.Addrs) {
			if there := slices.Contains(got.Addrs, a); there == (slices.Contains(gone.Addrs, a) && !slices.Contains(want.Addrs, a)) {
				t.Fatalf("%s is there: %t", a, there)
			}
		}
		for _, r := range slices.Concat(has.Routes, want.Routes) {
			if there := slices.Contains(got.Routes, r); there == (slices.Contains(gone.Routes, r) && !slices.Contains(want.Routes, r)) {
				t.Fatalf("%s is there: %t", r, there)
			}
		}
	})
}

// What the kernel refuses is an error that says what, and the rest is said by the next look.
func TestRefused(t *testing.T) {
	ownNet(t)
	route := func(to, via string) []Route { return []Route{aRoute(t, to, via, 0, false)} }
	for says, want := range map[string]State{ // what the kernel says stands in the errors
		"mtu 99999 of a0: ": {MTU: 99999},
		"route 10.0.0.0/8 via 192.0.2.1 by a0: network is unreachable: Nexthop has invalid gateway": {Up: true, Routes: route("10.0.0.0/8", "192.0.2.1")},
		"route 2001:db8:1::/48 via 2001:db8::9 by a0: ":                                             {Up: true, Routes: route("2001:db8:1::/48", "2001:db8::9")},
		"address ff02::1/64 of a0: ":                                                                {Addrs: []netip.Prefix{netip.MustParsePrefix("ff02::1/64")}},
	} {
		p := Plan{State: want.Up, MTU: want.MTU != 0}
		if err := Apply("a0", want, p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	if _, err := Look("a7"); err == nil || err.Error() != "there is no interface a7" {
		t.Error(err)
	}
	if err := Apply("a7", State{}, Plan{}); err == nil || err.Error() != "there is no interface a7" {
		t.Error(err)
	}
}

// beside calls f on a thread of its own in the namespace of the test, each time that
// something comes through the channel, until that is closed; then wait returns.
func beside(t *testing.T, f func() error) (now chan<- struct{}, wait func()) {
	t.Helper()
	ns, err := os.Open("/proc/thread-self/ns/net")
	must(t, err)
	calls, done := make(chan struct{}), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		for range calls {
			err = errors.Join(err, f())
		}
		done <- err
	}()
	return calls, func() { must(t, errors.Join(<-done, ns.Close())) }
}

// A list that changes while the kernel tells it is asked for anew.
func TestLookWhileItChanges(t *testing.T) {
	link := ownNet(t)
	for i := range 600 {
		a := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 32)
		must(t, netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(a)}))
	}
	more := &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix("10.2.0.1/32"))}
	now, wait := beside(t, func() error { return errors.Join(netlink.AddrAdd(link, more), netlink.AddrDel(link, more)) })
	for range 50 {
		now <- struct{}{}
		s, err := Look("a0")
		if n := len(s.Addrs); err != nil || n < 600 || n > 601 {
			t.Errorf("there are %d addresses, %v", n, err)
		}
	}
	close(now)
	wait()
}

// A list that changes all the time is taken as it is.
func TestDump(t *testing.T) {
	calls := 0
	list := func() ([]int, error) { calls++; return []int{calls}, netlink.ErrDumpInterrupted }
	if all, err := dump(list); err != nil || !slices.Equal(all, []int{dumpTries}) {
		t.Error(all, err)
	}
	calls = 0
	later := func() ([]int, error) {
		if all, err := list(); calls < 3 {
			return all, err
		}
		return []int{7}, nil
	}
	if all, err := dump(later); err != nil || !slices.Equal(all, []int{7}) {
		t.Error(all, err)
	}
	if _, err := dump(func() ([]int, error) { return nil, unix.EPERM }); !errors.Is(err, unix.EPERM) {
		t.Error(err)
	}
}

// However much is told, all of it can be taken, and what comes after is told.
func TestTake(t *testing.T) {
	link := ownNet(t)
	socket, err := Listen()
	must(t, err)
	defer socket.Close()
	raw, err := socket.SyscallConn()
	must(t, err)
	heard := func(f func(fd uintptr)) (err error) {
		t.Helper()
		must(t, raw.Control(func(fd uintptr) {
			f(fd)
			_, _, err = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK)
		}))
		return err
	}
	nothing := func(uintptr) {}
	for _, alter := range []func() error{
		func() error { return netlink.LinkSetUp(link) },
		func() error {
			return netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix("192.0.2.5/24"))})
		},
		func() error {
			return netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix("2001:db8::5/64"))})
		},
		func() error { return netlink.RouteAdd(route(link, aRoute(t, "198.18.0.0/15", "", 0, false))) },
		func() error { return netlink.RouteAdd(route(link, aRoute(t, "2001:db8:1::/48", "", 0, false))) },
		func() error { return netlink.LinkSetDown(link) },
	} {
		_ = heard(Take)
		must(t, alter())
		if err := heard(nothing); err != nil {
			t.Errorf("it is not told: %v", err)
		}
	}
	for _, look := range []bool{true, false} { // who looks has heard that some was lost
		for i := range 5000 {
			must(t, netlink.LinkSetMTU(link, 1300+i%2))
		}
		if look && !errors.Is(heard(nothing), unix.ENOBUFS) {
			t.Fatal("the kernel has told all of it")
		}
		left := 0 // what the kernel tells later of what was before, as of the other end
		must(t, raw.Control(func(fd uintptr) {
			Take(fd)
			for _, _, err := unix.Recvfrom(int(fd), make([]byte, 1), 0); err == nil; left++ {
				_, _, err = unix.Recvfrom(int(fd), make([]byte, 1), 0)
			}
		}))
		if left > 20 {
			t.Fatalf("%d are left", left)
		}
	}
	must(t, netlink.LinkSetMTU(link, 1400))
	if err := heard(nothing); err != nil {
		t.Errorf("what comes after is not told: %v", err)
	}
}
