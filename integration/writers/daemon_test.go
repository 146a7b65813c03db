package writers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// daemon is mgmt at work on a folder.
type daemon struct {
	t       *testing.T
	program string
	dir     string // graph, state and log are here; data has the managed names
	as      *syscall.Credential
	cmd     *exec.Cmd

	mu  sync.Mutex
	log bytes.Buffer
}

// Write implements io.Writer, for the log.
func (d *daemon) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Write(p)
}

func (d *daemon) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// start runs mgmt with a graph, in which DIR is the folder of the managed names, until it has converged.
func start(t *testing.T, program, graph string, as *syscall.Credential, flags ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, program: program, dir: t.TempDir(), as: as}
	if err := os.Mkdir(d.data(""), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "graph.yaml"), []byte(strings.ReplaceAll(graph, "DIR", d.data(""))), 0o644); err != nil {
		t.Fatal(err)
	}
	if as != nil {
		for _, path := range []string{filepath.Dir(d.dir), d.dir, d.data(""), filepath.Join(d.dir, "graph.yaml")} {
			if err := os.Chown(path, int(as.Uid), int(as.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.cmd = d.command(append([]string{"run", "--yaml", filepath.Join(d.dir, "graph.yaml")}, flags...)...)
	d.cmd.Stdout, d.cmd.Stderr = d, d
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		if t.Failed() {
			t.Log(tail(complaints(d.said()), 4000))
		}
	})
	d.until("it has converged", func() bool { return strings.Contains(d.said(), "converged:") })
	return d
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// data is the path of a managed name.
func (d *daemon) data(name string) string { return filepath.Join(d.dir, "data", name) }

func (d *daemon) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.program, append(args, "--prefix", filepath.Join(d.dir, "state"))...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.dir}
	if d.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.as}
	}
	return cmd
}

// until waits for something to become true, as long as the test may last.
func (d *daemon) until(what string, yes func() bool) {
	d.t.Helper()
	end, limited := d.t.Deadline()
	for !yes() {
		if limited && time.Until(end) < 30*time.Second {
			d.t.Fatalf("it did not happen that %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// event is what the history has of a change.
type event struct {
	Outcome  string
	Resource string
	Class    string
	By       string
	Changes  []struct {
		Field    string
		Verb     string
		From, To any
	}
	Triggers []struct {
		Path    string
		Culprit *struct {
			PID     int
			Program string
			Gone    bool
		}
	}
}

// text is the content that was corrected; "" for none.
func (e *event) text() string {
	for _, c := range e.Changes {
		if s, ok := c.From.(string); ok && c.Field == "content" {
			return s
		}
	}
	return ""
}

// history returns the last events of a resource.
func (d *daemon) history(resource string) []event {
	d.t.Helper()
	cmd := d.command("log", "--resource", resource, "-o", "json", "-n", "1000")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("mgmt log: %v: %s", err, &errs)
	}
	var log struct{ Events []event }
	if err := json.Unmarshal(out, &log); err != nil {
		d.t.Fatalf("mgmt log: %v in %s", err, tail(string(out), 300))
	}
	return log.Events
}

// named is the file resource of a name.
func (d *daemon) named(name string) string { return fmt.Sprintf("file[%s]", d.data(name)) }

// complaints are the lines of a log that no neighbour may be the reason of.
func complaints(log string) string {
	var bad strings.Builder
	for line := range strings.Lines(log) {
		for _, word := range []string{"flapping", "runs too often", " failed", "ERROR"} {
			if strings.Contains(line, word) {
				bad.WriteString(line)
				break
			}
		}
	}
	return bad.String()
}
