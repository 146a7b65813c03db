package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/nstest"
)

// etcdServer is one server of etcd in a folder of its own.
type etcdServer struct {
	t        *testing.T
	bin, dir string
	client   string // HOST:PORT
	peer     string
	scheme   string   // of client
	more     []string // arguments
	cmd      *exec.Cmd
}

// startEtcd starts a server that ends with the test: Debian's, or where the machine has none, the current one.
func startEtcd(t *testing.T) *etcdServer {
	t.Helper()
	s := newEtcd(t, "http")
	s.start()
	if !await.Eventually(func() bool { return s.ask("kv/range", `{"key":"AA=="}`) != nil }) {
		t.Fatal("etcd does not get ready")
	}
	return s
}

// newEtcd makes a server that the caller starts.
func newEtcd(t *testing.T, scheme string, more ...string) *etcdServer {
	t.Helper()
	bin, err := exec.LookPath("etcd")
	if err != nil && testing.Short() {
		t.Skip("etcd is missing, and is built by make check alone; on Debian: apt-get install etcd-server")
	}
	if err != nil {
		cmd := exec.Command("go", "tool", "-C", "../engine/world/etcd/testdata/server", "-n", "server")
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal("there is no etcd, and none can be built: ", err)
		}
		bin = strings.TrimSpace(string(out))
	}
	s := &etcdServer{t: t, bin: bin, dir: t.TempDir(), client: nstest.FreeAddress(t), peer: nstest.FreeAddress(t), scheme: scheme, more: more}
	t.Cleanup(s.kill)
	return s
}

// start starts the server, also after kill.
func (s *etcdServer) start() {
	s.t.Helper()
	url := s.scheme + "://" + s.client
	s.cmd = exec.Command(s.bin, append([]string{
		"--name=m", "--data-dir=" + filepath.Join(s.dir, "data"), "--log-level=error",
		"--heartbeat-interval=50", "--election-timeout=500", // so the shortest lease has one second
		"--listen-client-urls=" + url, "--advertise-client-urls=" + url,
		"--listen-peer-urls=http://" + s.peer, "--initial-advertise-peer-urls=http://" + s.peer, "--initial-cluster=m=http://" + s.peer,
	}, s.more...)...)
	if runtime.GOARCH != "amd64" { // where an older server wants to be told that it may run
		s.cmd.Env = append(os.Environ(), "ETCD_UNSUPPORTED_ARCH="+runtime.GOARCH)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// kill ends the process as a power loss would.
func (s *etcdServer) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// ask sends a request of etcd's JSON, and returns the answer; nil where there is none.
func (s *etcdServer) ask(path, body string) map[string]any {
	c := http.Client{Timeout: time.Second}
	defer c.CloseIdleConnections()
	resp, err := c.Post("http://"+s.client+"/v3/"+path, "application/json", strings.NewReader(body))
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var out map[string]any
	if err != nil || resp.StatusCode != http.StatusOK || json.NewDecoder(bytes.NewReader(text)).Decode(&out) != nil {
		return nil
	}
	return out
}

// compact makes the server forget its history.
func (s *etcdServer) compact() {
	s.t.Helper()
	now := s.ask("kv/range", `{"key":"AA=="}`)
	header, _ := now["header"].(map[string]any)
	if s.ask("kv/compaction", fmt.Sprintf(`{"revision":"%v"}`, header["revision"])) == nil {
		s.t.Fatalf("the history is not compacted: %v", now)
	}
}

// hostLink carries the connections of one host to the server, until it is cut.
type hostLink struct {
	l  net.Listener
	to string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	work  sync.WaitGroup
}

// newLink makes a link that ends with the test.
func newLink(t *testing.T, to string) *hostLink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &hostLink{l: l, to: to, conns: map[net.Conn]bool{}}
	k.work.Go(k.serve)
	t.Cleanup(func() {
		_ = l.Close()
		k.set(true)
		k.work.Wait()
	})
	return k
}

// set cuts the link, or joins it again.
func (k *hostLink) set(cut bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = cut
	for c := range k.conns {
		if cut {
			_ = c.Close()
		}
	}
}

func (k *hostLink) serve() {
	for {
		c, err := k.l.Accept()
		if err != nil {
			return
		}
		k.work.Go(func() { k.carry(c) })
	}
}

// carry carries one connection, or drops it where the link is cut.
func (k *hostLink) carry(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", k.to)
	if err != nil {
		return
	}
	k.keep(in, out)
	defer k.forget(in, out)
	k.work.Go(func() {
		_, _ = io.Copy(in, out)
		_ = in.Close()
		_ = out.Close()
	})
	_, _ = io.Copy(out, in)
}

func (k *hostLink) keep(conns ...net.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range conns {
		if k.conns[c] = true; k.cut {
			_ = c.Close()
		}
	}
}

func (k *hostLink) forget(conns ...net.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(k.conns, c)
	}
}
