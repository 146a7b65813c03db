//go:build !small

package plugin_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/plugin/plugintest"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// overGRPC begins the names of the tests that TestOverGRPC runs.
const overGRPC = "TestOverGRPC/"

// transport returns the line of the descriptor of a test.
func transport(t testing.TB) string {
	if strings.HasPrefix(t.Name(), overGRPC) {
		return `, "transport": "grpc"`
	}
	return ""
}

// TestOverGRPC: a provider over gRPC passes the tests that one of lines passes.
func TestOverGRPC(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"Life": TestLife, "ReplaceFirst": TestReplaceFirst, "Secrets": TestSecrets, "Check": TestCheck, "Refresh": TestRefresh, "Watch": TestWatch,
		"Broken": TestBroken, "Stop": TestStop, "InterruptedReplacement": TestInterruptedReplacement, "Refused": TestRefused, "Restart": TestRestart,
		"Deaf": TestDeaf, "WatchEnds": TestWatchEnds, "RestartAgain": TestRestartAgain, "Kit": TestKit, "Batch": TestBatch, "NoOrphan": TestNoOrphan, "Kill": TestKill,
		"SettingsHidden": TestSettingsHidden, "User": TestUser,
	} {
		t.Run(name, test)
	}
}

// TestSocketGoes: nothing is left of the socket of a provider while the connection goes on.
func TestSocketGoes(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	b := newBench(t, `, "transport": "grpc"`, plugin.Options{})
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	r.expect(true, false, `created; color: (none) -> "red"`)
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "mgmt-provider-") {
			t.Errorf("%s is there while the provider works", e.Name())
		}
	}
	r.expect(true, true, "")
}

// TestSocketsOfTheDead: the folder that a daemon has left, because it was killed while it launched a provider, goes with the next
// start. A folder in use stays, and so do folders in which others keep something.
func TestSocketsOfTheDead(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	folder := func(name string) string {
		dir := filepath.Join(tmp, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	folder("mgmt-provider-empty")
	l, err := net.Listen("unix", filepath.Join(folder("mgmt-provider-dead"), "s"))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // as a process that is killed
	l.Close()
	used, err := os.Open(folder("mgmt-provider-used"))
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	if err := syscall.Flock(int(used.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder("mgmt-provider-full"), "s"), nil, 0o600); err != nil { // a file, and no socket
		t.Fatal(err)
	}
	elsewhere := folder("elsewhere")
	if err := os.Symlink(elsewhere, filepath.Join(tmp, "mgmt-provider-link")); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, `, "transport": "grpc"`, plugin.Options{})
	b.res("toy:index:thing", "a", map[string]any{"color": "red"}).expect(true, false, `created; color: (none) -> "red"`)
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "mgmt-provider-") || e.Name() == "elsewhere" {
			names = append(names, e.Name())
		}
	}
	if want := []string{"elsewhere", "mgmt-provider-full", "mgmt-provider-link", "mgmt-provider-used"}; !slices.Equal(names, want) {
		t.Errorf("there are %q, and not %q", names, want)
	}
}

// TestSocketFolderBesideSweeps: daemons that remove what killed daemons have left take no folder of a start of another daemon,
// however the two meet.
func TestSocketFolderBesideSweeps(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ended := make(chan struct{})
	var sweepers sync.WaitGroup
	for range 2 {
		sweepers.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					plugin.Sweep(tmp)
				}
			}
		})
	}
	defer sweepers.Wait()
	defer close(ended)
	for range 200 {
		dir, done, err := plugin.SocketFolder()
		if err != nil {
			t.Fatal(err)
		}
		plugin.Sweep(tmp)
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
		done()
	}
}

// TestAttachGRPC: mgmt speaks gRPC to a provider that runs in a debugger.
func TestAttachGRPC(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "socket")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), toyFolder+"="+dir, "MGMT_PLUGIN_LISTEN=grpc:"+at)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	for range 500 {
		if info, err := os.Stat(at); err == nil && info.Mode().Perm() == 0o600 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	b := newBench(t, fmt.Sprintf(`, "transport": "grpc", "env": {%q: %q}`, toyFolder, dir), plugin.Options{Attach: map[string]string{"toy": at}})
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	r.run(true)
	if s := b.set.Plugins()[0].Status(); !s.Attached || s.PID != 0 {
		t.Errorf("%+v", s)
	}
}

// TestNoToken: a program that does not know the token of the start is refused.
func TestNoToken(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	p := b.loadSet(fmt.Sprintf(`, "transport": "grpc", "env": {%q: %q, "MGMT_TOY_TOKEN": "another"}`, toyFolder, b.dir), plugin.Options{Breaks: 1}).Plugins()[0]
	_, _, err := p.Connect(t.Context(), b.host)
	if err == nil || !strings.Contains(err.Error(), "the token") {
		t.Error(err)
	}
}

