package hosts

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/internal/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMachines boots two machines at a time: what one does, nobody else sees, neither the
// other one nor this machine.
func TestMachines(t *testing.T) {
	tree := Base(t)
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := tree.Boot(t, name)
			if got := h.Get("/proc/sys/kernel/hostname"); got != name+"\n" {
				t.Errorf("hostname %q", got)
			}
			if h.Holds("test -e /etc/only") {
				t.Error("it sees the file of another one")
			}
			if links := strings.Fields(h.Run("ip", "-o", "-br", "link")); links[0] != "lo" || strings.Contains(strings.Join(links[1:], " "), "@") {
				t.Errorf("links %q", links)
			}
			h.Put("/etc/only", name)
			h.Reboot()
			if got := h.Get("/etc/only"); got != name {
				t.Errorf("after a reboot there is %q", got)
			}
			if got := h.Run("journalctl", "--list-boots", "-q", "--no-pager"); strings.Count(got, "\n") != 2 {
				t.Errorf("boots:\n%s", got)
			}
			h.Stop()
			if _, err := h.Try("true"); err == nil {
				t.Error("a stopped machine runs commands")
			}
		})
	}
}

// TestNothingIsLeft: this machine has, after a machine has ended, what it had before.
func TestNothingIsLeft(t *testing.T) {
	tree := Base(t)
	before := traces(t)
	t.Run("machine", func(t *testing.T) {
		h := tree.Boot(t, "gone")
		h.Sh("hostname other; ip link add v type veth; mount -t tmpfs tmpfs /mnt; touch /usr/bin/x; rm /etc/debian_version")
		if got := traces(t); got[0] != before[0] || got[1] != before[1] || got[2] != before[2] {
			t.Errorf("this machine had %q and has %q", before, got)
		}
	})
	if after := traces(t); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("this machine had %q and has %q", before, after)
	}
	if _, err := os.Stat(filepath.Join(tree.dir, "usr/bin/x")); err == nil {
		t.Error("a machine has written to the tree")
	}
}

// traces says what a machine could leave: the name of this one, its mounts, its links, and
// the control groups of this process.
func traces(t *testing.T) []string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	found := []string{name, string(mounts), strconv.Itoa(len(links))}
	parents, err := ownCgroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, parent := range parents {
		groups, err := filepath.Glob(filepath.Join(parent, cgroupPrefix+strconv.Itoa(os.Getpid())+"-*"))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, groups...)
	}
	return found
}

// TestKilled: the machine of a test that is killed ends, and the next machine's test
// removes its control groups.
func TestKilled(t *testing.T) {
	tree := Base(t)
	if os.Getenv("MGMT_HOSTS_CHILD") != "" {
		h := tree.Boot(t, "child")
		_, _ = os.Stdout.WriteString("\nbooted " + strconv.Itoa(h.init) + "\n")
		<-h.ended
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	child.Env = append(os.Environ(), "MGMT_HOSTS_CHILD=1", "TMPDIR="+t.TempDir())
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	init := 0
	for lines := bufio.NewScanner(out); init == 0 && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "booted "); ok {
			init, _ = strconv.Atoi(text)
		}
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	if init == 0 {
		t.Fatal("it has not booted")
	}
	for end := time.Now().Add(await.Left()); syscall.Kill(init, 0) != syscall.ESRCH; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process 1 of its machine, %d, has not ended", init)
		}
	}
	parents, err := ownCgroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, parent := range parents {
		sweepCgroups(parent)
		if left, _ := filepath.Glob(filepath.Join(parent, cgroupPrefix+strconv.Itoa(child.Process.Pid)+"-*")); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// TestForward: a client of this machine reaches a server in the machine, also the one that comes
// after a crash. The machine keeps its files.
func TestForward(t *testing.T) {
	h := Base(t).Boot(t, "door")
	address := h.Forward(2300)
	serve := func() {
		h.Run("systemd-run", "--quiet", "--unit=server", "busybox", "nc", "-ll", "-p", "2300", "-e", "busybox", "cat", "/etc/served")
	}
	served := func(want string) func() bool {
		return func() bool {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(conn) // a server that is not there gives nothing
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			return string(text) == want
		}
	}
	h.Put("/etc/served", "one")
	serve()
	h.Eventually("it is served", await.Left(), served("one"))
	h.Crash()
	h.Eventually("the server is gone", await.Left(), served(""))
	h.Sh(`test "$(cat /etc/served)" = one; echo two >/etc/served`)
	serve()
	h.Eventually("another one serves", await.Left(), served("two\n"))
}

func TestSnapshot(t *testing.T) {
	h := Base(t).Boot(t, "snap")
	except := []string{"/var/log/journal"}
	before := h.Snapshot(except...)
	h.Sh("cat /etc/passwd; systemctl status cron; dpkg -l; touch /run/x")
	if diff := before.Diff(h.Snapshot(except...)); diff != "" {
		t.Errorf("looking leaves traces:\n%s", diff)
	}
	h.Sh("echo x >/etc/new; rm /etc/debian_version; chmod 0600 /etc/hosts; ln -s a /etc/link")
	diff := before.Diff(h.Snapshot(except...))
	for _, path := range []string{"/etc/new: ", "/etc/debian_version: ", "/etc/hosts: ", "/etc/link: "} {
		if !strings.Contains("\n"+diff, "\n"+path) {
			t.Errorf("%s is missing in\n%s", path, diff)
		}
	}
}

func TestRepository(t *testing.T) {
	h := Base(t).Boot(t, "packages")
	h.AddRepository(Repository(t,
		Package{Name: "tiny", Version: "1.0", Files: map[string]string{"/usr/share/tiny": "one"}},
		Package{Name: "tiny", Version: "2.0", Files: map[string]string{"/usr/share/tiny": "two"}},
		Package{Name: "more", Version: "1", Fields: []string{"Depends: tiny (>= 2)"}, Scripts: map[string]string{"postinst": "#!/bin/sh\ntouch /etc/more\n"}}))
	h.Sh("apt-get -qq install tiny=1.0; test $(cat /usr/share/tiny) = one; apt-get -qq install more; test $(cat /usr/share/tiny) = two; test -e /etc/more")
}

func TestCgroupMount(t *testing.T) {
	const mounts = `36 25 0:30 / /sys/fs/cgroup/systemd rw,relatime shared:9 - cgroup cgroup rw,xattr,name=systemd
37 25 0:31 / /sys/fs/cgroup/cpu rw shared:10 master:1 - cgroup cgroup rw,cpu,cpuacct
38 25 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate
`
	for controllers, want := range map[string]string{"name=systemd": "/sys/fs/cgroup/systemd", "": "/sys/fs/cgroup/unified", "cpuacct": "/sys/fs/cgroup/cpu", "pids": "", "cpua": ""} {
		if got, ok := cgroupMount(mounts, controllers); got != want || ok != (want != "") {
			t.Errorf("%q: %q", controllers, got)
		}
	}
}
