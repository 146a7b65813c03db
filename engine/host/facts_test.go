package host

import (
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
)

// TestDistributions: the facts that an os-release file gives, in the form in which
// distributions write theirs.
func TestDistributions(t *testing.T) {
	for _, c := range []struct {
		text                        string
		os, family, release, finger string
		major                       int
	}{
		{"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian", "Debian", "Debian", "12", "Debian-12", 12},
		{"NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_CODENAME=sid", "Debian", "Debian", "rolling", "Debian", 0},
		{"NAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nID=ubuntu\nID_LIKE=debian", "Ubuntu", "Debian", "24.04", "Ubuntu-24.04", 24},
		{"NAME=\"Linux Mint\"\nVERSION_ID=\"21.3\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"", "Mint", "Debian", "21.3", "Mint-21", 21},
		{"NAME=\"Raspbian GNU/Linux\"\nVERSION_ID=\"11\"\nID=raspbian\nID_LIKE=debian", "Raspbian", "Debian", "11", "Raspbian-11", 11},
		{"NAME=\"Devuan GNU/Linux\"\nVERSION_ID=\"5\"\nID=devuan\nID_LIKE=debian", "Devuan", "Debian", "5", "Devuan-5", 5},
		{"NAME=\"Fedora Linux\"\nVERSION_ID=41\nID=fedora", "Fedora", "RedHat", "41", "Fedora-41", 41},
		{"NAME=\"Red Hat Enterprise Linux\"\nVERSION_ID=\"9.4\"\nID=\"rhel\"\nID_LIKE=\"fedora\"", "RedHat", "RedHat", "9.4", "RedHat-9", 9},
		{"NAME=\"CentOS Linux\"\nVERSION_ID=\"7\"\nID=\"centos\"\nID_LIKE=\"rhel fedora\"", "CentOS", "RedHat", "7", "CentOS-7", 7},
		{"NAME=\"Rocky Linux\"\nVERSION_ID=\"9.3\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", "Rocky", "RedHat", "9.3", "Rocky-9", 9},
		{"NAME=\"AlmaLinux\"\nVERSION_ID=\"8.9\"\nID=\"almalinux\"", "AlmaLinux", "RedHat", "8.9", "AlmaLinux-8", 8},
		{"NAME=\"Oracle Linux Server\"\nVERSION_ID=\"8.10\"\nID=\"ol\"\nID_LIKE=\"fedora\"", "OEL", "RedHat", "8.10", "OEL-8", 8},
		{"NAME=\"Amazon Linux\"\nVERSION_ID=\"2023\"\nID=\"amzn\"\nID_LIKE=\"fedora\"", "Amazon", "RedHat", "2023", "Amazon-2023", 2023},
		{"NAME=\"Amazon Linux\"\nVERSION_ID=\"2\"\nID=\"amzn\"\nID_LIKE=\"centos rhel fedora\"", "Amazon", "RedHat", "2", "Amazon-2", 2},
		{"NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.20.3", "Alpine", "Alpine", "3.20.3", "Alpine-3", 3},
		{"NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling", "Arch", "Arch", "rolling", "Arch", 0},
		{"NAME=\"Manjaro Linux\"\nID=manjaro\nID_LIKE=arch", "Manjaro", "Arch", "rolling", "Manjaro", 0},
		{"NAME=\"openSUSE Leap\"\nVERSION_ID=\"15.6\"\nID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"", "SUSE", "Suse", "15.6", "SUSE-15", 15},
		{"NAME=\"openSUSE Tumbleweed\"\nVERSION_ID=\"20261101\"\nID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"", "SUSE", "Suse", "20261101", "SUSE", 20261101},
		{"NAME=\"SLES\"\nVERSION_ID=\"15.5\"\nID=\"sles\"\nID_LIKE=\"suse\"", "SUSE", "Suse", "15.5", "SUSE-15", 15},
		{"NAME=Gentoo\nID=gentoo\nVERSION_ID=\"2.17\"", "Gentoo", "Gentoo", "2.17", "Gentoo-2", 2},
		{"NAME=\"Void\"\nID=\"void\"", "Void", "Void", "rolling", "Void", 0},
		{"NAME=NixOS\nID=nixos\nVERSION_ID=\"24.05\"", "NixOS", "NixOS", "24.05", "NixOS-24", 24},
		// Relatives of what we know, and what has none.
		{"NAME=\"Nobara Linux\"\nVERSION_ID=39\nID=nobara\nID_LIKE=\"strange fedora\"", "Nobara Linux", "RedHat", "39", "Nobara Linux-39", 39},
		{"NAME='Zorin OS'\nVERSION_ID=\"17\"\nID=zorin\nID_LIKE=\"ubuntu debian\"", "Zorin OS", "Debian", "17", "Zorin OS-17", 17},
		{"NAME=Weird\nID=weird\nVERSION_ID=x", "Weird", "Weird", "x", "Weird", 0},
		{"ID=only", "only", "only", "rolling", "only", 0},
		{"", "", "", "", "", 0},
		{"garbage\n=\n#ID=debian\n\x00", "", "", "", "", 0},
	} {
		d := distributionOf(parseOSRelease(c.text))
		if want := (distribution{c.os, c.family, c.release, c.major, c.finger}); d != want {
			t.Errorf("%q:\n%+v, want\n%+v", c.text, d, want)
		}
	}
}

func TestParseOSRelease(t *testing.T) {
	got := parseOSRelease("A=1\n  B='x \\ \"y'\r\nC=\"a\\\"b\\\\c\\$d\"\nA=2\nD=\nE=\"\n")
	want := map[string]string{"A": "2", "B": `x \ "y`, "C": `a"b\c$d`, "D": "", "E": `"`}
	if !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		distributionOf(parseOSRelease(rapid.String().Draw(t, "text")))
	})
}

// rootWith makes files below a root: a path that ends in / is a folder, a text that
// begins with -> a link.
func rootWith(t *testing.T, content map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range content {
		full := filepath.Join(root, path)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		target, isLink := strings.CutPrefix(text, "->")
		switch {
		case err != nil:
		case strings.HasSuffix(path, "/"):
			err = os.MkdirAll(full, 0o755)
		case isLink:
			err = os.Symlink(target, full)
		default:
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestFactsOfRoots: the facts that files below a root give.
func TestFactsOfRoots(t *testing.T) {
	for _, c := range []struct {
		name    string
		content map[string]string
		want    map[string]any
	}{
		{"nothing", nil, map[string]any{"os": "", "init": "unknown", "virtual": "physical", "hostname": "", "fqdn": "", "memory": int64(0), "systemd_booted": false}},
		{"systemd", map[string]string{"run/systemd/system/": "", "proc/1/comm": "systemd\n"}, map[string]any{"init": "systemd", "systemd_booted": true}},
		{"installed, not booted", map[string]string{"proc/1/comm": "tini\n", "lib/systemd/systemd": "x"}, map[string]any{"init": "unknown", "systemd_booted": false}},
		{"openrc", map[string]string{"run/openrc/softlevel": "default", "proc/1/comm": "init\n", "sbin/init": "->/bin/busybox"}, map[string]any{"init": "openrc"}},
		{"sysv", map[string]string{"proc/1/comm": "init\n", "etc/init.d/": ""}, map[string]any{"init": "sysv"}},
		{"an init that we do not know", map[string]string{"proc/1/comm": "init\n"}, map[string]any{"init": "unknown"}},
		{"runit", map[string]string{"proc/1/comm": "runit\n"}, map[string]any{"init": "runit"}},
		{"runit of Debian", map[string]string{"proc/1/comm": "init\n", "run/runit.stopit": ""}, map[string]any{"init": "runit"}},
		{"runit of Void", map[string]string{"proc/1/comm": "x\n", "run/runit/stopit": ""}, map[string]any{"init": "runit"}},
		{"runit in a container", map[string]string{"proc/1/comm": "runsvdir\n"}, map[string]any{"init": "runit"}},
		{"a package that would also serve runit", map[string]string{"proc/1/comm": "init\n", "etc/init.d/": "", "run/runit/supervise/ssh/": ""}, map[string]any{"init": "sysv"}},
		{"busybox", map[string]string{"proc/1/comm": "init\n", "etc/init.d/": "", "sbin/init": "->/bin/busybox"}, map[string]any{"init": "busybox"}},
		{"s6", map[string]string{"proc/1/comm": "s6-svscan\n"}, map[string]any{"init": "s6"}},
		{"nspawn", map[string]string{"run/systemd/container": "systemd-nspawn\n"}, map[string]any{"virtual": "systemd-nspawn"}},
		{"lxc", map[string]string{"proc/1/environ": "A=1\x00container=lxc\x00B=2\x00"}, map[string]any{"virtual": "lxc"}},
		{"docker", map[string]string{".dockerenv": ""}, map[string]any{"virtual": "docker"}},
		{"podman", map[string]string{"run/.containerenv": ""}, map[string]any{"virtual": "podman"}},
		{"wsl", map[string]string{"proc/sys/kernel/osrelease": "5.15.0-microsoft-standard-WSL2\n"}, map[string]any{"virtual": "wsl", "kernelrelease": "5.15.0-microsoft-standard-WSL2"}},
		{"kvm", map[string]string{"sys/class/dmi/id/product_name": "KVM\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"}, map[string]any{"virtual": "kvm"}},
		{"virtualbox", map[string]string{"sys/class/dmi/id/product_name": "VirtualBox\n", "sys/class/dmi/id/sys_vendor": "innotek GmbH\n"}, map[string]any{"virtual": "oracle"}},
		{"a machine of flags", map[string]string{"proc/cpuinfo": "model name\t: x\nflags\t\t: fpu vme hypervisor lm\n"}, map[string]any{"virtual": "vm"}},
		{"metal", map[string]string{"sys/class/dmi/id/sys_vendor": "Lenovo\n", "proc/cpuinfo": "flags: fpu lm\n"}, map[string]any{"virtual": "physical"}},
		{"os-release elsewhere", map[string]string{"usr/lib/os-release": "ID=debian\nVERSION_ID=12"}, map[string]any{"os": "Debian", "osmajorrelease": int64(12)}},
		{"os-release by a link", map[string]string{"usr/lib/os-release": "ID=alpine\nVERSION_ID=3.20.1", "etc/os-release": "->../usr/lib/os-release"}, map[string]any{"os": "Alpine"}},
		{"a link that leads out", map[string]string{"etc/os-release": "->/etc/os-release"}, map[string]any{"os": ""}},
		{"names", map[string]string{"etc/hostname": "web1\n", "etc/hosts": "127.0.0.1 localhost\n# 1.1.1.1 web1.wrong\n10.0.0.1 web1.example.org web1\n10.0.0.2 web12 web1x.example.org\n"}, map[string]any{"hostname": "web1", "fqdn": "web1.example.org"}},
		{"the line of the name counts", map[string]string{"etc/hostname": "web", "etc/hosts": "10.0.0.9 web.other.org\n127.0.1.1 web.mine.org web\n"}, map[string]any{"fqdn": "web.mine.org"}},
		{"another name of the machine", map[string]string{"etc/hostname": "app", "etc/hosts": "127.0.0.1 localhost.localdomain localhost app\n10.0.0.5 web1.example.org web1 app\n"}, map[string]any{"fqdn": "web1.example.org"}},
		{"no line of its own", map[string]string{"etc/hostname": "web", "etc/hosts": "10.0.0.9 web.mine.org.\n"}, map[string]any{"fqdn": "web.mine.org"}},
		{"no domain", map[string]string{"etc/hostname": "web1", "etc/hosts": "10.0.0.2 web10.example.org\n127.0.1.1 web1\n"}, map[string]any{"fqdn": "web1"}},
		{"memory", map[string]string{"proc/meminfo": "MemFree: 1 kB\nMemTotal:       16384000 kB\nSwapTotal: 2 kB\n"}, map[string]any{"memory": int64(16384000 * 1024)}},
		{"a folder where a file should be", map[string]string{"etc/os-release/": "", "proc/meminfo/": "", "proc/1/comm/": ""}, map[string]any{"os": "", "memory": int64(0), "init": "unknown"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := ReadFacts(rootWith(t, c.content), "", []string{"web"})
			if err != nil {
				t.Fatal(err)
			}
			m := f.Map()
			for key, want := range c.want {
				if !reflect.DeepEqual(m[key], want) {
					t.Errorf("%s is %#v, want %#v", key, m[key], want)
				}
			}
			if !reflect.DeepEqual(m["roles"], []any{"web"}) {
				t.Errorf("roles %v", m["roles"])
			}
		})
	}
	if _, err := ReadFacts(filepath.Join(t.TempDir(), "none"), "", nil); err == nil {
		t.Error("a root that is not there has facts")
	}
}

func TestAddresses(t *testing.T) {
	var all []netip.Addr
	for _, a := range []string{"127.0.0.1", "::1", "fe80::1%eth0", "169.254.1.1", "10.0.0.2", "192.168.1.5", "2001:db8::1", "10.0.0.2", "::ffff:10.0.0.9"} {
		all = append(all, netip.MustParseAddr(a))
	}
	if got, want := addresses(all), []string{"10.0.0.2", "10.0.0.9", "192.168.1.5", "2001:db8::1"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestPackageArch(t *testing.T) {
	for _, c := range [][3]string{{"Debian", "amd64", "amd64"}, {"Debian", "arm", "armhf"}, {"RedHat", "amd64", "x86_64"}, {"Alpine", "arm64", "aarch64"}, {"Arch", "riscv64", "riscv64"}} {
		if got := packageArch(c[0], c[1]); got != c[2] {
			t.Errorf("%v: %s", c, got)
		}
	}
}

// TestFactsOfThisMachine: what every machine has.
func TestFactsOfThisMachine(t *testing.T) {
	f, err := ReadFacts("/", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", f)
	if f.Hostname == "" || f.Kernel == "" || f.CPUs < 1 || f.Memory <= 0 || f.OSArch == "" || f.Init == "" || f.Virtual == "" {
		t.Errorf("something is missing: %+v", f)
	}
}

// TestFactReader: facts are read again when, and only when, something has changed
// that they come from; and whoever watches that is woken.
func TestFactReader(t *testing.T) {
	root := rootWith(t, map[string]string{"etc/os-release": "ID=debian\nVERSION_ID=12\n", "proc/meminfo": "MemTotal: 1 kB\n"})
	put := func(path, text string) {
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := &FactReader{Root: root, Roles: []string{"web", "", " web", "web"}}
	h, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	sub, err := h.Watch(t.Context(), r.Paths(), events.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	first := r.Facts()
	first.Roles[0] = "spoiled"
	put("proc/meminfo", "MemTotal: 2 kB\n")
	if f := r.Facts(); f.OS != "Debian" || !slices.Equal(f.Roles, []string{"web"}) || f.Memory != 1024 {
		t.Errorf("nothing has changed that counts: %+v", f)
	}
	put("etc/os-release", "ID=alpine\nVERSION_ID=3.20.1\n")
	<-sub.C()
	if f := r.Facts(); f.OS != "Alpine" || f.OSFinger != "Alpine-3" || f.Memory != 2048 {
		t.Errorf("after a change: %+v", f)
	}
	if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	for r.Facts().Init != "systemd" { // the wake-up of the write before may still come
		<-sub.C()
	}
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if f := r.Facts(); f.OS != "Alpine" {
		t.Errorf("they cannot be read, and are forgotten: %+v", f)
	}
}

// TestFactsOfANamedMachine: the name that the user gives counts in the fact hostname, and finds the domain in /etc/hosts. All else is
// that of the machine, and is followed.
func TestFactsOfANamedMachine(t *testing.T) {
	files := map[string]string{"etc/hostname": "box\n", "etc/hosts": "192.0.2.1 box.example.org box\n192.0.2.2 w2.example.com w2\n", "etc/os-release": "ID=debian\nVERSION_ID=12\n"}
	root := rootWith(t, files)
	r := &FactReader{Root: root, Hostname: "w2"}
	if f := r.Facts(); f.Hostname != "w2" || f.FQDN != "w2.example.com" || f.OS != "Debian" {
		t.Errorf("%+v", f)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/os-release"), []byte("ID=alpine\nVERSION_ID=3.20.1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if f := r.Facts(); f.Hostname != "w2" || f.OS != "Alpine" {
		t.Errorf("after a change: %+v", f)
	}
	if f := (&FactReader{Root: root}).Facts(); f.Hostname != "box" || f.FQDN != "box.example.org" {
		t.Errorf("without a name: %+v", f)
	}
	h, err := New(t.Context(), Options{Hostname: "w2"})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if got := h.Facts().Hostname; got != "w2" {
		t.Errorf("the host has the name %s", got)
	}
}

func TestHasProgram(t *testing.T) {
	for name, want := range map[string]bool{"sh": true, "there is no such program": false} {
		if HasProgram(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func BenchmarkReadFacts(b *testing.B) {
	for b.Loop() {
		if _, err := ReadFacts("/", "", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFactsProcessors: what this process may use is told as it is now, and not as it was at its start.
func TestFactsProcessors(t *testing.T) {
	var was, one unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &was); err != nil {
		t.Fatal(err)
	}
	r := &FactReader{}
	if f := r.Facts(); f.CPUs != was.Count() || f.Memory <= 0 {
		t.Fatalf("%d processors, %d bytes", f.CPUs, f.Memory)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if was.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(os.Getpid(), &one); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(os.Getpid(), &was)
	if f := r.Facts(); f.CPUs != 1 {
		t.Errorf("%d processors, and it may use one", f.CPUs)
	}
}

// TestFactsNeverWait: a pipe or a device in the place of a file holds up nothing, and tells nothing.
func TestFactsNeverWait(t *testing.T) {
	root := rootWith(t, map[string]string{"etc/hostname": "web\n"})
	for _, path := range []string{"etc/os-release", "etc/hosts", "proc/meminfo", "run/systemd/container"} {
		full := filepath.Join(root, path)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, unix.Mkfifo(full, 0o644))
	}
	held, err := os.OpenFile(filepath.Join(root, "etc/hosts"), os.O_RDWR, 0) // a writer that says nothing
	must(t, err)
	defer held.Close()
	done := make(chan engine.Facts, 1)
	go func() {
		f, _ := ReadFacts(root, "", nil)
		done <- f
	}()
	select {
	case f := <-done:
		if f.Hostname != "web" || f.FQDN != "web" || f.OS != "" || f.Memory != 0 || f.Virtual != "physical" {
			t.Errorf("%+v", f)
		}
	case <-time.After(patience):
		t.Error("the facts wait for a writer")
		for _, path := range []string{"etc/os-release", "proc/meminfo", "run/systemd/container"} {
			if f, err := os.OpenFile(filepath.Join(root, path), os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
				f.Close()
			}
		}
	}
}

// TestMakersOfMachines: the firmware tells what runs the machine, and the more exact word counts.
func TestMakersOfMachines(t *testing.T) {
	for said, want := range map[[3]string]string{
		{"QEMU", "Standard PC (Q35 + ICH9, 2009)", "SeaBIOS"}:                        "qemu",
		{"Red Hat", "KVM", "SeaBIOS"}:                                                "kvm",
		{"OpenStack Foundation", "OpenStack Nova", ""}:                               "kvm",
		{"Amazon EC2", "t3.micro", "Amazon EC2"}:                                     "amazon",
		{"VMware, Inc.", "VMware Virtual Platform", "Phoenix Technologies LTD"}:      "vmware",
		{"Microsoft Corporation", "Virtual Machine", "American Megatrends Inc."}:     "microsoft",
		{"Microsoft Corporation", "Surface Laptop", "Microsoft Corporation"}:         "physical",
		{"Google", "Google Compute Engine", "Google"}:                                "google",
		{"Parallels International GmbH.", "Parallels Virtual Platform", "Parallels"}: "parallels",
		{"Xen", "HVM domU", "Xen"}:                                                   "xen",
		{"FreeBSD", "BHYVE", "BHYVE"}:                                                "bhyve",
		{"Apple Inc.", "Apple Virtualization Generic Platform", "Apple Inc."}:        "apple",
		{"Dell Inc.", "PowerEdge R650", "Dell Inc."}:                                 "physical",
	} {
		const dmi = "sys/class/dmi/id/"
		root := rootWith(t, map[string]string{dmi + "sys_vendor": said[0] + "\n", dmi + "product_name": said[1] + "\n", dmi + "bios_vendor": said[2] + "\n"})
		if f, err := ReadFacts(root, "", nil); err != nil || f.Virtual != want {
			t.Errorf("%q is %s, want %s: %v", said, f.Virtual, want, err)
		}
	}
	root := rootWith(t, map[string]string{"sys/hypervisor/type": "xen\n", "sys/class/dmi/id/sys_vendor": "Amazon EC2\n"})
	if f, err := ReadFacts(root, "", nil); err != nil || f.Virtual != "xen" {
		t.Errorf("what the kernel says is %s: %v", f.Virtual, err)
	}
}

// TestWordsAndNames: roles are in the order of the user and each once, a line of another form has no figure, and a name with a domain stays as it is.
func TestWordsAndNames(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  map[string]any
	}{
		{map[string]string{"proc/meminfo": "SwapTotal: 7 kB\nMemTotal: x kB\n"}, map[string]any{"memory": int64(0)}},
		{map[string]string{"proc/meminfo": "MemTotal: 7\nMemTotal: 5 kB\n"}, map[string]any{"memory": int64(5 * 1024)}},
		{map[string]string{"etc/hostname": "web.mine.org\n", "etc/hosts": "10.0.0.1 web.mine.org.other.org web.mine.org\n"}, map[string]any{"hostname": "web.mine.org", "fqdn": "web.mine.org"}},
		{map[string]string{"etc/hosts": "10.0.0.1 .example.org\n"}, map[string]any{"hostname": "", "fqdn": ""}},
		{map[string]string{"etc/hostname": "web\n", "etc/hosts": "10.0.0.1 web.\n10.0.0.2 web.mine.org\n"}, map[string]any{"fqdn": "web.mine.org"}},
	} {
		f, err := ReadFacts(rootWith(t, c.files), "", []string{"web", "db", " web", "", "a b"})
		must(t, err)
		m := f.Map()
		for key, want := range c.want {
			if !reflect.DeepEqual(m[key], want) {
				t.Errorf("%q: %s is %#v, want %#v", c.files, key, m[key], want)
			}
		}
		if !slices.Equal(f.Roles, []string{"web", "db", "a b"}) {
			t.Errorf("the roles are %q", f.Roles)
		}
	}
}
