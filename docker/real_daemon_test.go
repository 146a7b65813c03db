package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// limit is how long anything may take, on a machine that has much else to do.
const limit = 3 * time.Minute

// realDaemon is a docker daemon of our own: in namespaces of its own, with all that it
// keeps in one folder, and a bridge that nobody else sees. It is ended with all that runs in
// it.
type realDaemon struct {
	*client.Client
	t      *testing.T
	dir    string // short, for the sockets in it
	parent string // of the control groups
	cmd    *exec.Cmd
}

// needs says what the machine lacks for it. In CI that is a failure.
func needs(t *testing.T) {
	t.Helper()
	var missing strings.Builder
	for _, program := range []string{"unshare", "dockerd", "containerd", "runc"} {
		if _, err := exec.LookPath(program); err != nil {
			missing.WriteString(" " + program)
		}
	}
	if os.Getuid() != 0 {
		missing.WriteString(" root")
	}
	switch {
	case missing.String() == "":
	case os.Getenv("CI") == "true":
		t.Fatalf("missing:%s (apt-get install docker.io)", missing.String())
	default:
		t.Skipf("missing:%s (as root on Debian: apt-get install docker.io)", missing.String())
	}
}

func startDaemon(t *testing.T) *realDaemon {
	t.Helper()
	needs(t)
	dir, err := os.MkdirTemp("", "mgmtd")
	if err != nil {
		t.Fatal(err)
	}
	d := &realDaemon{t: t, dir: dir, parent: filepath.Base(dir)}
	if err := os.WriteFile(d.path("config.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d.Client, err = client.New(client.WithHost(d.host())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.clear)
	d.start()
	return d
}

func (d *realDaemon) path(name string) string { return filepath.Join(d.dir, name) }

func (d *realDaemon) host() string { return "unix://" + d.path("sock") }

// start starts it, and waits until it answers.
func (d *realDaemon) start() {
	d.t.Helper()
	log, err := os.OpenFile(d.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	d.cmd = exec.Command("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
		"dockerd", "--config-file", d.path("config.json"), "--data-root", d.path("data"), "--exec-root", d.path("exec"),
		"--pidfile", d.path("pid"), "-H", d.host(), "--iptables=false", "--ip6tables=false", "--storage-driver", "vfs",
		"--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/"+d.parent)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.await("the daemon answers", func() bool {
		_, err := d.Ping(context.Background(), client.PingOptions{})
		return err == nil
	})
}

// kill ends it with all that runs in it, as a loss of power does.
func (d *realDaemon) kill() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Kill() // and so the first process of its namespace, and so all of them
	_ = d.cmd.Wait()
	d.cmd = nil
	_ = os.Remove(d.path("pid"))     // which names a process of the namespace that is gone
	_ = os.RemoveAll(d.path("exec")) // so do files in it, which a reboot removes
}

// clear leaves nothing behind.
func (d *realDaemon) clear() {
	if d.t.Failed() {
		if data, err := os.ReadFile(d.path("log")); err == nil {
			lines := strings.Split(string(data), "\n")
			d.t.Logf("the last lines of dockerd:\n%s", strings.Join(lines[max(0, len(lines)-30):], "\n"))
		}
	}
	d.kill()
	_ = d.Close()
	d.await("its folder can be removed", func() bool { return os.RemoveAll(d.dir) == nil })
	d.await("its control groups are gone", func() bool { return removeGroups(d.parent) })
}

// removeGroups removes the control groups below a name, in every hierarchy.
func removeGroups(name string) bool {
	roots, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
	if _, err := os.Stat("/sys/fs/cgroup/" + name); err == nil {
		roots = append(roots, "/sys/fs/cgroup/"+name)
	}
	gone := true
	for _, root := range roots {
		var dirs []string
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for i := len(dirs) - 1; i >= 0; i-- {
			gone = os.Remove(dirs[i]) == nil && gone
		}
	}
	return gone
}

// await waits until it is so.
func (d *realDaemon) await(what string, so func() bool) {
	d.t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		if so() {
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// load makes an image of one program, without a network.
func (d *realDaemon) load(ref, program string, changes ...string) {
	d.t.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		d.t.Fatal(err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: "sleeper", Mode: 0o755, Size: int64(len(data))}); err != nil {
		d.t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		d.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		d.t.Fatal(err)
	}
	changes = append(changes, `ENTRYPOINT ["/sleeper"]`, `CMD ["run"]`, "ENV FROM=image", "LABEL of=image")
	r, err := d.ImageImport(d.t.Context(), client.ImageImportSource{Source: &archive, SourceName: "-"}, ref, client.ImageImportOptions{Changes: changes})
	if err != nil {
		d.t.Fatal(err)
	}
	defer r.Close()
	if _, err := new(bytes.Buffer).ReadFrom(r); err != nil {
		d.t.Fatal(err)
	}
}

// sleeper builds the program of the images.
func sleeper(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sleeper")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./testdata/sleeper")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}
