package plugin_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/internal/await"
)

func kill(t *testing.T, pid int) {
	t.Helper()
	if pid == 0 {
		t.Fatal("there is no process")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// daemonFolder tells this test program to be a daemon, which makes things as the lines of its standard input name them.
const daemonFolder = "MGMT_TOY_DAEMON"

// daemon makes the things that are named on its standard input, one after the other, and says each that is done.
func daemon(ctx context.Context, dir string) error {
	h, err := host.New(ctx, host.Options{})
	if err != nil {
		return err
	}
	defer h.Close()
	text, err := os.ReadFile(filepath.Join(dir, "toy.json"))
	if err != nil {
		return err
	}
	n, _ := jsonnode.Parse(text, jsonnode.Options{File: filepath.Join(dir, "toy.json"), Levels: 100, Bytes: 1 << 20, Values: 1 << 20})
	set, ds := plugin.Load([]*schema.Node{n}, plugin.Options{ReadFile: os.ReadFile, Breaks: 1 << 20, LongestPause: time.Millisecond})
	kinds := engine.NewRegistry()
	if err := ds.Err(); err != nil {
		return err
	}
	if err := set.Register(kinds); err != nil {
		return err
	}
	first, err := kinds.New("toy:index:slow")
	if err != nil {
		return err
	}
	_, open := first.(engine.SharedRes).Shared()
	shared, err := open(ctx, h)
	if err != nil {
		return err
	}
	defer shared.Close()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if err := apply(ctx, kinds, h, shared, dir, in.Text()); err != nil {
			return err
		}
		fmt.Println(in.Text(), set.Plugins()[0].Status().PID)
	}
	return nil
}

// apply makes one thing.
func apply(ctx context.Context, kinds *engine.Registry, h engine.Host, shared engine.Shared, dir, name string) error {
	r, err := kinds.New("toy:index:slow")
	if err != nil {
		return err
	}
	r.SetName(name)
	if err := schema.Set(r, "color", name); err != nil {
		return err
	}
	err = r.Init(&engine.Init{
		Host: h, Shared: shared, Refresh: func() bool { return false }, Send: func(any) error { return nil }, Change: func(engine.Change) {},
		Logf: func(string, ...any) {},
		VarDir: func(p string) (string, error) {
			at := filepath.Join(dir, "vars", name, p)
			return at, os.MkdirAll(at, 0o700)
		},
	})
	if err != nil {
		return err
	}
	defer r.Cleanup()
	_, err = r.CheckApply(ctx, true)
	return err
}

// child is a daemon that runs.
type child struct {
	*exec.Cmd
	in    io.WriteCloser
	lines chan string // closed at its end
}

func startDaemon(t *testing.T, dir string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: exec.Command(self), lines: make(chan string, 100)}
	c.Env = append(os.Environ(), daemonFolder+"="+dir)
	c.Stderr = os.Stderr
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	return c
}

// do has the daemon make a thing. It reports the number of the provider's process, and false where the daemon has ended.
func (c *child) do(name string) (pid int, ok bool) {
	_, _ = fmt.Fprintln(c.in, name)
	for line := range c.lines {
		done, number, _ := strings.Cut(line, " ")
		if pid, _ = strconv.Atoi(number); done == name {
			return pid, true
		}
	}
	return 0, false
}

func (c *child) end() {
	c.in.Close()
	for range c.lines {
	}
	_ = c.Wait()
}

// daemonDir returns a folder for a daemon.
func daemonDir(t *testing.T) string {
	t.Helper()
	b := newBench(t, "", plugin.Options{})
	self, _ := os.Executable()
	src := fmt.Sprintf(`{"name": "toy", "command": [%q], "schema": "schema.json", "grace": "1s"%s, "env": {%q: %q, "MGMT_TOY_DELAY": "3ms"}}`, self, transport(t), toyFolder, b.dir)
	if err := os.WriteFile(filepath.Join(b.dir, "toy.json"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return b.dir
}

// alive reports whether a process is there, and is not a zombie.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// TestNoOrphan: a daemon that is killed leaves no provider.
func TestNoOrphan(t *testing.T) {
	d := startDaemon(t, daemonDir(t))
	defer d.end()
	pid, ok := d.do("a")
	if !ok || !alive(pid) {
		t.Fatal("there is no provider")
	}
	kill(t, d.Process.Pid)
	await.Until(t, "the provider ends with the daemon", func() bool { return !alive(pid) })
}

// kills is how often TestKill kills.
var kills = 200

// TestKill kills provider and daemon at random moments. Each thing is made, and none is made twice.
func TestKill(t *testing.T) {
	if testing.Short() {
		kills = 20
	}
	dir := daemonDir(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	d := startDaemon(t, dir)
	pid, killed, daemons := 0, 0, 0
	for n := 0; killed < kills; n++ {
		name := fmt.Sprintf("thing-%d", n)
		target := d.Process.Pid
		if pid != 0 && rnd.IntN(3) > 0 {
			target = pid
		}
		timer := time.AfterFunc(time.Duration(rnd.IntN(6000))*time.Microsecond, func() { _ = syscall.Kill(target, syscall.SIGKILL) })
		got, ok := d.do(name)
		if !timer.Stop() {
			killed++
		}
		for pid = got; !ok; pid, ok = d.do(name) {
			daemons++
			d.end()
			d = startDaemon(t, dir)
		}
	}
	d.end()
	counts := map[string]int{}
	ids, _ := filepath.Glob(filepath.Join(dir, "id-*"))
	o := toys{dir: dir}
	for _, at := range ids {
		if k, err := o.read(filepath.Base(at)); err == nil && !strings.HasSuffix(at, ".part") {
			counts[k.Color]++
		}
	}
	for name, n := range counts {
		if n != 1 {
			t.Errorf("%s is there %d times", name, n)
		}
	}
	t.Logf("%d kills, %d of them of the daemon; %d things", killed, daemons, len(counts))
}
