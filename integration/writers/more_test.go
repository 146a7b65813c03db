package writers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// oneFile is a graph of one file.
const oneFile = "resources:\n  file:\n  - {name: DIR/f, content: \"right\\n\", mode: \"0644\"}\n"

// begin starts a writer that goes on until the end of the test.
func begin(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// TestFindingK2NeverCloses: who keeps a file open keeps it from being repaired for two seconds, and no longer.
func TestFindingK2NeverCloses(t *testing.T) {
	d := start(t, program(t), oneFile, nil)
	begin(t, self("open", d.data("f"), "theirs"))
	d.until("the file that is held open is repaired", func() bool {
		for _, e := range d.history(d.named("f")) {
			if e.text() == "theirs" {
				return true
			}
		}
		return false
	})
	if b, err := os.ReadFile(d.data("f")); err != nil || string(b) != right {
		t.Errorf("the file has %q, %v", b, err)
	}
}

// TestWithoutRoot: the kernel does not say who writes, so nobody is named; all else is the same.
func TestWithoutRoot(t *testing.T) {
	var as *syscall.Credential
	if os.Geteuid() == 0 {
		as = &syscall.Credential{Uid: 12345, Gid: 12345}
	}
	d := start(t, program(t), oneFile, as)
	if err := os.Chmod(d.data("f"), 0o666); err != nil {
		t.Fatal(err)
	}
	d.until("its mode is right", func() bool {
		st, err := os.Stat(d.data("f"))
		return err == nil && st.Mode() == 0o644
	})
	for i, name := range []string{"cp", "twice"} {
		w := &writers[0]
		if name == "twice" {
			w = &writers[len(writers)-1]
		}
		c := &column{t: t, d: d, w: w, s: &situations[0], path: d.data("f"), work: &work{dir: t.TempDir(), data: d.data("")}, alone: map[string]int{}}
		text := "text of " + name
		pid, err := c.write(text, i)
		if err != nil {
			t.Fatal(err)
		}
		c.repaired()
		c.wrote(text, pid)
		c.look()
	}
}

// TestFindingK4Appends: a log that grows in a managed folder does not wake the daemon for each line. What it costs is in the output.
func TestFindingK4Appends(t *testing.T) {
	d := start(t, program(t), "resources:\n  file:\n  - {name: DIR/d/, state: exists, recurse: true}\n  - {name: DIR/d/f, content: \"right\\n\", mode: \"0644\"}\n", nil)
	begin(t, self("append", filepath.Join(d.data("d"), "log"), "a line of a log"))
	d.until("the log grows", func() bool {
		st, err := os.Stat(filepath.Join(d.data("d"), "log"))
		return err == nil && st.Size() > 1<<14
	})
	began, before := time.Now(), d.ticks()
	d.until("the log has grown to 64 KiB", func() bool {
		st, err := os.Stat(filepath.Join(d.data("d"), "log"))
		return err == nil && st.Size() > 64<<10
	})
	// A hundred ticks are a second.
	t.Logf("%.2f %% of a core", 100*float64(d.ticks()-before)/100/time.Since(began).Seconds())
	if out, err := run("cp", "/etc/hostname", d.data("d/f")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d.until("the file beside it is repaired", func() bool {
		b, err := os.ReadFile(d.data("d/f"))
		return err == nil && string(b) == right
	})
}

// ticks is the time of the processor that the daemon has used.
func (d *daemon) ticks() int {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(d.cmd.Process.Pid), "stat"))
	if err != nil {
		d.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		d.t.Fatalf("%v, %v in %s", err1, err2, b)
	}
	return user + system
}

// TestFindingK1Edits: 80 different edits, one after the other, are corrected each time.
func TestFindingK1Edits(t *testing.T) {
	d := start(t, program(t), oneFile, nil)
	c := &column{t: t, d: d, w: &writers[4], s: &situations[0], path: d.data("f"), work: &work{dir: t.TempDir(), data: d.data("")}, asRoot: os.Geteuid() == 0, alone: map[string]int{}}
	for i := range 80 {
		text := "edit " + strconv.Itoa(i)
		pid, err := c.write(text, i)
		if err != nil {
			t.Fatal(err)
		}
		c.repaired()
		c.wrote(text, pid)
	}
	c.look()
	if log := complaints(d.said()); log != "" {
		t.Errorf("the daemon says: %s", tail(log, 2000))
	}
}
