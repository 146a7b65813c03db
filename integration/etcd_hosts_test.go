package integration_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/internal/await"
)

// fleet is three daemons on one etcd. Each exports a file to the next one, whose path only the next one writes.
type fleet struct {
	t       *testing.T
	program string
	etcd    *etcdServer
	hosts   []*etcdHost
}

// etcdHost is one daemon.
type etcdHost struct {
	f       *fleet
	i       int
	dir     string
	link    *hostLink
	version int    // of its export
	lasts   string // how long its export outlives it; empty for the default
	cmd     *exec.Cmd
	log     *safeBuffer // of all its lives
	client  *control.Client
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	dir, err := program()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, program: filepath.Join(dir, "mgmt"), etcd: startEtcd(t)}
	for i := range 3 {
		h := &etcdHost{f: f, i: i, dir: t.TempDir(), link: newLink(t, f.etcd.client), log: &safeBuffer{}}
		h.client = control.NewClient(filepath.Join(h.dir, "state", "mgmt.sock"))
		f.hosts = append(f.hosts, h)
	}
	t.Cleanup(func() {
		for _, h := range f.hosts {
			h.kill()
			if t.Failed() {
				text := h.log.String()
				t.Logf("%s says:\n%s", h.name(), text[max(0, len(text)-3000):])
			}
		}
	})
	for _, h := range f.hosts {
		h.export(1)
		h.start()
	}
	for _, h := range f.hosts {
		h.gets(1)
	}
	return f
}

func (h *etcdHost) name() string { return fmt.Sprint("h", h.i) }

// next is the host that collects the export of this one, and before is the one whose export this one collects.
func (h *etcdHost) next() *etcdHost   { return h.f.hosts[(h.i+1)%3] }
func (h *etcdHost) before() *etcdHost { return h.f.hosts[(h.i+2)%3] }

// received is the file that this host makes of the export of the one before it.
func (h *etcdHost) received() string { return filepath.Join(h.dir, "received") }

// export has the daemon export another content. The graph is replaced in one step.
func (h *etcdHost) export(version int) {
	h.f.t.Helper()
	h.version = version
	graph := fmt.Sprintf(`resources:
  file:
  - {name: %s, content: "v%d\n", meta: {export: ["*"], hidden: true, exportfor: %s}}
  - {name: %s, content: "own\n"}
collect:
- {kind: file, name: "*", from: %s}
`, h.next().received(), version, cmp.Or(h.lasts, "10m"), filepath.Join(h.dir, "own"), h.before().name())
	path := filepath.Join(h.dir, "g.yaml")
	err := os.WriteFile(path+".new", []byte(graph), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		h.f.t.Fatal(err)
	}
}

// start starts the daemon, also after kill.
func (h *etcdHost) start(more ...string) {
	h.f.t.Helper()
	args := append([]string{
		"run", filepath.Join(h.dir, "g.yaml"), "--prefix", filepath.Join(h.dir, "state"), "--hostname", h.name(),
		"--world", "etcd://" + h.link.l.Addr().String(), "--max-removals", "off", "--accept", "file",
	}, more...)
	h.cmd = exec.Command(h.f.program, args...)
	h.cmd.Stderr = h.log
	if err := h.cmd.Start(); err != nil {
		h.f.t.Fatal(err)
	}
}

// kill ends the daemon as a power loss would.
func (h *etcdHost) kill() {
	if h.cmd != nil {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
		h.cmd = nil
	}
}

// gets waits until this host has made a version of the export that it collects.
func (h *etcdHost) gets(version int) {
	h.f.t.Helper()
	want := fmt.Sprintf("v%d\n", version)
	if !await.Eventually(func() bool { text, _ := os.ReadFile(h.received()); return string(text) == want }) {
		text, err := os.ReadFile(h.received())
		h.f.t.Fatalf("%s has %q of %s, want %q (%v)", h.name(), text, h.before().name(), want, err)
	}
}

// says waits until the log has a text behind a place, which is returned for the next call.
func (h *etcdHost) says(from int, text string) int {
	h.f.t.Helper()
	if !await.Eventually(func() bool { return strings.Contains(h.log.String()[from:], text) }) {
		h.f.t.Fatalf("%s does not say %q", h.name(), text)
	}
	return len(h.log.String())
}

