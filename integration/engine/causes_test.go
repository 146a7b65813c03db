package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
)

// TestFindingQ5Q6L3Causes: in random histories of edits, drifts while the engine is up and down, parts of a file and restarts, the class
// and the causes of each change are the true ones. A model knows them: it has made all that happened. MGMT_SEED=n draws the same
// histories, and MGMT_HISTORIES says how many.
func TestFindingQ5Q6L3Causes(t *testing.T) {
	playHistories(t, 300, 200, func(t *testing.T, seed uint64) { newHistory(t, seed).play() })
}

// playHistories plays n histories, and in the short lane fewer.
func playHistories(t *testing.T, n, short int, play func(t *testing.T, seed uint64)) {
	seed := rand.Uint64()
	if testing.Short() {
		n = short
	}
	if text := os.Getenv("MGMT_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal("MGMT_SEED: ", err)
		}
	}
	if text := os.Getenv("MGMT_HISTORIES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal("MGMT_HISTORIES: ", err)
		}
	}
	for i := range n {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			defer func() {
				if t.Failed() {
					t.Logf("MGMT_SEED=%d MGMT_HISTORIES=1 draws the same", seed+uint64(i))
				}
			}()
			play(t, seed+uint64(i))
		})
	}
}

// history is one random history: the model, and the engine that it is tried on.
type history struct {
	t     *testing.T
	rand  *rand.Rand
	dir   string
	count int // of texts, none of which is used twice

	declared map[string]string // the content of each file in the graph, by path
	steps    []string          // for people

	e      *mgmt.Engine
	stop   context.CancelFunc
	killed *exec.Cmd      // the engine is another process, which is killed; nil for one of this process
	in     io.WriteCloser // graphs for it
	heard  chan struct{}  // closed when all is read that it has said
	news   chan struct{}  // capacity 1

	may map[string][]string // what may come late of the step before

	mu    sync.Mutex
	ran   []told // those that have changed something, since the step began
	rests bool
}

// told is what an engine has said: of a run that has changed something or has failed, or that the graph rests.
type told struct {
	Resource string
	Causes   []string
	Text     string
	Rests    bool
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{t: t, rand: rand.New(rand.NewPCG(seed, 5)), dir: t.TempDir(), declared: map[string]string{}, news: make(chan struct{}, 1)}
	if err := os.Mkdir(h.path("parts"), 0o755); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *history) path(name string) string { return filepath.Join(h.dir, name) }

// text returns a content that was never there.
func (h *history) text() string { h.count++; return fmt.Sprintf("text %d\n", h.count) }

// isPart reports whether the file that is put together has the content of this one.
func (h *history) isPart(path string) bool { return filepath.Dir(path) == h.path("parts") }

func (h *history) whole() string { return h.path("whole") }

func idOf(path string) string { return "file[" + path + "]" }

// graph declares what the model says.
func (h *history) graph() *gapi.Declared { return filesAndWhole(h.dir, h.declared) }

func filesAndWhole(dir string, declared map[string]string) *gapi.Declared {
	g := static.NewGraph("g")
	for _, path := range slices.Sorted(maps.Keys(declared)) {
		g.AddValues("file", path, map[string]any{"content": declared[path]})
	}
	g.AddValues("file", filepath.Join(dir, "whole"), map[string]any{"fragments": []any{filepath.Join(dir, "parts") + "/"}})
	return g.Declared()
}

// expect is what a step has to lead to: by the path of a file, the causes that each change of it must have one of. The change has to
// come, but for the files in may.
type expect struct {
	must map[string][]string
	may  map[string][]string
}

func newExpect() *expect { return &expect{must: map[string][]string{}, may: map[string][]string{}} }

const (
	isNew   = "intended: graph"
	edited  = "intended: declaration content"
	drifted = "corrective: event "  // and the path that a stranger has written
	anew    = "corrective: anew"    // a stranger has written it while no engine ran
	written = "intended: event by " // and the part that was written
	mended  = "corrective: event by "
	missed  = "corrective: below" // a stranger has removed it, and what reads it has missed it before the event was told
)

