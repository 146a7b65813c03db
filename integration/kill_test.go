package integration_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killRounds is how often the program is killed by TestKilledAtAnyMoment.
const killRounds = 200

const killFiles = 4

// killed is a graph in which files notify commands that append what they see to
// a log, and the program that runs it.
type killed struct {
	t       *testing.T
	dir     string
	program string
}

func newKilled(t *testing.T) *killed {
	dir, err := program()
	if err != nil {
		t.Fatal(err)
	}
	k := &killed{t, t.TempDir(), filepath.Join(dir, "mgmt")}
	return k
}

func (k *killed) path(name string, i int) string { return filepath.Join(k.dir, fmt.Sprint(name, i)) }

// declare writes the graph in which every file has this content.
func (k *killed) declare(content string) {
	var b strings.Builder
	b.WriteString("resources:\n  file:\n")
	for i := range killFiles {
		fmt.Fprintf(&b, "  - {name: %s, content: \"%s\\n\", notify: [\"exec[e%d]\"]}\n", k.path("file", i), content, i)
	}
	b.WriteString("  exec:\n")
	for i := range killFiles {
		fmt.Fprintf(&b, "  - {name: e%d, shell: /bin/sh, cmd: \"cat %s >> %s\", refreshonly: true}\n", i, k.path("file", i), k.path("log", i))
	}
	if err := os.WriteFile(filepath.Join(k.dir, "graph.yaml"), []byte(b.String()), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// run runs the program until it has converged, or kills it after a time.
func (k *killed) run(killAfter time.Duration) {
	k.t.Helper()
	cmd := exec.Command(k.program, "run", "--yaml", filepath.Join(k.dir, "graph.yaml"), "--prefix", filepath.Join(k.dir, "state"), "--converged-exit")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var err error
	if killAfter > 0 {
		select {
		case err = <-done:
		case <-time.After(killAfter):
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				k.t.Fatal(err)
			}
			err = <-done
			if wasKilled(err) {
				return
			}
		}
	} else {
		err = <-done
	}
	if err != nil {
		k.t.Fatalf("the program: %v\n%s", err, &out)
	}
}

func wasKilled(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

func (k *killed) log(i int) string {
	b, err := os.ReadFile(k.path("log", i))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.t.Fatal(err)
	}
	return string(b)
}

// TestKilledAtAnyMoment: law 7. The program is killed at random moments of a run in
// which every file changes. The next run brings every refresh that is owed; the one
// after it none. Seen failing with records kept in memory only.
func TestKilledAtAnyMoment(t *testing.T) {
	k := newKilled(t)
	k.declare("round -1")
	begin := time.Now()
	k.run(0)
	full := time.Since(begin)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	repeated := 0
	for round := range killRounds {
		content := fmt.Sprint("round ", round)
		k.declare(content)
		at := time.Duration(random.Int64N(int64(full)))
		k.run(max(at, 1))
		k.run(0)
		var after [killFiles]string
		for i := range killFiles {
			after[i] = k.log(i)
			if !strings.HasSuffix(after[i], content+"\n") {
				t.Errorf("seed %d, round %d, killed after %s: the refresh of file %d was lost", seed, round, at, i)
			}
			repeated += strings.Count(after[i], content+"\n") - 1
		}
		if round%4 != 0 {
			continue
		}
		k.run(0)
		for i := range killFiles {
			if k.log(i) != after[i] {
				t.Errorf("seed %d, round %d, killed after %s: file %d was refreshed again", seed, round, at, i)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("a full run takes %s; %d of %d refreshes were repeated", full, repeated, killRounds*killFiles)
}
