package integration_test

import (
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// canaryRoutes is all that can be read from a daemon over its socket.
var canaryRoutes = []string{
	"/v1/version", "/v1/status?all=true", "/v1/resources", "/v1/log?limit=1000", "/v1/graph?format=dot", "/v1/graph", "/v1/dump", "/v1/metrics",
	"/debug/pprof/goroutine?debug=2", "/debug/pprof/goroutine?debug=1", "/debug/pprof/heap?debug=1", "/debug/pprof/cmdline",
}

// canaryVerbs is what asks a daemon, or reads the graph.
var canaryVerbs = [][]string{
	{"status", "--all"}, {"status", "-o", "json"}, {"log"}, {"log", "-o", "json"}, {"graph", "--live"},
	{"why", "exec[another]"}, {"why", "exec[env]", "-o", "json"}, {"retry"}, {"resume"},
}

// TestFindingA5A7A9CanaryDaemon: what a graph keeps secret is in no answer of the socket, in no event,
// in no argument list, in no output of a verb, in no file that the daemon keeps for itself or writes
// for others, and not in what it says when it is told to dump or dies.
func TestFindingA5A7A9CanaryDaemon(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/canaries.yaml")
	if err != nil {
		t.Fatal(err)
	}
	held := "  - name: seen\n    shell: /bin/sh\n    cmd: \"cat >/dev/null; echo > DIR/begun; while [ -e DIR/hold ]; do sleep 0.02; done\"\n    env: {T: canary-argument}\n    stdin: canary-input\n"
	d := newDaemon(t, dir, string(text)+held, "--debug", "--graphviz", filepath.Join(dir, "drawn"), "--metrics-textfile", filepath.Join(dir, "m.prom"))
	d.write("hold", "")
	d.write("was-closed", "key=canary-old\n")
	d.write("closed.ini", "[a]\nkey = canary-old\n")
	d.write("lines", "key=canary-old\n")
	c := &canary{t: t, d: d}
	d.start()
	d.has("begun", "\n")
	c.nowhere("an argument list", arguments())
	d.until("the socket answers", func() bool { _, err := c.get("/v1/version"); return err == nil })
	events := c.events()
	if err := os.Remove(d.path("hold")); err != nil {
		t.Fatal(err)
	}
	d.until("it has settled", func() bool {
		s, _ := c.get("/v1/status")
		return strings.Contains(s, `"failed":3`) && strings.Contains(s, `"ok":6`)
	})
	d.write("marked", "canary-drifted\n")
	d.until("it has repaired that", func() bool { return !strings.Contains(d.read("marked"), "drifted") })
	for _, path := range canaryRoutes {
		s, err := c.get(path)
		if err != nil && !strings.Contains(path, "pprof") {
			t.Errorf("%s: %v", path, err)
		}
		c.nowhere(path, s)
	}
	for _, args := range canaryVerbs {
		cmd := exec.Command(d.cmd.Path, append(args, "--prefix", d.path("state"))...)
		out, _ := cmd.CombinedOutput()
		if len(out) == 0 {
			t.Errorf("%v says nothing", args)
		}
		c.nowhere(strings.Join(args, " "), string(out))
	}
	plan, _ := exec.Command(d.cmd.Path, "plan", "--yaml", d.path("graph.yaml")).CombinedOutput()
	c.nowhere("plan", string(plan))
	d.write("graph.yaml", strings.ReplaceAll(strings.ReplaceAll(string(text), "content: \"canary-marked", "content: \"canary-marked\\0"), "DIR", dir))
	_ = d.cmd.Process.Signal(syscall.SIGHUP)
	d.says("reading the graph again")
	_ = d.cmd.Process.Signal(syscall.SIGQUIT)
	d.until("there is a dump", func() bool { list, _ := filepath.Glob(d.path("state/dump-*.txt")); return len(list) > 0 })
	d.stop(syscall.SIGABRT) // as at a fault of the program itself
	c.nowhere("the events", events())
	if !strings.Contains(events(), `"failed"`) {
		t.Errorf("no failure is among the events: %s", events())
	}
	c.nowhere("the log", d.log.String())
	c.nowhere("the drawing", d.read("drawn"))
	c.nowhere("the textfile", d.read("m.prom"))
	c.kept()
	for _, want := range []string{"sha256:", "(secret)", "exit status 4", "goroutine "} {
		if !strings.Contains(d.log.String()+events(), want) {
			t.Errorf("%q is said nowhere: the test sees nothing:\n%s", want, d.log)
		}
	}
}

// canary looks for secrets in what a daemon shows.
type canary struct {
	t *testing.T
	d *realDaemon
}

// nowhere fails where a secret, in clear or in hex, is in a text.
func (c *canary) nowhere(where, text string) {
	c.t.Helper()
	for _, s := range []string{"canary-", "63616e6172792d", "Y2FuYXJ5L"} {
		if i := strings.Index(text, s); i >= 0 {
			c.t.Errorf("%s shows a secret: ...%s...", where, text[max(0, i-200):min(len(text), i+60)])
		}
	}
}

func (c *canary) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dial net.Dialer
		return dial.DialContext(ctx, "unix", c.d.path("state/mgmt.sock"))
	}}}
}

