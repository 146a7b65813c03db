//go:build !mgmt_portable

package rtnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/sorted"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// On request the kernel gives its reasons for a refusal in words: the errors have them.
func init() { nl.EnableErrorMessageReporting = true }

// Look returns the present state of an interface. The lists are sorted.
func Look(name string) (State, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return State{}, missing(name, err)
	}
	s := State{Up: link.Attrs().Flags&net.FlagUp != 0, MTU: link.Attrs().MTU}
	if err := s.addresses(link); err != nil {
		return s, fmt.Errorf("addresses of %s: %w", name, err)
	}
	if s.Routes, err = routes(link); err != nil {
		return s, fmt.Errorf("routes by %s: %w", name, err)
	}
	if s.Forward, err = forwarding(name); err != nil {
		return s, err
	}
	return s, nil
}

func (s *State) addresses(link netlink.Link) error {
	addrs, err := dump(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return err
	}
	all, err := routeList(link, netlink.FAMILY_V4)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		p, ok := prefix(a.IPNet)
		if !ok || p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() {
			continue
		}
		s.Addrs = append(s.Addrs, p)
		led := slices.ContainsFunc(all, func(r netlink.Route) bool { to, ok := prefix(r.Dst); return ok && to == p.Masked() })
		if s.Up && leads(link, a) && !led {
			s.Bare = append(s.Bare, p)
		}
	}
	sorted.Func(s.Addrs, netip.Prefix.Compare)
	return nil
}

// dumpTries is how often a list is asked for at most, where all the time something changes.
const dumpTries = 20

// dump returns a list of the kernel as it was at one moment: the kernel gives a long one in parts,
// and says if something has changed between them. Then it is asked for anew. The last answer is
// taken as it is: the change is a reason to look again.
func dump[T any](list func() ([]T, error)) (all []T, err error) {
	for range dumpTries {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return all, nil
}

func routeList(link netlink.Link, family int) ([]netlink.Route, error) {
	return dump(func() ([]netlink.Route, error) { return netlink.RouteList(link, family) })
}

// leads reports whether the kernel makes a route in the main table with the address.
func leads(link netlink.Link, a netlink.Addr) bool {
	l := link.Attrs()
	ones, bits := a.Mask.Size()
	return bits == 32 && ones < 32 && l.MasterIndex == 0 && l.Flags&net.FlagLoopback == 0 &&
		a.Flags&unix.IFA_F_NOPREFIXROUTE == 0 && (a.Peer == nil || a.Peer.IP.Equal(a.IP))
}

func missing(name string, err error) error {
	if _, ok := errors.AsType[netlink.LinkNotFoundError](err); ok {
		return fmt.Errorf("there is no interface %s", name)
	}
	return fmt.Errorf("interface %s: %w", name, err)
}

// routes returns those that a person has made.
func routes(link netlink.Link) (list []Route, err error) {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		all, err := routeList(link, family)
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			if r.Type == unix.RTN_UNICAST && (r.Protocol == unix.RTPROT_BOOT || r.Protocol == unix.RTPROT_STATIC) {
				list = append(list, routeOf(r, family))
			}
		}
	}
	sorted.Func(list, func(a, b Route) int { return strings.Compare(a.String(), b.String()) })
	return list, nil
}

func routeOf(r netlink.Route, family int) Route {
	to, ok := prefix(r.Dst)
	if !ok {
		any := netip.IPv4Unspecified()
		if family == netlink.FAMILY_V6 {
			any = netip.IPv6Unspecified()
		}
		to = netip.PrefixFrom(any, 0)
	}
	via, _ := netip.AddrFromSlice(r.Gw)
	return Route{To: to, Via: via.Unmap(), Metric: r.Priority, OnLink: r.Flags&int(netlink.FLAG_ONLINK) != 0}
}

