package daemon

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/safepath"
	_ "github.com/reactivegraph/mgmt/resources/exec"
	_ "github.com/reactivegraph/mgmt/resources/file"
)

// living is a daemon that is started again and again over one state folder and one graph file.
type living struct {
	t           *testing.T
	dir         string // with the files that are managed
	state, path string
	client      *control.Client
	end         func()
}

func newLiving(t *testing.T) *living {
	dir := t.TempDir()
	l := &living{t: t, dir: filepath.Join(dir, "files"), state: filepath.Join(dir, "state"), path: filepath.Join(dir, "graph.yaml")}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return l
}

// start runs a daemon until stop, or the end of the test.
func (l *living) start() {
	l.t.Helper()
	d, err := Open(l.t.Context(), Config{Graph: input.Config{YAML: l.path}, State: state.Place{Prefix: l.state}, Socket: Socket{Path: filepath.Join(l.state, SocketName)}})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := d.Run(ctx)
		ended <- err
	}()
	var over bool
	l.end = func() {
		if over {
			return
		}
		over = true
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
		if err := d.Close(); err != nil {
			l.t.Error(err)
		}
	}
	l.t.Cleanup(l.end)
	<-d.opened
	l.client = control.NewClient(filepath.Join(l.state, SocketName))
	l.rest()
}

// rest waits until the graph has converged, and all is well.
func (l *living) rest() {
	l.t.Helper()
	st, err := l.client.Status(l.t.Context(), control.StatusQuery{Wait: time.Minute})
	if err != nil || !st.Converged || len(st.Resources) > 0 || st.Refused+st.Held != "" {
		l.t.Fatalf("it stands as %+v, %v", st, err)
	}
}

// edit has another graph take effect.
func (l *living) edit(text string) {
	l.t.Helper()
	if err := safepath.System().WriteFile(l.path, []byte(text), 0o600, false); err != nil {
		l.t.Fatal(err)
	}
	v, err := l.client.Reload(l.t.Context())
	if err != nil || v.Refused+v.Held != "" {
		l.t.Fatalf("%s\n%+v, %v", text, v, err)
	}
	l.rest()
}

// undo undoes, and returns what can't be.
func (l *living) undo(req control.UndoRequest) []control.CantUndo {
	l.t.Helper()
	plan, err := l.client.Undo(l.t.Context(), req)
	if err != nil || plan.Verdict != nil && plan.Verdict.Refused+plan.Verdict.Held != "" {
		l.t.Fatalf("%+v, %v", plan, err)
	}
	l.rest()
	return plan.Cannot
}

// changes returns the changes after an event.
func (l *living) changes(after uint64) []*control.Event {
	l.t.Helper()
	log, err := l.client.Log(l.t.Context(), control.Query{After: after, Outcomes: []control.Outcome{control.Changed}, Limit: 1000})
	if err != nil {
		l.t.Fatal(err)
	}
	return log.Events
}