func (c *canary) get(path string) (string, error) {
	resp, err := c.client().Get("http://mgmt" + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// events follows the events from the first one until the daemon ends. The returned function waits
// for that, and returns them.
func (c *canary) events() func() string {
	out := make(chan string, 1)
	go func() {
		s, _ := c.get("/v1/events?since=0")
		out <- s
	}()
	var all string
	return func() string {
		if all == "" {
			all = <-out
		}
		return all
	}
}

// arguments are those of all processes that can be seen.
func arguments() string {
	var all strings.Builder
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range list {
		b, _ := os.ReadFile(path)
		all.WriteString(strings.ReplaceAll(string(b), "\x00", " ") + "\n")
	}
	return all.String()
}

// kept looks at the state folder: no file there has a secret, and nobody else can read one.
func (c *canary) kept() {
	n := 0
	err := filepath.WalkDir(c.d.path("state"), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 && info.Mode()&fs.ModeSocket == 0 {
			c.t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			n++
			c.nowhere(path, string(b))
			return err
		}
		return nil
	})
	if err != nil || n < 4 {
		c.t.Errorf("%d files in the state folder, %v", n, err)
	}
}

// TestFindingA9PartOfAValue: a secret of an expression is known by itself, whatever text or function is around it in the
// parameter, and so no other resource shows it.
func TestFindingA9PartOfAValue(t *testing.T) {
	dir := t.TempDir()
	putFile(t, dir+"/creds/db", "hunter2<&>sesame")
	putFile(t, dir+"/a.tmpl", "user = app, password = {{ .pw }}, and more\n")
	head := "secrets: [{credentials: true}]\ndefaults:\n  line: {content: \"with ${{ secret('db') }} in it\"}\nresources:\n"
	another := `  exec:
  - {name: another, shell: /bin/sh, depend: "MADE", cmd: 'set -x; echo "hunter2<&>sesame"; echo aHVudGVyMjwmPnNlc2FtZQ==; exit 3'}
`
	for _, c := range []struct{ id, resource string }{
		{"file[" + dir + "/text]", "  file: [{name: " + dir + "/text, content: \"password = ${{ secret('db') }}, and more\"}]\n"},
		{"file[" + dir + "/template]", "  file: [{name: " + dir + "/template, content: \"${{ template('a.tmpl', {'pw': secret('db')}) }}\"}]\n"},
		{"file[" + dir + "/encoded]", "  file: [{name: " + dir + "/encoded, content: \"password = ${{ base64(secret('db')) }}, and more\"}]\n"},
		{"exec[env]", "  exec: [{name: env, cmd: /bin/true, env: {A: \"db=${{ secret('db') }}\"}}]\n"},
		{"line[a]", "  line: [{name: a, file: " + dir + "/lines}]\n"},
	} {
		graph := head + c.resource + strings.Replace(another, "MADE", c.id, 1)
		if strings.HasPrefix(c.id, "exec") { // a kind stands in a graph once
			graph = head + c.resource[:len(c.resource)-2] + ", " + strings.TrimPrefix(strings.TrimSpace(strings.Replace(strings.TrimPrefix(another, "  exec:\n"), "MADE", c.id, 1)), "- ") + "]\n"
		}
		putFile(t, dir+"/graph.yaml", graph)
		out, code := shell(t, dir, "CREDENTIALS_DIRECTORY=$DIR/creds mgmt run --converged-exit --tmp-prefix graph.yaml")
		if code != 4 || !strings.Contains(out, "exec[another] failed") || strings.Contains(out, "sesame") || strings.Contains(out, "aHVudG") {
			t.Errorf("%s: code %d\n%s", c.id, code, out)
		}
	}
}