// steps are the versions that a host has put in the place of earlier ones, one after the other. Repairs are left out.
func (h *etcdHost) steps() (all []int) {
	for _, m := range regexp.MustCompile(`content: "v\d+\\n" -> "v(\d+)`).FindAllStringSubmatch(h.log.String(), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			h.f.t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// TestHostsOverEtcd: three daemons share one etcd. Whatever is killed, cut off, compacted or slow: nothing is lost, nothing
// happens twice, and no daemon is stuck.
func TestHostsOverEtcd(t *testing.T) {
	f := newFleet(t)
	t.Run("put", f.put)
	t.Run("killed", f.killed)
	t.Run("cut off", f.cutOff)
	t.Run("slow store", f.slowStore)
	t.Run("start without the store", f.startWithout)
	t.Run("dead host", f.deadHost)
	for _, h := range f.hosts {
		if steps := h.steps(); len(steps) < 10 || !slices.IsSorted(steps) || len(slices.Compact(slices.Clone(steps))) != len(steps) {
			t.Errorf("%s went back, or did something twice: %v", h.name(), steps)
		}
	}
}

// put: an object that is written over the API of one host changes a file on another one.
func (f *fleet) put(t *testing.T) {
	from, to := f.hosts[0], f.hosts[1]
	path := filepath.Join(to.dir, "object")
	var took []time.Duration
	for i := range 20 {
		method, target, want := http.MethodPut, "/v1/api/file", fmt.Sprint("value ", i)
		if i == 0 {
			method = http.MethodPost
		}
		body := fmt.Sprintf(`{"id": %q, "topic": "host:%s", "content": %q}`, path, to.name(), want)
		begin := time.Now()
		ask(t, from.client, method, target, body)
		if !await.Eventually(func() bool { text, _ := os.ReadFile(path); return string(text) == want }) {
			t.Fatalf("%s has not come to %s", want, to.name())
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	t.Logf("from the PUT on one host to the file on another one: %v at best, %v median, %v at worst", took[0], took[len(took)/2], took[len(took)-1])
}

// ask sends a change of an object to a daemon.
func ask(t *testing.T, c *control.Client, method, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://mgmt"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Transport().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		t.Fatal(method, path, resp.Status)
	}
}

// killed: each daemon in turn is killed right behind a change of its export, 50 times. Every last change comes through.
func (f *fleet) killed(t *testing.T) {
	for round := range 50 {
		h := f.hosts[round%3]
		h.export(h.version + 1)
		time.Sleep(time.Duration(round%7) * 5 * time.Millisecond) // so the kill meets it at other moments
		h.kill()
		h.start()
		h.next().gets(h.version)
	}
	for _, h := range f.hosts {
		h.gets(h.before().version)
	}
}

// cutOff: a host without the store goes on with its last state, says so, and catches up, though the store has forgotten what
// happened meanwhile.
func (f *fleet) cutOff(t *testing.T) {
	h := f.hosts[1]
	from := len(h.log.String())
	h.link.set(true)
	h.before().export(h.before().version + 1)
	h.export(h.version + 1)
	from = h.says(from, "the store is out of reach")
	if err := os.WriteFile(h.received(), []byte("drift"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.gets(h.before().version - 1)
	lost := func() bool {
		st, err := h.client.Status(t.Context(), control.StatusQuery{})
		return err == nil && st.StoreLost != nil && st.StoreLost.Error != "" && !st.StoreLost.Since.IsZero()
	}
	if !lost() {
		t.Error("the status does not tell of the lost store")
	}
	f.etcd.compact()
	h.link.set(false)
	h.gets(h.before().version)
	h.next().gets(h.version)
	h.says(from, "the store is back")
	if !await.Eventually(func() bool { return !lost() }) {
		t.Error("the status tells of a lost store that is back")
	}
}

// slowStore: a store that holds its connections and answers nothing stops no host. When it goes on, all catch up.
func (f *fleet) slowStore(t *testing.T) {
	if err := f.etcd.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	from := len(f.hosts[0].log.String())
	for _, h := range f.hosts {
		h.export(h.version + 1)
		if err := os.Remove(filepath.Join(h.dir, "own")); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range f.hosts {
		if !await.Eventually(func() bool { _, err := os.Stat(filepath.Join(h.dir, "own")); return err == nil }) {
			t.Errorf("%s is stuck", h.name())
		}
	}
	f.hosts[0].says(from, "the store is out of reach")
	if err := f.etcd.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, h := range f.hosts {
		h.gets(h.before().version)
	}
}

// startWithout: a host that starts without the store has its own graph, the exports and the objects that it had last. It
// catches up when the store is there.
func (f *fleet) startWithout(t *testing.T) {
	h := f.hosts[1]
	object := filepath.Join(h.dir, "object")
	h.kill()
	h.link.set(true)
	f.hosts[0].export(f.hosts[0].version + 1)
	for _, path := range []string{object, h.received(), filepath.Join(h.dir, "own")} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	h.start()
	h.gets(h.before().version - 1)
	for _, path := range []string{object, filepath.Join(h.dir, "own")} {
		if !await.Eventually(func() bool { _, err := os.Stat(path); return err == nil }) {
			t.Errorf("%s is not there without the store", path)
		}
	}
	h.link.set(false)
	h.gets(h.before().version)
}

// deadHost: the exports of a host that has died vanish after their time, and those of the others stay.
func (f *fleet) deadHost(t *testing.T) {
	h := f.hosts[2]
	h.kill()
	h.start("--lease", "2s")
	id := "file[" + h.next().received() + "]"
	has := func() bool {
		names, err := h.next().client.Names(context.Background(), id)
		return err == nil && slices.Contains(names.Resources, id)
	}
	h.lasts = "2s"
	h.export(h.version + 1)
	h.next().gets(h.version)
	if !has() {
		t.Fatal(h.next().name(), "has no", id)
	}
	h.kill()
	if !await.Eventually(func() bool { return !has() }) {
		t.Errorf("%s still has %s", h.next().name(), id)
	}
	h.before().export(h.before().version + 1) // which h would collect; the other pair goes on
	f.hosts[0].export(f.hosts[0].version + 1)
	f.hosts[1].gets(f.hosts[0].version)
}
