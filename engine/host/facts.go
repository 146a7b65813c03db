package host

import (
	"bytes"
	"cmp"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// factFiles are the files and folders whose change may change a fact.
var factFiles = [...]string{
	"/etc/os-release", "/usr/lib/os-release", "/etc/hostname", "/etc/hosts", "/run/systemd/system", "/run/openrc", "/run/runit.stopit", "/run/runit/stopit",
}

// FactPaths returns the paths to watch for changes of the facts of this machine;
// see FactReader.Paths.
func FactPaths() []string { return slices.Clone(factFiles[:]) }

// machine has the facts of a machine that are in none of its files.
type machine struct {
	hostname  string
	addresses []netip.Addr
	cpus      int
	arch      string // in Go's words
	roles     []string
}

// ReadFacts reads the facts of the machine whose files are below a root, "/" for this one. A link
// that leads out of the root is not followed. A machine below another root has no addresses and no
// processors; its hostname is that of its /etc/hostname. name is the name that the user gives to the
// machine, empty for its own. roles are the user's own words for the machine's purposes.
func ReadFacts(root, name string, roles []string) (engine.Facts, error) {
	m := machine{arch: runtime.GOARCH, roles: roles}
	if root == "/" {
		hostname, err := os.Hostname()
		if err != nil {
			return engine.Facts{}, err
		}
		m.hostname, m.addresses, m.cpus = hostname, localAddresses(), processors()
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return engine.Facts{}, err
	}
	defer dir.Close()
	m.hostname = cmp.Or(name, m.hostname)
	return factsOf(files{dir}, m), nil
}

// files are those below a root.
type files struct{ root *os.Root }

// text reads the beginning of a plain file; nothing if it cannot be read. It never waits for the writer of a pipe.
func (f files) text(path string) string {
	file, err := f.root.OpenFile(strings.TrimPrefix(path, "/"), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	buf := make([]byte, 64<<10)
	n, _ := file.Read(buf)
	return string(bytes.TrimRight(buf[:n], "\x00\n\t "))
}

// first returns the text of the first file that has one.
func (f files) first(paths ...string) string {
	for _, p := range paths {
		if text := f.text(p); text != "" {
			return text
		}
	}
	return ""
}

func (f files) exists(path string) bool {
	_, err := f.root.Stat(strings.TrimPrefix(path, "/"))
	return err == nil
}

// link returns the last element of the target of a link.
func (f files) link(path string) string {
	target, err := f.root.Readlink(strings.TrimPrefix(path, "/"))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// factsOf puts the facts together.
func factsOf(f files, m machine) engine.Facts {
	out := engine.Facts{
		Hostname:      cmp.Or(m.hostname, f.text("/etc/hostname")),
		Addresses:     addresses(m.addresses),
		Kernel:        cmp.Or(f.text("/proc/sys/kernel/ostype"), "Linux"),
		KernelRelease: f.text("/proc/sys/kernel/osrelease"),
		Arch:          m.arch,
		SystemdBooted: f.exists("/run/systemd/system"),
		Virtual:       virtual(f),
		CPUs:          m.cpus,
		Memory:        memory(f.text("/proc/meminfo")),
		Roles:         words(m.roles),
	}
	out.Init = initSystem(f, out.SystemdBooted)
	out.FQDN = fqdn(out.Hostname, f.text("/etc/hosts"))
	d := distributionOf(parseOSRelease(f.first("/etc/os-release", "/usr/lib/os-release")))
	out.OS, out.OSFamily, out.OSRelease, out.OSMajorRelease, out.OSFinger = d.name, d.family, d.release, d.major, d.finger
	out.OSArch = packageArch(d.family, m.arch)
	return out
}

// words returns the words that are not empty, each once, in their order.
func words(all []string) (out []string) {
	for _, w := range all {
		if w = strings.TrimSpace(w); w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// addresses returns those that reach further than a link, as text.
func addresses(all []netip.Addr) []string {
	out := []string{}
	for _, a := range all {
		if a = a.Unmap().WithZone(""); a.IsGlobalUnicast() {
			out = append(out, a.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// memory reads MemTotal.
func memory(meminfo string) schema.Size {
	for line := range strings.Lines(meminfo) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return schema.Size(n * 1024)
			}
		}
	}
	return 0
}

// fqdn finds the name with a domain in /etc/hosts: on the first line that has the hostname the name that begins
// with it, else the first of that line, as a resolver says; and where no line has the hostname, the first name
// that begins with it.
func fqdn(hostname, hosts string) string {
	if strings.Contains(hostname, ".") || hostname == "" {
		return hostname
	}
	begins := func(name string) bool { return strings.HasPrefix(name, hostname+".") && name != hostname+"." }
	var anywhere, onLine string
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		names := strings.Fields(line)
		if len(names) < 2 {
			continue
		}
		names = names[1:]
		full := ""
		if i := slices.IndexFunc(names, begins); i >= 0 {
			full = names[i]
		}
		anywhere = cmp.Or(anywhere, full)
		if onLine == "" && slices.Contains(names, hostname) {
			onLine = full
			if full == "" && strings.Contains(names[0], ".") && !strings.HasPrefix(names[0], "localhost.") {
				onLine = names[0]
			}
		}
	}
	return strings.TrimSuffix(cmp.Or(onLine, anywhere, hostname), ".")
}

// packageArch returns the name that the packages of a family have for an architecture of Go.
func packageArch(family, arch string) string {
	if family == "Debian" {
		return cmp.Or(map[string]string{"386": "i386", "arm": "armhf", "ppc64le": "ppc64el", "mips64le": "mips64el"}[arch], arch)
	}
	return cmp.Or(map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "arm": "armv7l", "loong64": "loongarch64"}[arch], arch)
}

// initSystem names the first process. The files of a service manager tell more than the name of the process.
// /run/runit alone tells nothing: packages of Debian make it on machines without runit.
func initSystem(f files, systemd bool) string {
	switch {
	case systemd:
		return "systemd"
	case f.exists("/run/openrc/softlevel"):
		return "openrc"
	}
	comm := f.text("/proc/1/comm")
	switch {
	case comm == "runit" || comm == "runit-init" || comm == "runsvdir" || f.exists("/run/runit.stopit") || f.exists("/run/runit/stopit"):
		return "runit"
	case comm == "openrc-init":
		return "openrc"
	case comm == "s6-svscan":
		return "s6"
	case f.link("/proc/1/exe") == "busybox", f.link("/sbin/init") == "busybox" && comm == "init":
		return "busybox"
	case comm == "init" && f.exists("/etc/init.d"):
		return "sysv"
	}
	return "unknown"
}

// virtual says what the machine runs in. A container says so by itself; else the
// firmware tells who made the machine.
func virtual(f files) string {
	if c := f.text("/run/systemd/container"); c != "" {
		return c
	}
	if c := environ(f.text("/proc/1/environ"), "container"); c != "" {
		return c
	}
	for _, c := range []struct{ file, name string }{{"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}} {
		if f.exists(c.file) {
			return c.name
		}
	}
	if strings.Contains(strings.ToLower(f.text("/proc/sys/kernel/osrelease")), "microsoft") {
		return "wsl"
	}
	return hypervisor(f)
}

// makers are what the firmware of virtual machines says, in the order in which they
// are looked for.
var makers = []struct{ says, name string }{
	{"kvm", "kvm"}, {"openstack", "kvm"}, {"kubevirt", "kvm"}, {"amazon ec2", "amazon"}, {"qemu", "qemu"}, {"vmware", "vmware"},
	{"innotek", "oracle"}, {"virtualbox", "oracle"}, {"oracle", "oracle"}, {"xen", "xen"}, {"bochs", "bochs"}, {"parallels", "parallels"},
	{"bhyve", "bhyve"}, {"hyper-v", "microsoft"}, {"microsoft corporation virtual", "microsoft"}, {"google", "google"}, {"apple virtualization", "apple"},
}

func hypervisor(f files) string {
	if t := f.text("/sys/hypervisor/type"); t != "" {
		return t
	}
	const dmi = "/sys/class/dmi/id/"
	said := strings.ToLower(f.text(dmi+"sys_vendor") + " " + f.text(dmi+"product_name") + " " + f.text(dmi+"bios_vendor"))
	for _, m := range makers {
		if strings.Contains(said, m.says) {
			return m.name
		}
	}
	if slices.Contains(strings.Fields(firstLine(f.text("/proc/cpuinfo"), "flags")), "hypervisor") {
		return "vm"
	}
	return "physical"
}

// firstLine returns the text behind the colon of the first line of a key.
func firstLine(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return v
		}
	}
	return ""
}

// environ returns a variable of an environment as the kernel shows it.
func environ(text, name string) string {
	for v := range strings.SplitSeq(text, "\x00") {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