// causes writes each cause of a run behind its class.
func causes(r *reactor.Run) (list []string) {
	for _, c := range r.Triggers {
		text := r.Class.String() + ": " + string(c.Cause)
		switch {
		case len(c.Fields) > 0:
			text += " " + strings.Join(c.Fields, ",")
		case c.Cause == reactor.CauseEvent && c.From != "":
			text += " by " + c.From
		case c.Cause == reactor.CauseEvent:
			text += " " + c.Path
		}
		list = append(list, text)
	}
	return list
}

// play draws the steps, and judges each.
func (h *history) play() {
	h.begin()
	for range 8 {
		switch h.rand.IntN(3) {
		case 0:
			h.restart()
		default:
			x := newExpect()
			if act := h.act(x, true); act != nil {
				act()
			}
			h.judge(x)
		}
	}
	h.end()
}

// begin starts the engine with a first graph.
func (h *history) begin() {
	h.declared[h.path("f0")], h.declared[h.path("f1")] = h.text(), h.text()
	h.declared[h.path("parts/p0")], h.declared[h.path("parts/p1")] = h.text(), h.text()
	first := newExpect()
	for path := range h.declared {
		first.must[path] = []string{isNew}
	}
	first.must[h.whole()] = []string{isNew}
	h.say("start")
	h.start()
	h.judge(first)
}

func (h *history) say(format string, args ...any) {
	h.steps = append(h.steps, strings.ReplaceAll(fmt.Sprintf(format, args...), h.dir+"/", ""))
}

// act draws an edit or a drift of one file that the expectation does not name yet, and returns what does it; nil where the drawn
// file is taken. While the engine is down the graph of the next start has the edit.
func (h *history) act(x *expect, up bool) (do func()) {
	paths := append(slices.Sorted(maps.Keys(h.declared)), h.whole())
	path := paths[h.rand.IntN(len(paths))]
	apply := func() {
		if up {
			h.apply()
		}
	}
	kind := h.rand.IntN(5)
	if kind == 4 {
		return h.refused(path, up)
	}
	if kind == 0 {
		path = h.path("parts/p" + strconv.Itoa(len(h.declared)+h.count))
	}
	if _, taken := x.must[path]; taken && path != h.whole() {
		return nil
	}
	switch {
	case kind == 0:
		h.say("a part %s comes", path)
		x.must[path] = []string{isNew}
		h.wrote(x, path)
		return func() { h.declared[path] = h.text(); apply() }
	case kind == 1 && path != h.whole():
		h.say("%s is edited", path)
		x.must[path] = []string{edited}
		if h.isPart(path) {
			h.wrote(x, path)
		}
		return func() { h.declared[path] = h.text(); apply() }
	default:
		h.say("%s is altered by a stranger", path)
		cause := anew
		switch {
		case up && path == h.whole():
			cause = drifted
		case up:
			cause = drifted + path
		}
		x.must[path] = append(x.must[path], cause)
		removed := h.rand.IntN(3) == 0
		if up && h.isPart(path) {
			if removed {
				x.must[path] = append(x.must[path], missed)
			}
			x.may[h.whole()] = append(x.may[h.whole()], drifted, mended+idOf(path))
		}
		return func() {
			var err error
			if removed {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, []byte(h.text()), 0o600)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be removed twice while no engine runs
				h.t.Error(err)
			}
		}
	}
}

// refused returns an edit of a file that is refused, with all that stands beside it: it is never the cause of anything.
func (h *history) refused(path string, up bool) func() {
	if !up || h.killed != nil {
		return nil
	}
	h.say("an edit of %s is refused", path)
	return func() {
		declared := maps.Clone(h.declared)
		for path := range declared {
			declared[path] = h.text()
		}
		declared["nowhere"] = h.text() // no path
		if _, err := h.e.Apply(h.t.Context(), filesAndWhole(h.dir, declared)); err == nil {
			h.t.Error("a graph with a relative path is taken")
		}
	}
}

// wrote says that the whole changes because a part is written as the graph says.
func (h *history) wrote(x *expect, part string) {
	x.must[h.whole()] = append(x.must[h.whole()], written+idOf(part))
}

