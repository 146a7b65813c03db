package backends

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// What each package manager says while another program uses it, and whom it names.
var lockTexts = map[string]struct {
	exit         int
	text, holder string
}{
	"apt":    {100, "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (unattended-upgr)\n", "process 4711 (unattended-upgr)"},
	"dnf":    {1, "RPMDB already locked by 4711\n  The application with PID 4711 is: dnf\n    Memory :  57 M RSS ( 88 MB VSZ)\n", "process 4711"},
	"zypper": {7, "System management is locked by the application with pid 4711 (/usr/bin/zypper).\nClose this application before trying again.\n", "process 4711"},
	"pacman": {1, "error: failed to init transaction (unable to lock database)\nerror: could not lock database: File exists\n", "the program that made /var/lib/pacman/db.lck (remove it if no pacman runs)"},
	"apk":    {99, "ERROR: Unable to lock database: Resource temporarily unavailable\n", "another program"},
}

// locked is a Host on which the package manager is locked until a time.
func locked(backend string, until time.Time) *enginetest.FakeHost {
	h := enginetest.NewHost()
	h.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		reads := slices.Contains([]string{"dpkg-query", "rpm", "apt-cache"}, c.Argv[0]) || slices.Contains(c.Argv, "info") || slices.Contains(c.Argv, "-Q")
		if reads || !time.Now().Before(until) {
			return &engine.Result{}, nil
		}
		return &engine.Result{ExitCode: lockTexts[backend].exit, Stderr: []byte(lockTexts[backend].text)}, nil
	})
	return h
}

// A lock is waited for, and no longer than two minutes.
func TestLocks(t *testing.T) {
	for _, b := range backends {
		for _, held := range []time.Duration{5 * time.Second, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				m := bind(t, b.backend, b.facts, locked(b.backend.Name, start.Add(held)))
				_, _, err := RefreshDB.Call(t.Context(), m, virtual.Nothing{})
				took, e := time.Since(start), (*LockedError)(nil)
				switch {
				case held < lockWait && (err != nil || took < held || took > held+lockPoll):
					t.Errorf("%s: after %s: %v", b.backend.Name, took, err)
				case held > lockWait && (!errors.As(err, &e) || took < lockWait || took > lockWait+lockPoll):
					t.Errorf("%s: after %s: %v", b.backend.Name, took, err)
				case held > lockWait && !strings.Contains(err.Error(), " is locked by "+lockTexts[b.backend.Name].holder+", for longer than 2m0s"):
					t.Errorf("%s: %v", b.backend.Name, err)
				}
			})
		}
	}
}

// The lock of rpm is one of those above it, and so is what older versions of dnf say.
func TestLockOfRpm(t *testing.T) {
	for _, text := range []string{"error: can't create transaction lock on /var/lib/rpm/.rpm.lock (Resource temporarily unavailable)\n", "Failed to obtain the transaction lock (logged in as: root).\n"} {
		for name, judge := range map[string]func(*engine.Result) error{"dnf": judgeDnf, "zypper": judgeZypper} {
			_, locked := errors.AsType[*LockedError](judge(&engine.Result{ExitCode: 1, Stderr: []byte(text)}))
			if want := name == "dnf" || strings.Contains(text, "rpm.lock"); locked != want {
				t.Errorf("%s takes %q for a lock: %t", name, text, locked)
			}
		}
	}
}

// TestFindingB1DpkgIsLocked: a repair that meets a dpkg which is just ending waits for it. dpkg says so itself, and not apt-get.
func TestFindingB1DpkgIsLocked(t *testing.T) {
	for _, text := range []string{
		"dpkg: error: dpkg frontend lock was locked by another process with pid 4711\nNote: removing the lock file is always wrong, can damage the locked area\nand the entire system. See <https://wiki.debian.org/Teams/Dpkg/FAQ#db-lock>.\n",
		"dpkg: error: dpkg database lock was locked by another process with pid 4711\n", // 1.21
		"dpkg: error: dpkg frontend lock was locked by another process\n",               // where the holder can't be seen
		"dpkg: error: dpkg frontend is locked by another process\n",                     // 1.19
	} {
		synctest.Test(t, func(t *testing.T) {
			free := time.Now().Add(5 * time.Second)
			h := enginetest.NewHost()
			h.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
				if c.Argv[0] == "dpkg" && time.Now().Before(free) {
					return &engine.Result{ExitCode: 2, Stderr: []byte(text)}, nil
				}
				return &engine.Result{}, nil
			})
			if _, _, err := Repair.Call(t.Context(), bind(t, Apt(), nil, h), virtual.Nothing{}); err != nil || time.Now().Before(free) {
				t.Errorf("%q: %v", text, err)
			}
		})
	}
}

// To wait for a lock can be cancelled.
func TestLockCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := bind(t, Apt(), nil, locked("apt", time.Now().Add(time.Hour)))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, _, err := RefreshDB.Call(ctx, m, virtual.Nothing{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// No tool is asked a question, whatever it is: nothing can be typed, nor does it look
// for a terminal, and its words are those of no language.
func TestEnvironment(t *testing.T) {
	for _, b := range backends {
		h := locked(b.backend.Name, time.Time{})
		m := bind(t, b.backend, b.facts, h)
		if _, _, err := RefreshDB.Call(t.Context(), m, virtual.Nothing{}); err != nil {
			t.Error(err)
		}
		for _, c := range h.Commands() {
			if len(c.Stdin) > 0 || !slices.Contains(c.Env, "LC_ALL=C") || c.Grace != grace {
				t.Errorf("%s: %+v", b.backend.Name, c)
			}
			if b.backend == Apt() && !slices.Contains(c.Env, "DEBIAN_FRONTEND=noninteractive") {
				t.Errorf("%q", c.Env)
			}
		}
	}
}

// The database of each is watched, and what has nothing to do with it is not.
func TestWatch(t *testing.T) {
	for _, b := range backends {
		h := enginetest.NewHost()
		m := bind(t, b.backend, b.facts, h)
		sub, err := m.Watch(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range databases[b.backend.Name] {
			if b.backend == Pacman() {
				file += "/tiny-1.0-1"
			}
			if h.Touch(file) != 1 || h.Touch(file+"-shm") != 0 && b.backend != Pacman() {
				t.Errorf("%s: %s", b.backend.Name, file)
			}
		}
		sub.Close()
	}
}

// Each is chosen where it belongs, and nowhere else.
func TestSelect(t *testing.T) {
	for _, b := range backends {
		s := virtual.System{Facts: b.facts, Has: func(string) bool { return true }}
		_, sel, err := virtual.DefaultCatalog().Select("pkg", s, "")
		if err != nil || sel.Backend != b.backend || len(sel.Ambiguous) > 0 {
			t.Errorf("%v: %+v, %v", b.facts, sel, err)
		}
	}
}

func TestSplit(t *testing.T) {
	for in, want := range map[string]string{"a-1.0-r0": "a 1.0-r0", "py3-a-b-1.0_p1-r10": "py3-a-b 1.0_p1-r10", "a": " ", "a-1": " ", "": " "} {
		if name, version, _ := splitApk(in); name+" "+version != want {
			t.Errorf("%s: %q %q", in, name, version)
		}
	}
	for in, want := range map[string][3]string{"1": {"0", "1", ""}, "2:1.0-3": {"2", "1.0", "3"}, "1-2-3": {"0", "1-2", "3"}} {
		if got := splitEVR(in); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
	for in, want := range map[string]string{"tiny-9.9": "tiny", "tiny": "tiny", "a-b-1.0-1": "a-b", "a-b": "a-b"} {
		if got := plainNames([]string{in})[0]; got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}