// tree is what is in the folder: type, mode, content and links.
func (l *living) tree() string {
	l.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(l.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		what := ""
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what = string(text)
		case info.Mode()&fs.ModeSymlink != 0:
			if what, err = os.Readlink(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %v %q\n", strings.TrimPrefix(path, l.dir), info.Mode(), what)
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return b.String()
}

// histories makes random graphs over a few paths.
type histories struct{ *rand.Rand }

func (r histories) pick(list ...string) string { return list[r.IntN(len(list))] }

var paths = []string{"a", "b", "d/", "d/e", "d/f/", "d/f/g", "l"}

// graph returns the text of a graph of files, folders and links in a folder.
func (r histories) graph(dir string) string {
	var b strings.Builder
	b.WriteString("resources:\n  exec: [{name: nothing, cmd: \"true\", ifcmd: \"false\"}]\n  file:\n")
	n, without := 0, "-" // a folder that the graph does not have, so it has nothing in it either
	for _, p := range paths {
		if strings.HasPrefix(p, without) {
			continue
		}
		if r.IntN(4) == 0 {
			if strings.HasSuffix(p, "/") {
				without = p
			}
			continue
		}
		n++
		fmt.Fprintf(&b, "  - name: %s/%s\n", dir, p)
		switch {
		case strings.HasSuffix(p, "/"):
			if r.IntN(2) == 0 {
				fmt.Fprintf(&b, "    mode: %q\n", r.pick("0755", "0700", "0750"))
			}
		case p == "l":
			fmt.Fprintf(&b, "    symlink: true\n    source: %s\n", r.pick("a", "b", "/nowhere"))
		case r.IntN(6) == 0:
			b.WriteString("    state: absent\n")
		default:
			fmt.Fprintf(&b, "    content: %q\n", r.pick("one\n", "two\n", "", "ünïcode \x01\n"))
			if r.IntN(2) == 0 {
				fmt.Fprintf(&b, "    mode: %q\n", r.pick("0644", "0600", "0640"))
			}
			if r.IntN(3) == 0 {
				b.WriteString("    notify: exec[nothing]\n")
			}
		}
	}
	if n == 0 {
		return "resources: {}\n"
	}
	return b.String()
}

// begin fills a folder with what was there before any graph.
func (r histories) begin(dir string) error {
	for _, p := range paths {
		path := filepath.Join(dir, p)
		_, above := os.Lstat(filepath.Dir(path))
		switch {
		case above != nil || r.IntN(2) == 0:
		case strings.HasSuffix(p, "/"):
			if err := os.Mkdir(path, 0o711); err != nil {
				return err
			}
		case p == "l":
			if err := os.Symlink("was", path); err != nil {
				return err
			}
		default:
			if err := os.WriteFile(path, []byte("was "+p), 0o604); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestUndoHistories: after any history of graphs, drift and restarts, an undo of all of it brings back what was there before, but for what it said
// that it could not; it stays so over a restart, an undo of the undo brings the work back, and resume ends both.
func TestUndoHistories(t *testing.T) {
	most := 12
	if testing.Short() {
		most = 4
	}
	for seed := range most {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { undoHistory(t, histories{rand.New(rand.NewPCG(uint64(seed), 35))}) })
	}
}

func undoHistory(t *testing.T, r histories) {
	l := newLiving(t)
	if err := r.begin(l.dir); err != nil {
		t.Fatal(err)
	}
	before := l.tree()
	if err := os.WriteFile(l.path, []byte("resources: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
	var texts []string
	for range 1 + r.IntN(4) {
		text := r.graph(l.dir)
		l.edit(text)
		texts = append(texts, text)
		if r.IntN(4) == 0 {
			l.end()
			l.start()
		}
	}
	after := l.tree()
	last := l.changes(0)
	cannot := l.undo(control.UndoRequest{Since: 3600})
	if got := l.tree(); got != before && len(cannot) == 0 {
		t.Fatalf("before\n%safter the graphs\n%s\n%s\nand after an undo\n%s", before, strings.Join(texts, "\n"), after, got)
	}
	undone := l.tree()
	if r.IntN(2) == 0 {
		l.end()
		l.start()
		if got := l.tree(); got != undone {
			t.Errorf("it was undone to\n%sand a restart makes it\n%s", undone, got)
		}
	} else {
		var from uint64
		if n := len(last); n > 0 {
			from = last[n-1].ID
		}
		for _, e := range slices.Backward(l.changes(from)) {
			l.undo(control.UndoRequest{Run: e.Run})
		}
		if got := l.tree(); got != after && len(cannot) == 0 {
			t.Errorf("after\n%sthe undo was undone to\n%s", after, got)
		}
	}
	if _, err := l.client.Resume(t.Context(), control.ResumeRequest{}); err != nil {
		t.Fatal(err)
	}
	l.rest()
	if st, err := l.client.Status(t.Context(), control.StatusQuery{}); err != nil || len(st.Undone) > 0 {
		t.Errorf("after resume: %+v, %v", st.Undone, err)
	}
}

// TestUndoTells: what can't be undone is told before anything is undone, and nothing happens then.
func TestUndoTells(t *testing.T) {
	l := newLiving(t)
	if err := os.WriteFile(l.path, fmt.Appendf(nil, "resources:\n  exec: [{name: x, cmd: 'true'}]\n  file: [{name: %s/a, content: a}]\n", l.dir), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
	after := l.tree()
	plan, err := l.client.Undo(t.Context(), control.UndoRequest{Since: 60, DryRun: true})
	if err != nil || len(plan.Undo) != 1 || plan.Verdict != nil || !slices.Equal(plan.Cannot, []control.CantUndo{{Resource: "exec[x]", Why: "what a command has done is not known"}}) {
		t.Errorf("%+v, %v", plan, err)
	}
	if got := l.tree(); got != after {
		t.Errorf("it has made\n%s", got)
	}
	log, err := l.client.Log(t.Context(), control.Query{Resource: "file[" + l.dir + "/a]", Outcomes: []control.Outcome{control.Changed}})
	if err != nil || len(log.Events) != 1 {
		t.Fatalf("%+v, %v", log, err)
	}
	l.undo(control.UndoRequest{Run: log.Events[0].Run})
	if _, err := os.Lstat(filepath.Join(l.dir, "a")); err == nil {
		t.Error("the run is not undone")
	}
	if _, err := l.client.Undo(t.Context(), control.UndoRequest{Run: 4711}); err == nil {
		t.Error("a run that there was not is undone")
	}
	l.edit("resources: {}\n") // another graph: nothing is held any more
	if st, err := l.client.Status(t.Context(), control.StatusQuery{}); err != nil || len(st.Undone) > 0 {
		t.Errorf("%+v, %v", st, err)
	}
}
