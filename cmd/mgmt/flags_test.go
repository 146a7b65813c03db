package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Second, "0": 0, "1500ms": 1500 * time.Millisecond, "1h30m": 90 * time.Minute,
	} {
		var s seconds
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("%q is %s, %v", text, time.Duration(s), err)
		}
	}
	for _, text := range []string{"", "-1", "-5s", "soon", "5 s", "99999999999999999999", "1e3"} {
		var s seconds
		if err := s.Set(text); err == nil || !strings.Contains(err.Error(), "write 5s") {
			t.Errorf("%q is %s, %v", text, time.Duration(s), err)
		}
	}
}

func TestOrList(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := orList(words); got != want {
			t.Errorf("%q is %q", words, got)
		}
	}
}

func TestColored(t *testing.T) {
	var buf bytes.Buffer
	for word, want := range map[string]bool{"always": true, "never": false, "auto": false} {
		if colored(choice{word: word}, &buf) != want {
			t.Errorf("--color=%s off a terminal is %t", word, !want)
		}
	}
}

// TestStateFolder: the first that is set counts, and only run makes it.
func TestStateFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("STATE_DIRECTORY", "")
	t.Setenv("MGMT_PREFIX", "")
	last := filepath.Join(home, ".local/state/mgmt")
	if os.Geteuid() == 0 {
		last = "/var/lib/mgmt"
	}
	expect := func(s state, want string) {
		t.Helper()
		if got, err := s.path(); err != nil || got != want {
			t.Errorf("the folder is %s, %v, want %s", got, err, want)
		}
	}
	expect(state{}, last)
	t.Setenv("STATE_DIRECTORY", filepath.Join(home, "systemd"))
	expect(state{}, filepath.Join(home, "systemd"))
	t.Setenv("MGMT_PREFIX", filepath.Join(home, "mine"))
	expect(state{}, filepath.Join(home, "mine"))
	expect(state{prefix: filepath.Join(home, "flag")}, filepath.Join(home, "flag"))
	if entries, _ := os.ReadDir(home); len(entries) != 0 {
		t.Errorf("a folder was made: %v", entries)
	}
	dir, err := (&state{prefix: filepath.Join(home, "a/b")}).dir()
	if info, e := os.Stat(dir); err != nil || e != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder was not made: %v, %v", err, e)
	}
	if dir, err := (&state{temp: true}).dir(); dir != "" || err != nil {
		t.Errorf("a temporary folder is %q, %v", dir, err)
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lockState(dir)
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "pid ") {
		t.Errorf("locked twice: %v", err)
	}
	unlock()
	again, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
	if unlock, err := lockState(""); err != nil {
		t.Error(err)
	} else {
		unlock()
	}
	if _, err := lockState(filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "--prefix") {
		t.Errorf("a missing folder: %v", err)
	}
}
