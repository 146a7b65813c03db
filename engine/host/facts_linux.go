package host

import (
	"net"
	"net/netip"
)

// localAddresses returns the addresses of all links; none where they cannot be read.
// It asks the kernel, and no network.
func localAddresses() (all []netip.Addr) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p.Addr())
		}
	}
	return all
}
