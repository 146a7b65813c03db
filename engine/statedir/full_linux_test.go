package statedir

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/journal"
)

// fullEnv makes TestFindingQ10Full itself the process whose files may not grow.
const fullEnv = "MGMT_STATEDIR_FULL"

// TestFindingQ10Full: where there is no room to write a removed folder anew, the run goes on and says so, and writes it when there is room. The bound is one of a process, so
// another one meets it.
func TestFindingQ10Full(t *testing.T) {
	if path := os.Getenv(fullEnv); path != "" {
		withoutRoomFor(t, path)
		return
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFindingQ10Full$")
	c.Env = append(os.Environ(), fullEnv+"="+filepath.Join(t.TempDir(), "state"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func withoutRoomFor(t *testing.T, path string) {
	signal.Ignore(syscall.SIGXFSZ) // else the bound ends the process
	f := In(path)
	k := openKept(t, f)
	k.files["vars/large"] = strings.Repeat("x", 20_000)
	k.fill()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	most := func(n uint64) {
		t.Helper()
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: min(n, old.Max), Max: old.Max}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	most(10_000) // less than the journal has, and the large file
	k.look()
	if b, err := os.ReadFile(filepath.Join(path, "age.key")); string(b) != "key" {
		t.Errorf("what there is room for is not there: %q, %v", b, err)
	}
	k.look()
	if l := k.Loss(); l == nil || !errors.Is(l.Err, journal.ErrFull) {
		t.Errorf("without room it says %+v", l)
	}
	if n := strings.Count(k.log.String(), "can't be written anew"); n != 1 {
		t.Errorf("said %d times: %s", n, k.log)
	}
	most(old.Cur)
	for k.Loss().Err != nil { // the next try has its time
		time.Sleep(time.Millisecond)
		k.look()
	}
	if got := k.copied(); got != "k" {
		t.Errorf("there is %.200s", got)
	}
	k.end(f)
}

// TestFindingQ10OddPlaces: what is no file in the place of one holds nobody up, and what others have left for a new file lets nobody read it.
func TestFindingQ10OddPlaces(t *testing.T) {
	f := In(filepath.Join(t.TempDir(), "state"))
	k := openKept(t, f)
	k.fill()
	vars := filepath.Join(k.Path, "vars", "a", "b")
	for _, err := range []error{
		os.RemoveAll(k.Path), os.MkdirAll(vars, 0o700), syscall.Mkfifo(filepath.Join(k.Path, "age.key"), 0o600),
		os.WriteFile(filepath.Join(vars, "password.new"), []byte("old"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	k.look()
	if l := k.Loss(); l == nil || !slices.Equal(l.Other, []string{"age.key"}) || l.Err != nil {
		t.Errorf("it says %+v", l)
	}
	delete(k.files, "age.key")
	if got := k.copied(); got != "k" {
		t.Errorf("there is %s", got)
	}
	k.end(f)
}
