package host

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"golang.org/x/sys/unix"
)

// TestStartErrors: each reason of the kernel is told in words that say how to proceed, and a cause that is none of the kernel's stays.
func TestStartErrors(t *testing.T) {
	c := &engine.Command{Argv: []string{"tool", "s3cr3t"}, Dir: "/srv", Env: []string{"T=s3cr3t"}}
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOENT:  "the interpreter or loader that /bin/tool names is missing",
		syscall.ENOEXEC: "another architecture, or a script without #!",
		syscall.EACCES:  "may not run /bin/tool or enter /srv, or the file system is mounted noexec",
		syscall.EPERM:   "may not run it as itself",
		syscall.ETXTBSY: "/bin/tool is being written",
		syscall.E2BIG:   "the arguments and the environment are too long",
		syscall.EAGAIN:  "a limit of the user or the control group is reached",
		syscall.EIO:     "cannot run /bin/tool: input/output error",
	} {
		err := startError(c, "/bin/tool", &os.PathError{Op: "fork/exec", Path: "/bin/tool", Err: errno})
		told, ok := errors.AsType[*CommandError](err)
		if !ok || told.Program != "tool" || !errors.Is(err, errno) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%v: %v", errno, err)
		}
	}
	cause := errors.New("enough")
	if err := startError(c, "/bin/tool", cause); err != cause {
		t.Errorf("a cause of a context: %v", err)
	}
	for want, as := range map[string][2]string{"itself": {}, "user a": {"a", ""}, "group b": {"", "b"}, "user a, group b": {"a", "b"}} {
		if got := who(&engine.Command{User: as[0], Group: as[1]}); got != want {
			t.Errorf("as %q: %q", as, got)
		}
	}
}

// TestPathOfEnvironment: the last PATH counts, an empty one searches nothing, and elements that are not absolute are left out.
func TestPathOfEnvironment(t *testing.T) {
	for want, env := range map[string][]string{
		DefaultPath: {"A=1", "XPATH=/x", "PATHS=/y"}, "/b": {"PATH=/a", "PATH=/b"}, "": {"PATH=/a", "PATH="}, "/a:/b": {"PATH=/a:/b", "B=PATH=/c"},
	} {
		if got := pathOf(env); got != want {
			t.Errorf("%q: %q, want %q", env, got, want)
		}
	}
	for _, path := range []string{"", ":", ".:bin:..", "/none:/no/such"} {
		_, err := findProgram(&engine.Command{Argv: []string{"sh"}, Env: []string{"PATH=" + path}})
		if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "not found in PATH ("+path+")") {
			t.Errorf("in %q: %v", path, err)
		}
	}
	if at, err := findProgram(&engine.Command{Argv: []string{"sh"}, Env: []string{"PATH=:/none:/bin"}}); err != nil || at != "/bin/sh" {
		t.Errorf("behind others: %q, %v", at, err)
	}
}

// TestCredentials: whom a command runs as, by names and numbers, with the groups of that user.
func TestCredentials(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this test needs root")
	}
	for _, c := range []struct {
		user, group string
		uid, gid    uint32
		own         bool // it keeps the groups of this process
	}{
		{"root", "", 0, 0, false},
		{"0", "", 0, 0, false},
		{"54321", "54322", 54321, 54322, false},
		{"", "54322", 0, 54322, true},
		{"root", "54322", 0, 54322, false},
		{"4294967294", "0", 4294967294, 0, false},
	} {
		cred, err := credential(&engine.Command{Argv: []string{"x"}, User: c.user, Group: c.group})
		if err != nil || cred.Uid != c.uid || cred.Gid != c.gid || cred.NoSetGroups != c.own {
			t.Errorf("%q, %q: %+v, %v", c.user, c.group, cred, err)
		}
	}
	if cred, err := credential(&engine.Command{}); cred != nil || err != nil {
		t.Errorf("nobody is named: %+v, %v", cred, err)
	}
	for want, c := range map[string]engine.Command{
		`there is no user "-1"`:           {User: "-1", Group: "0"},
		`there is no user "4294967296"`:   {User: "4294967296", Group: "0"},
		`there is no group "4294967296"`:  {User: "root", Group: "4294967296"},
		"so a group must be given too":    {User: "54321"},
		`there is no user "no such user"`: {User: "no such user"},
	} {
		c.Argv = []string{"x"}
		if cred, err := credential(&c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, %q: %+v, %v", c.User, c.Group, cred, err)
		}
	}
}

// TestEntriesOfTheLedger: an entry reads back as it was written, has one size, and a damaged one is no entry.
func TestEntriesOfTheLedger(t *testing.T) {
	for _, e := range []noted{
		{out: "0:0"},
		{out: "13:4294967295", pid: 4194304, start: 1 << 40, signal: unix.SIGKILL, grace: 24 * time.Hour, cost: true},
	} {
		text := e.text()
		if got, ok := parseNoted(text); len(text) != entrySize || !ok || got != e {
			t.Errorf("%q is read as %+v, %t", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "0:0", "0:0 1 2 3 4", "0:0 1 2 3 4 true 5", "00 1 2 3 4 true", "0:0 x 2 3 4 true", "0:0 1 -2 3 4 true", "0:0 1 2 9999999999 4 true",
		"0:0 1 2 3 x true", "0:0 1 2 3 4 yes", "0:0 1 2 3 4 \x00", "0:0 99999999999999999999 2 3 4 true",
	} {
		if e, ok := parseNoted([]byte(text)); ok {
			t.Errorf("%q is read as %+v", text, e)
		}
	}
}

// TestLimiterOfWatches: of refusals one is told, the waits double from ten seconds to five minutes, and an end of the refusals begins anew.
func TestLimiterOfWatches(t *testing.T) {
	var l limiter
	now := time.Unix(1000, 0)
	if l.waiting(now) {
		t.Error("it waits before anything was refused")
	}
	var waits []time.Duration
	for i := range 8 {
		if first := l.refuse(now); first != (i == 0) {
			t.Errorf("refusal %d is the first: %t", i, first)
		}
		l.refuse(now) // at the same time: nothing new
		if !l.waiting(l.next.Add(-1)) || l.waiting(l.next) {
			t.Error("it does not wait until then")
		}
		waits = append(waits, l.next.Sub(now))
		now = l.next
	}
	want := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 300 * time.Second, 300 * time.Second, 300 * time.Second}
	for i := range want {
		if waits[i] != want[i] {
			t.Errorf("the waits are %v, want %v", waits, want)
			break
		}
	}
	for want, c := range map[string]struct {
		err      error
		watching bool
	}{
		"fs.inotify.max_user_watches": {unix.ENOSPC, true}, "fs.inotify.max_user_instances": {unix.EMFILE, false}, "": {unix.EMFILE, true},
	} {
		if got := limitOf(c.err, c.watching); got != want {
			t.Errorf("%v, watching %t: %q, want %q", c.err, c.watching, got, want)
		}
	}
	if got := readSysctl("kernel.no_such_key"); got != "" {
		t.Errorf("a limit that is not there is %q", got)
	}
	if err := (&LimitError{Sysctl: "a.b", Held: 3, Err: unix.ENOSPC}); !strings.Contains(err.Error(), "the limit a.b is unknown, of which this process holds 3") || !strings.Contains(err.Error(), "sysctl -w a.b=N") {
		t.Errorf("the error is %v", err)
	}
}