// restart ends the engine, does something to files and graph, and starts it again.
func (h *history) restart() {
	h.say("stop")
	h.end()
	x := newExpect()
	for range h.rand.IntN(4) {
		if act := h.act(x, false); act != nil {
			act()
		}
	}
	h.say("start")
	h.start()
	h.judge(x)
}

// startEngine starts an engine with a first graph.
func startEngine(ctx context.Context, dir string, g *gapi.Declared, tell func(told)) (*mgmt.Engine, error) {
	e, err := mgmt.Open(ctx, mgmt.Options{State: mgmt.StateIn(filepath.Join(dir, "state")), Flapping: &reactor.Flapping{}, Observer: mgmt.Observer{
		Ran: func(r reactor.Run) {
			if r.Changed || r.Err != nil {
				tell(told{Resource: r.Resource, Causes: causes(&r), Text: fmt.Sprint(r.Changes, r.Err)})
			}
		},
		Converged: func(yes bool, _ reactor.Counts) { tell(told{Rests: yes}) },
	}}, nil)
	if err == nil {
		_, err = e.Apply(ctx, g)
	}
	return e, err
}

func (h *history) start() {
	h.mu.Lock()
	h.rests, h.ran = false, nil
	h.mu.Unlock()
	if h.killed != nil {
		h.startProcess()
		return
	}
	ctx, stop := context.WithCancel(h.t.Context())
	h.stop = stop
	var err error
	if h.e, err = startEngine(ctx, h.dir, h.graph(), h.takes); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) apply() {
	if h.killed != nil {
		h.send()
		return
	}
	if _, err := h.e.Apply(h.t.Context(), h.graph()); err != nil {
		h.t.Error(err)
	}
}

func (h *history) end() {
	if h.killed != nil {
		h.kill()
		return
	}
	h.stop()
	if err := h.e.Wait(); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) takes(x told) {
	h.note(func() {
		if x.Resource == "" {
			h.rests = x.Rests
		} else {
			h.ran = append(h.ran, x)
		}
	})
}

func (h *history) note(what func()) {
	h.mu.Lock()
	what()
	h.mu.Unlock()
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// judge waits until all has happened that has to, and the graph is at rest, and compares the causes.
func (h *history) judge(x *expect) {
	h.t.Helper()
	for !h.over(x) {
		select {
		case <-h.news:
		case <-h.t.Context().Done():
			h.t.Fatalf("%s: not all of %v has changed: %v", strings.Join(h.steps, "; "), x.must, h.ran)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.compare(x)
	h.ran, h.may = nil, x.may
	if h.t.Failed() {
		h.t.FailNow()
	}
}

// compare compares the causes of what was told with what they may be.
func (h *history) compare(x *expect) {
	h.t.Helper()
	for _, r := range h.ran {
		path := strings.TrimSuffix(strings.TrimPrefix(r.Resource, "file["), "]")
		want := slices.Concat(x.must[path], x.may[path], h.may[path])
		fits := func(c string) bool {
			return slices.Contains(want, c) || path == h.whole() && strings.HasPrefix(c, drifted) && slices.Contains(want, drifted) // of several, the first one is told
		}
		if !slices.ContainsFunc(r.Causes, fits) {
			h.t.Errorf("%s: %s changed with the causes %q, want one of %q: %s", strings.Join(h.steps, "; "), r.Resource, r.Causes, want, r.Text)
		}
	}
}

// over reports whether each file that must change has, is as the model says, and the graph is at rest.
func (h *history) over(x *expect) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for path := range x.must {
		if !slices.ContainsFunc(h.ran, func(r told) bool { return r.Resource == idOf(path) }) {
			return false
		}
	}
	var whole strings.Builder
	for _, path := range slices.Sorted(maps.Keys(h.declared)) {
		if text, err := os.ReadFile(path); err != nil || string(text) != h.declared[path] {
			return false
		}
		if h.isPart(path) {
			whole.WriteString(h.declared[path])
		}
	}
	text, err := os.ReadFile(h.whole())
	return h.rests && err == nil && string(text) == whole.String()
}