func prefix(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	a, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), bits), ok
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Apply alters an interface. Addresses are removed before others are added: with the first one of a
// network the kernel may take the others of it along, and the routes through it. Wanted ones come
// back.
func Apply(name string, want State, p Plan) error {
	has, err := Look(name)
	if err != nil {
		return err
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return missing(name, err)
	}
	if err := setLink(link, want, p); err != nil {
		return err
	}
	for _, r := range p.DelRoutes {
		if err := netlink.RouteDel(anyRoute(link, r)); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("route %s by %s: %w", r, name, err)
		}
	}
	for _, a := range p.DelAddrs {
		if err := netlink.AddrDel(link, &netlink.Addr{IPNet: ipNet(a)}); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("address %s of %s: %w", a, name, err)
		}
	}
	if len(p.DelAddrs) > 0 {
		want.Addrs = slices.Concat(want.Addrs, without(without(has.Addrs, p.DelAddrs), want.Addrs))
	}
	if len(p.DelAddrs) > 0 && want.Up {
		want.Routes = slices.Concat(want.Routes, without(without(has.Routes, p.DelRoutes), want.Routes))
	}
	return addAll(link, want)
}

func setLink(link netlink.Link, want State, p Plan) error {
	if p.MTU {
		if err := netlink.LinkSetMTU(link, want.MTU); err != nil {
			return fmt.Errorf("mtu %d of %s: %w", want.MTU, link.Attrs().Name, err)
		}
	}
	if p.Forward {
		if err := setForwarding(link.Attrs().Name, want.Forward); err != nil {
			return err
		}
	}
	if !p.State {
		return nil
	}
	set := netlink.LinkSetDown
	if want.Up {
		set = netlink.LinkSetUp
	}
	if err := set(link); err != nil {
		return fmt.Errorf("state of %s: %w", link.Attrs().Name, err)
	}
	return nil
}

// addAll adds all missing addresses and routes; more may be missing than before.
func addAll(link netlink.Link, want State) error {
	name := link.Attrs().Name
	for _, a := range want.Addrs {
		if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(a)}); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("address %s of %s: %w", a, name, err)
		}
	}
	has, err := routes(link)
	missing := without(want.Routes, has)
	// Routes to a direct network come first: the next machine of another route may be there.
	sorted.Stable(missing, func(a, b Route) int { return a.Via.Compare(b.Via) })
	for _, r := range missing {
		if rerr := netlink.RouteAdd(route(link, r)); rerr != nil && !errors.Is(rerr, unix.EEXIST) {
			err = errors.Join(err, fmt.Errorf("route %s by %s: %w", r, name, rerr))
		}
	}
	return err
}

func route(link netlink.Link, r Route) *netlink.Route {
	n := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(r.To), Priority: r.Metric, Protocol: unix.RTPROT_STATIC}
	if r.OnLink {
		n.Flags = int(netlink.FLAG_ONLINK)
	}
	if r.Via.IsValid() {
		n.Gw = r.Via.AsSlice()
	} else {
		n.Scope = netlink.SCOPE_LINK
	}
	return n
}

// anyRoute returns the key of such a route, independent of its maker.
func anyRoute(link netlink.Link, r Route) *netlink.Route {
	n := route(link, r)
	n.Protocol, n.Scope = unix.RTPROT_UNSPEC, netlink.SCOPE_NOWHERE
	return n
}

// Names returns all interfaces.
func Names() (names []string, err error) {
	links, err := dump(netlink.LinkList)
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	slices.Sort(names)
	return names, err
}

// groups are what the kernel tells of: links, addresses, routes, and who forwards.
const groups = 1<<(unix.RTNLGRP_LINK-1) | 1<<(unix.RTNLGRP_IPV4_IFADDR-1) | 1<<(unix.RTNLGRP_IPV6_IFADDR-1) |
	1<<(unix.RTNLGRP_IPV4_ROUTE-1) | 1<<(unix.RTNLGRP_IPV6_ROUTE-1) | 1<<(unix.RTNLGRP_IPV4_NETCONF-1) | 1<<(unix.RTNLGRP_IPV6_NETCONF-1)

// Listen returns a socket that is readable when the kernel tells of a change; Take reads the
// messages. The caller closes it.
func Listen() (*os.File, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("netlink: %w", err)
	}
	return os.NewFile(uintptr(fd), "netlink"), nil
}

// Take reads all that the kernel tells, to no other end than that it can tell more. An
// error is that too much was told, which is all the same, or that there is no more.
func Take(fd uintptr) {
	var buf [16 << 10]byte
	for {
		if _, _, err := unix.Recvfrom(int(fd), buf[:], 0); err != nil && !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
