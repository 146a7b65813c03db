package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"golang.org/x/sys/unix"
)

// orphan is a process of a daemon that has died, and what its ledger had of it.
func orphan(t *testing.T, cost bool) (*exec.Cmd, noted) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	x, _ := readProc(cmd.Process.Pid)
	return cmd, noted{out: "0:0", pid: x.pid, start: x.start, signal: unix.SIGTERM, cost: cost}
}

func ledgerOf(t *testing.T, head []byte, list ...noted) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "commands")
	text := bytes.Clone(head)
	for _, e := range list {
		text = append(text, e.text()...)
	}
	must(t, os.WriteFile(path, text, 0o600))
	return path
}

func running(cmd *exec.Cmd) bool {
	x, ok := readProc(cmd.Process.Pid)
	return ok && x.alive
}

// TestFindingC5LeftCommands: what a daemon that died has left is ended, unless cutting it has a cost.
// A command with a cost waits for it, and no other does.
func TestFindingC5LeftCommands(t *testing.T) {
	cut, cutEntry := orphan(t, false)
	costly, costlyEntry := orphan(t, true)
	path := ledgerOf(t, head(), cutEntry, costlyEntry)
	h := newHost(t, Options{Ledger: path})
	if running(cut) || !running(costly) {
		t.Fatalf("it runs: %t, that with a cost: %t", running(cut), running(costly))
	}
	command(t, h, engine.Command{Argv: []string{"true"}})
	done := make(chan error, 1)
	go func() {
		_, err := h.Command(t.Context(), engine.Command{Argv: []string{"true"}, Cost: "half a database"})
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("the second transaction ran beside the first: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	must(t, costly.Process.Kill())
	_ = costly.Wait()
	must(t, <-done)
}

// TestFindingC5NoNextStep: the signal that ends a command reaches all of its processes before one acts on it. Else a shell whose child is
// ended first goes on with its script. Seen failing with signals that are sent to one running process after the other.
func TestFindingC5NoNextStep(t *testing.T) {
	const shells = 10
	next := filepath.Join(t.TempDir(), "next")
	cmd := exec.Command("sh", "-c", `for i in 1 2 3 4 5 6 7 8 9 10; do (sleep 1000; echo next >> "$0") & done; wait`, next)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
	})
	sleeping := func() (n int) {
		for pid, x := range processes() {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); x.alive && x.group == cmd.Process.Pid && string(name) == "sleep\n" {
				n++
			}
		}
		return n
	}
	for sleeping() < shells {
		time.Sleep(5 * time.Millisecond)
	}
	x, _ := readProc(cmd.Process.Pid)
	newHost(t, Options{Ledger: ledgerOf(t, head(), noted{out: "0:0", pid: x.pid, start: x.start, signal: unix.SIGTERM, grace: 5 * time.Second})})
	if sleeping() > 0 || running(cmd) {
		t.Error("something is still running")
	}
	if text, err := os.ReadFile(next); err == nil {
		t.Errorf("the scripts have gone on:\n%s", text)
	}
}

// TestFindingC5NumbersOfOthers: a number in the ledger that is another process by now, or that is of
// another boot or container, does no harm to what has that number. Nor does a file that is no ledger.
func TestFindingC5NumbersOfOthers(t *testing.T) {
	one, later := orphan(t, false)
	later.start--
	two, elsewhere := orphan(t, false)
	other := head()
	other[0] ^= 1
	for _, path := range []string{
		ledgerOf(t, head(), later), ledgerOf(t, other, elsewhere), ledgerOf(t, nil, elsewhere),
		ledgerOf(t, bytes.Repeat([]byte("x\n"), 3*entrySize)), ledgerOf(t, []byte("\n")),
	} {
		h := newHost(t, Options{Ledger: path})
		if !running(one) || !running(two) {
			t.Fatal("a process that was none of ours was ended")
		}
		command(t, h, engine.Command{Argv: []string{"true"}})
	}
}

// The ledger does not grow with the commands that have ended.
func TestLedgerStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "commands")
	h := newHost(t, Options{Ledger: path})
	for range 20 {
		command(t, h, engine.Command{Argv: []string{"true"}})
	}
	b, err := os.ReadFile(path)
	must(t, err)
	if len(b) != 2*entrySize || len(bytes.TrimSpace(b[entrySize:])) != 0 {
		t.Errorf("the ledger is\n%s", b)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// TestFindingQ10Ledger: the file with the commands that run is written again where somebody has removed it, and goes on there.
func TestFindingQ10Ledger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "commands")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, _, _, err := openLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.begin(); err != nil {
		t.Fatal(err)
	}
	a := l.add(noted{out: "1:1", pid: 1})
	l.add(noted{out: "1:2", pid: 2})
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := l.renew(); err == nil {
		t.Error("without a folder it is written")
	}
	l.add(noted{out: "1:3", pid: 3})
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), l.renew()); err != nil {
		t.Fatal(err)
	}
	l.remove(a)
	l.set(l.add(noted{out: "1:4"}), noted{out: "1:4", pid: 4})
	after, left, _, err := openLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	after.close()
	var pids []int
	for _, e := range left {
		pids = append(pids, e.pid)
	}
	if !slices.Equal(pids, []int{4, 2, 3}) {
		t.Errorf("it has %v", pids)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside it there is %v, %v", entries, err)
	}
	l.close()
	if err := l.renew(); err != nil {
		t.Errorf("after the end: %v", err)
	}
	(*ledger)(nil).close()
	if err := (*ledger)(nil).renew(); err != nil {
		t.Error(err)
	}
}
