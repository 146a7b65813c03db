//go:build !small

package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/nstest"
)

// atOnce is how many tests run at once. They wait most of the time, so more than one for each processor is good.
const atOnce = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", atOnce)
	}
	goleak.VerifyTestMain(m)
}

// version is a server that the tests run.
type version struct {
	name   string
	bin    func(*testing.T) string
	notify string // the flag for the time between bookmarks
	more   []string
}

// versions are the current server, and the one of Debian 12.
var versions = []version{
	{"current", current, "--watch-progress-notify-interval=100ms", []string{"--unsafe-no-fsync"}},
	{"debian", debian, "--experimental-watch-progress-notify-interval=100ms", nil},
}

// current is the server of the module in testdata. It is built at the first call on a machine, which takes minutes.
func current(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("make check builds the current etcd")
	}
	path, err := buildCurrent()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// buildCurrent builds it once for all tests: each go command of those that run at once would compile all of it.
var buildCurrent = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "tool", "-C", "testdata/server", "-n", "server")
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("the current etcd cannot be built: %w\n%s", err, failed.String())
	}
	return strings.TrimSpace(string(out)), nil
})

// debian is the etcd of the machine.
func debian(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("etcd")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal("CI has to have etcd-server: ", err)
	default:
		t.Skip("etcd is missing; on Debian: apt-get install etcd-server: ", err)
	}
	return path
}

// each runs a test with each version of the server, at once and beside other tests.
func each(t *testing.T, test func(*testing.T, version)) {
	t.Helper()
	t.Parallel()
	for _, v := range versions {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			test(t, v)
		})
	}
}

// member is one server process. It has a folder of its own, and keeps its addresses.
type member struct {
	t              *testing.T
	bin            string
	args           []string
	endpoint, peer string
	cmd            *exec.Cmd
	said           *os.File
}

// single starts one server that listens without encryption, and ends with the test.
func single(t *testing.T, v version, args ...string) *member {
	t.Helper()
	m := prepare(t, v, "m0", "http")
	m.args = append(append(m.args, "--initial-cluster=m0=http://"+m.peer), args...)
	m.start()
	m.await(etcd.Options{Endpoints: []string{m.endpoint}})
	return m
}

// prepare makes a member that is not started.
func prepare(t *testing.T, v version, name, scheme string) *member {
	t.Helper()
	m := &member{t: t, bin: v.bin(t), endpoint: nstest.FreeAddress(t), peer: nstest.FreeAddress(t)}
	m.args = append([]string{
		"--name=" + name, "--data-dir=" + filepath.Join(t.TempDir(), name), "--log-level=error", v.notify,
		"--heartbeat-interval=50", "--election-timeout=500", // so the shortest lease has one second
		"--listen-client-urls=" + scheme + "://" + m.endpoint, "--advertise-client-urls=" + scheme + "://" + m.endpoint,
		"--listen-peer-urls=http://" + m.peer, "--initial-advertise-peer-urls=http://" + m.peer,
	}, v.more...)
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	m.said = said
	t.Cleanup(func() {
		m.kill()
		if b, err := os.ReadFile(said.Name()); t.Failed() && err == nil {
			t.Logf("%s says:\n%s", name, b[max(0, len(b)-4000):])
		}
		_ = said.Close()
	})
	return m
}

// start starts the server, also after kill.
func (m *member) start() {
	m.t.Helper()
	m.cmd = exec.Command(m.bin, m.args...)
	m.cmd.Stdout, m.cmd.Stderr = m.said, m.said
	if runtime.GOARCH != "amd64" { // where an older server wants to be told that it may run
		m.cmd.Env = append(os.Environ(), "ETCD_UNSUPPORTED_ARCH="+runtime.GOARCH)
	}
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
}

// kill ends the process as a power loss would.
func (m *member) kill() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
	m.cmd = nil
}

// await waits until the servers of the options answer.
func (m *member) await(o etcd.Options) {
	m.t.Helper()
	w, err := etcd.Open(m.t.Context(), o)
	if err != nil {
		m.t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(m.t.Context(), await.Left())
	defer cancel()
	for {
		_, err := w.Get(ctx, "none")
		if errors.Is(err, world.ErrNotFound) {
			return
		}
		if !errors.Is(err, world.ErrUnavailable) {
			m.t.Fatalf("%s does not get ready: %v", m.endpoint, err)
		}
	}
}

// open opens a World that is closed with the test.
func open(t *testing.T, o etcd.Options) *etcd.World {
	t.Helper()
	w, err := etcd.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// plain is a client of etcd's own, for what a World does not do.
func plain(t *testing.T, c clientv3.Config) *clientv3.Client {
	t.Helper()
	c.Logger = zap.NewNop()
	cli, err := clientv3.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cli.Close() })
	return cli
}

// compact makes a store forget its history up to now.
func compact(t *testing.T, endpoint string) {
	t.Helper()
	cli := plain(t, clientv3.Config{Endpoints: []string{endpoint}})
	resp, err := cli.Get(t.Context(), "none")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cli.Compact(t.Context(), resp.Header.Revision); err != nil {
		t.Fatal(err)
	}
}

// put writes one key.
func put(t testing.TB, w world.World, key, value string) int64 {
	t.Helper()
	rev, ok, err := w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: []byte(value)}})
	if err != nil || !ok {
		t.Fatal(key, ok, err)
	}
	return rev
}

// until asks again as long as a store is on its way to an answer, for a minute: a call to a lost store takes seconds.
func until(t *testing.T, what string, ask func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(await.Left()); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = ask(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}
