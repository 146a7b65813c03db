package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// killedEnv makes the test program the engine of a history, in that folder.
const killedEnv = "MGMT_CAUSES_DIR"

// TestFindingQ5Killed: the causes are the true ones where the engine is killed in the middle of its runs, too. It is a process of its own.
// What it has told before its end it knows afterwards; of the rest nobody can say whether it was done.
func TestFindingQ5Killed(t *testing.T) {
	playHistories(t, 30, 15, func(t *testing.T, seed uint64) {
		h := newHistory(t, seed)
		h.killed = &exec.Cmd{}
		h.playKilled()
	})
}

// runKilled is the process: each line that it reads is a graph, and each that it writes is told.
func runKilled(dir string) error {
	ctx, lines := context.Background(), json.NewDecoder(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	var declared map[string]string
	if err := lines.Decode(&declared); err != nil {
		return err
	}
	e, err := startEngine(ctx, dir, filesAndWhole(dir, declared), func(x told) { _ = out.Encode(x) })
	if err != nil {
		return err
	}
	for {
		declared = nil
		if err := lines.Decode(&declared); err != nil {
			return err
		}
		if _, err := e.Apply(ctx, filesAndWhole(dir, declared)); err != nil {
			return err
		}
	}
}

func (h *history) startProcess() {
	cmd := exec.CommandContext(h.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killedEnv+"="+h.dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.killed, h.in, h.heard = cmd, in, make(chan struct{})
	go func() {
		defer close(h.heard)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var x told
			if err := json.Unmarshal(lines.Bytes(), &x); err == nil { // else it was killed while it wrote the line
				h.takes(x)
			}
		}
	}()
	h.send()
}

func (h *history) send() {
	if err := json.NewEncoder(h.in).Encode(h.declared); err != nil {
		h.t.Error(err)
	}
}

func (h *history) kill() {
	if err := h.killed.Process.Kill(); err != nil {
		h.t.Error(err)
	}
	<-h.heard
	_ = h.killed.Wait() // it was killed
}

// playKilled draws the steps, in each of which the engine is killed.
func (h *history) playKilled() {
	h.begin()
	for range 6 {
		x := newExpect()
		for range 1 + h.rand.IntN(3) {
			if act := h.act(x, true); act != nil {
				act()
			}
		}
		n := h.rand.IntN(4)
		if len(x.must) == 0 { // nothing will change
			n = 0
		}
		h.wait(n, time.Duration(h.rand.IntN(3000))*time.Microsecond)
		h.kill()
		h.say("kill")
		h.judgeKilled(x)
	}
	h.end()
}

// wait waits until the engine has told of n changes, or rests, and then a time.
func (h *history) wait(n int, d time.Duration) {
	over := func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.ran) >= n || h.rests && len(h.ran) > 0
	}
	for !over() {
		select {
		case <-h.news:
		case <-h.t.Context().Done():
			h.t.Fatalf("%s: nothing happens", strings.Join(h.steps, "; "))
		}
	}
	select {
	case <-time.After(d):
	case <-h.t.Context().Done():
	}
}

// judgeKilled compares what the engine has told before it was killed, alters some files, and starts it again. It may finish then what
// it has not told of, with the causes that this has.
func (h *history) judgeKilled(x *expect) {
	h.t.Helper()
	h.mu.Lock()
	h.compare(x)
	done := map[string]bool{}
	for _, r := range h.ran {
		done[strings.TrimSuffix(strings.TrimPrefix(r.Resource, "file["), "]")] = true
	}
	h.mu.Unlock()
	if h.t.Failed() {
		h.t.FailNow()
	}
	rest, down := newExpect(), newExpect()
	for path, list := range x.must {
		if done[path] && path != h.whole() {
			continue
		}
		for _, c := range list {
			if strings.HasPrefix(c, "corrective") {
				c = anew
			}
			rest.may[path] = append(rest.may[path], c)
		}
	}
	for path := range x.may { // a stranger has altered a part
		rest.may[path] = append(rest.may[path], anew)
	}
	for range h.rand.IntN(3) {
		if act := h.act(down, false); act != nil {
			act()
		}
	}
	rest.must = down.must
	for path, list := range down.must {
		if h.isPart(path) && slices.Contains(list, anew) { // of two causes either is told
			rest.may[h.whole()] = append(rest.may[h.whole()], anew)
		}
	}
	h.may = nil
	h.say("start")
	h.start()
	h.judge(rest)
}