// TestForeignGRPC: a provider that knows the file provider.proto alone, with libraries of others, keeps all rules. So the file
// says what mgmt speaks.
func TestForeignGRPC(t *testing.T) {
	python := "/usr/bin/python3" // the libraries of Debian are for this one
	protoc, err := exec.LookPath("protoc")
	if err == nil {
		err = exec.Command(python, "-c", "import grpc").Run()
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("python3-grpcio and protobuf-compiler are missing")
		}
		t.Skip("python3-grpcio and protobuf-compiler are missing")
	}
	dir := t.TempDir()
	if out, err := exec.Command(protoc, "--python_out="+dir, "provider.proto").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script, err := filepath.Abs("testdata/foreign.py")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, "", plugin.Options{})
	o := plugin.Options{ReadFile: os.ReadFile}
	src := fmt.Sprintf(`{"name": "toy", "command": [%q, %q], "schema": "schema.json", "transport": "grpc", "grace": "1s", "env": {"PYTHONPATH": %q, "TOY_SCHEMA": %q}}`,
		python, script, dir, filepath.Join(b.dir, "schema.json"))
	b.set = b.loadText(src, o)
	found, err := plugintest.Run(t.Context(), b.set.Plugins()[0], b.host, plugintest.Options{Wait: 5 * time.Second})
	if err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestProto: provider.proto has each message, each field with its number and its type, and each method of package protocol.
func TestProto(t *testing.T) {
	text, err := os.ReadFile("provider.proto")
	if err != nil {
		t.Fatal(err)
	}
	messages := map[string][][]string{}
	for _, m := range regexp.MustCompile(`(?s)message (\w+) \{(.*?)\n?\}`).FindAllStringSubmatch(string(text), -1) {
		messages[m[1]] = regexp.MustCompile(`(?m)^\s*((?:repeated )?[\w.]+) (\w+) = (\d+);`).FindAllStringSubmatch(m[2], -1)
	}
	seen := map[string]bool{}
	calls := regexp.MustCompile(`rpc (\w+)\((\w+)\) returns \((stream )?(\w+)\)`).FindAllStringSubmatch(string(text), -1)
	if len(calls) < 14 {
		t.Errorf("%d methods", len(calls))
	}
	for _, c := range calls {
		name := strings.ToLower(c[1][:1]) + c[1][1:]
		if protocol.MethodOf(name) != protocol.Service+c[1] {
			t.Errorf("%s has another name", c[1])
		}
		request, reply := protocol.Request(name), protocol.Reply(name)
		if request == nil || (reply == nil) != (c[3] != "") {
			t.Fatalf("%s has no messages", name)
		}
		compareMessage(t, messages, c[2], reflect.TypeOf(request).Elem(), seen)
		if reply != nil {
			compareMessage(t, messages, c[4], reflect.TypeOf(reply).Elem(), seen)
		}
	}
	compareMessage(t, messages, "WatchEvent", reflect.TypeFor[protocol.WatchEvent](), seen)
	compareMessage(t, messages, "LogLine", reflect.TypeFor[protocol.LogLine](), seen)
	for name := range messages {
		if !seen[name] {
			t.Errorf("no method needs the message %s", name)
		}
	}
}

// compareMessage compares a message with its struct, and those within it.
func compareMessage(t *testing.T, messages map[string][][]string, name string, s reflect.Type, seen map[string]bool) {
	t.Helper()
	if seen[name] {
		return
	}
	seen[name] = true
	if s.Name() != name {
		t.Errorf("the message %s is the struct %s", name, s)
	}
	fields := messages[name]
	if len(fields) != s.NumField() {
		t.Errorf("%s has %d fields, and %d in Go", name, len(fields), s.NumField())
		return
	}
	for i, f := range fields {
		g := s.Field(i)
		key, _, _ := strings.Cut(g.Tag.Get("json"), ",")
		if g.Anonymous {
			key = strings.ToLower(g.Name)
		}
		if key != f[2] || g.Tag.Get("pb") != f[3] || strconv.Itoa(i+1) != f[3] {
			t.Errorf("%s.%s = %s is %s with the number %s in Go", name, f[2], f[3], key, g.Tag.Get("pb"))
		}
		inner, listed := strings.CutPrefix(f[1], "repeated ")
		kind := g.Type
		if listed && kind.Kind() == reflect.Slice || kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		want := map[string]bool{"string": kind.Kind() == reflect.String, "bool": kind.Kind() == reflect.Bool, "int64": kind.Kind() == reflect.Int,
			"google.protobuf.Struct": kind.Kind() == reflect.Map || kind == reflect.TypeFor[[]byte]() || kind.Name() == "RawMessage"}
		if ok, plain := want[inner]; plain && !ok || !plain && kind.Kind() != reflect.Struct {
			t.Errorf("%s.%s is a %s, and a %s in Go", name, f[2], f[1], g.Type)
		} else if !plain {
			compareMessage(t, messages, inner, kind, seen)
		}
	}
}

// BenchmarkCallOverGRPC: a call over gRPC. The promised figure is 200 us.
func BenchmarkCallOverGRPC(b *testing.B) {
	bench := newBench(b, "", plugin.Options{})
	p := bench.load(fmt.Sprintf(`, "transport": "grpc", "env": {%q: %q}`, toyFolder, bench.dir))
	conn, end, err := p.Connect(b.Context(), bench.host)
	if err != nil {
		b.Fatal(err)
	}
	defer end()
	r := &protocol.DiffRequest{Subject: protocol.Subject{Token: "toy:index:Thing"}, Old: protocol.Bag{"color": "red"}, New: protocol.Bag{"color": "blue"}}
	for b.Loop() {
		if err := conn.Call(b.Context(), protocol.MethodDiff, r, &protocol.DiffReply{}); err != nil {
			b.Fatal(err)
		}
	}
}
