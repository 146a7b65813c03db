package host

import (
	"net"
	"net/netip"
	"os"
	"runtime"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// processors is how many this process may use now. That of the runtime is as it was when the process began.
func processors() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return runtime.NumCPU()
	}
	return set.Count()
}

// totalMemory tells another size of the memory from this one; 0 where it is not known.
func totalMemory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}

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
