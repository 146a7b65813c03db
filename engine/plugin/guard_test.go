//go:build linux

package plugin_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestTrustAll: the program, its folder, and each file among its arguments have to be trusted before a start.
func TestTrustAll(t *testing.T) {
	for _, bad := range []string{"", ".", "script", "option"} {
		b := newBench(t, "", plugin.Options{})
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"script", "option"} {
			if err := os.WriteFile(filepath.Join(b.dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var asked []string
		o := plugin.Options{ReadFile: os.ReadFile, Trust: func(path string) error {
			asked = append(asked, path)
			if bad != "" && path == filepath.Join(b.dir, bad) {
				return errors.New("others can write it")
			}
			return nil
		}}
		src := fmt.Sprintf(`{"name": "toy", "command": [%q, "script", "--more=option", "no-file"], "schema": "schema.json", "env": {%q: %q}}`, self, toyFolder, b.dir)
		set, ds := plugin.Load([]*schema.Node{parse(t, filepath.Join(b.dir, "toy.json"), src)}, o)
		if err := ds.Err(); err != nil {
			t.Fatal(err)
		}
		p := set.Plugins()[0]
		conn, end, err := p.Connect(t.Context(), b.host)
		if err == nil {
			end()
		}
		if conn != nil && bad != "" || bad == "" && err != nil || bad != "" && !strings.Contains(p.Status().Error+fmt.Sprint(err), "others can write it") {
			t.Errorf("%q: %v", bad, err)
		}
		want := []string{b.dir, self, filepath.Join(b.dir, "script"), filepath.Join(b.dir, "option")}
		if len(asked) < len(want) || !slices.Equal(asked[:len(want)], want) {
			t.Errorf("asked about %v, want %v", asked, want)
		}
	}
}

// TestAttach: mgmt uses a provider that runs already, whose socket is for its user alone. It outlives the session.
func TestAttach(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "socket")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), toyFolder+"="+dir, "MGMT_PLUGIN_LISTEN=unix:"+at)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	var mode os.FileMode
	for n := 0; n < 500 && mode != 0o600; n++ {
		if info, err := os.Stat(at); err == nil {
			mode = info.Mode().Perm()
		}
		time.Sleep(10 * time.Millisecond)
	}
	if mode != 0o600 {
		t.Fatalf("the mode of the socket is %v", mode)
	}
	b := newBench(t, fmt.Sprintf(`, "env": {%q: %q}`, toyFolder, dir), plugin.Options{Attach: map[string]string{"toy": at}})
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	r.run(true)
	if s := b.set.Plugins()[0].Status(); !s.Attached || s.PID != 0 {
		t.Errorf("%+v", s)
	}
	_, end, err := b.set.Plugins()[0].Connect(t.Context(), b.host)
	if err != nil {
		t.Fatal(err)
	}
	end()
	if !alive(c.Process.Pid) {
		t.Error("the provider has ended with the session")
	}
}

// TestPeer: a socket of another user gets nothing.
func TestPeer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	at := filepath.Join(t.TempDir(), "socket")
	type listened struct {
		l   net.Listener
		err error
	}
	got := make(chan listened)
	go func() {
		runtime.LockOSThread() // and never unlock it: the thread ends with the goroutine
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err == nil {
			err = syscall.Bind(fd, &syscall.SockaddrUnix{Name: at})
		}
		if _, _, no := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), 65534, ^uintptr(0)); no != 0 {
			err = errors.Join(err, no)
		}
		if err == nil {
			err = syscall.Listen(fd, 1) // the kernel notes the user here
		}
		f := os.NewFile(uintptr(fd), "socket")
		defer f.Close()
		l, err2 := net.FileListener(f)
		got <- listened{l, errors.Join(err, err2)}
	}()
	other := <-got
	if other.err != nil {
		t.Fatal(other.err)
	}
	defer other.l.Close()
	b := newBench(t, "", plugin.Options{Attach: map[string]string{"toy": at}, Breaks: 1})
	_, err := b.res("toy:index:thing", "a", map[string]any{"color": "red"}).CheckApply(t.Context(), true)
	if err == nil || !strings.Contains(err.Error(), "runs as the user 65534") {
		t.Error(err)
	}
}

// TestSettingsHidden: secrets among the settings and in the environment of a descriptor are not in the last lines.
func TestSettingsHidden(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	b.set = b.loadSet(fmt.Sprintf(`, "env": {%q: %q, "MGMT_TOY_SECRET": "canary-env"}, "config": {"token": "canary-config"}`, toyFolder, b.dir), plugin.Options{Breaks: 2})
	b.kinds = newKinds(t, b.set)
	_, err := b.res("toy:index:thing", "crash", map[string]any{"color": "red", "password": "canary-text"}).CheckApply(t.Context(), true)
	if err == nil || !strings.Contains(err.Error(), "configured with (secret)") || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}
