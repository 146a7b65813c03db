package bolt_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
)

// fullEnv makes the test TestNoRoom itself the process whose files may not grow.
const fullEnv = "MGMT_WORLD_BOLT_FULL"

// TestNoRoom: the system gives no more room in the middle of commits. Each of them fails as unavailable and names the file, what was acknowledged is
// there and nothing else, also for the next process, and changes are taken again when there is room. The bound is one of a process, so another one meets it.
func TestNoRoom(t *testing.T) {
	if path := os.Getenv(fullEnv); path != "" {
		writeWithoutRoom(t, path)
		return
	}
	path := file(t)
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoRoom$")
	c.Env = append(os.Environ(), fullEnv+"="+path)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := list(t, open(t, path, bolt.Options{}))
	if keys, err := os.ReadFile(path + ".want"); err != nil || got != string(keys) {
		t.Errorf("the next process sees %.200q, want %.200q: %v", got, keys, err)
	}
}

// writeWithoutRoom is the process without room. It writes what the file must have at the end beside it.
func writeWithoutRoom(t *testing.T, path string) {
	signal.Ignore(syscall.SIGXFSZ) // else the bound ends the process
	w := open(t, path, bolt.Options{})
	var want []string
	write := func(i int) error {
		value := strings.Repeat(fmt.Sprintf("%03d", i), 4000)
		_, ok, err := w.Txn(t.Context(), nil, []world.Op{{Key: fmt.Sprintf("k%03d", i), Value: []byte(value)}})
		if err == nil && ok {
			want = append(want, fmt.Sprintf("k%03d=%s", i, value))
		}
		return err
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	all := bound(t, 300_000)
	failed := 0
	for i := 1; i < 60; i++ {
		if err := write(i); err != nil {
			if failed++; !errors.Is(err, world.ErrUnavailable) || !strings.Contains(err.Error(), path) || errors.As(err, new(*bolt.DamageError)) {
				t.Fatalf("without room: %v", err)
			}
		}
		if got := list(t, w); got != strings.Join(want, " ") {
			t.Fatalf("after %d writes, of which %d failed, the store has %.200q", i, failed, got)
		}
	}
	if failed == 0 {
		t.Fatal("there was room for all")
	}
	bound(t, all)
	if err := write(999); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := errors.Join(w.Close(), os.WriteFile(path+".want", []byte(strings.Join(want, " ")), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// bound bounds the size of the files that this process writes, and returns the bound of before.
func bound(t *testing.T, size uint64) uint64 {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
	was := l.Cur
	l.Cur = size
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
	return was
}
