package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// left is a graph that takes effect, and one that comes after it.
type left struct {
	before, then string                  // the resources, with ROOT for the folder
	made         func(root string) error // what is there before; nil for nothing
	drift        func(root string)       // what others do in between; nil for nothing
	want         string                  // what the plan says, by resource; the run has to do the same
}

// check compares what a plan of the second graph says with what a run of it does.
func (l left) check(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	o := mgmt.Options{State: mgmt.StateIn(t.TempDir()), ConvergedExit: true}
	graph := func(resources string) string {
		return strings.ReplaceAll("graph: left\nresources:\n"+resources, "ROOT", root)
	}
	if l.made != nil {
		if err := l.made(root); err != nil {
			t.Fatal(err)
		}
	}
	with, f := from(graph(l.before), o)
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	if l.drift != nil {
		l.drift(root)
	}
	with, f = from(graph(l.then), mgmt.Options{State: o.State})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, s := range plan.Steps {
		said = append(said, strings.ReplaceAll(s.Resource, root+"/", "")+" "+s.State.String())
	}
	slices.Sort(said)
	if got := strings.Join(said, "; "); got != l.want {
		t.Errorf("the plan says %s\nand not %s", got, l.want)
	}
	var mu sync.Mutex
	changed := map[string]bool{}
	o.Observer.Ran = func(r reactor.Run) {
		mu.Lock()
		defer mu.Unlock()
		changed[r.Resource] = changed[r.Resource] || r.Changed
	}
	for range 2 { // the first one may be over before it has heard of its own last work
		with, f = from(graph(l.then), o)
		if _, err := mgmt.Run(t.Context(), with, f); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range plan.Steps {
		if s.State != resgraph.StateUnknown && changed[s.Resource] != (s.State == resgraph.StateWouldChange) {
			t.Errorf("%s is %s in the plan, and the run has altered it: %t", s.Resource, s.State, changed[s.Resource])
		}
	}
}

// TestFindingL1TakenBack: what a plan takes back is what its resource has made, and not all that has its name.
func TestFindingL1TakenBack(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("copies in a folder", func(t *testing.T) {
		left{
			before: "  file:\n  - {name: ROOT/from/}\n  - {name: ROOT/from/a, content: a}\n  - {name: ROOT/top/}\n" +
				"  - {name: ROOT/top/to/, source: ROOT/from/, recurse: true, meta: {leaving: undo}}\n" +
				"  - {name: ROOT/sees/, source: ROOT/top/, recurse: true, purge: true}\n",
			then: "  file:\n  - {name: ROOT/from/}\n  - {name: ROOT/from/a, content: a}\n  - {name: ROOT/top/}\n" +
				"  - {name: ROOT/sees/, source: ROOT/top/, recurse: true, purge: true}\n",
			want: "file[from/] ok; file[from/a] ok; file[sees/] would-change; file[top/] ok; file[top/to/] would-change",
		}.check(t)
	})
	t.Run("a purged folder with a file of others", func(t *testing.T) {
		left{
			before: "  file:\n  - {name: ROOT/to/, recurse: true, purge: true, meta: {leaving: undo}}\n" +
				"  - {name: ROOT/to/a, state: exists, meta: {leaving: undo}}\n",
			then:  "  noop: []\n",
			drift: func(root string) { write(t, root+"/to/a", "others") },
			want:  "file[to/] would-change; file[to/a] ok",
		}.check(t)
	})
	t.Run("a file of others in a purged folder", func(t *testing.T) {
		left{
			before: "  file:\n  - {name: ROOT/in/, recurse: true, purge: true}\n  - {name: ROOT/in/a, state: exists, meta: {leaving: undo}}\n",
			then:   "  file:\n  - {name: ROOT/in/, recurse: true, purge: true}\n",
			drift:  func(root string) { write(t, root+"/in/a", "others") },
			want:   "file[in/] would-change; file[in/a] ok",
		}.check(t)
	})
	t.Run("copies of what comes back", func(t *testing.T) {
		const stays = "  file:\n  - {name: ROOT/from/}\n  - {name: ROOT/from/a, content: a}\n"
		left{
			before: stays + "  - {name: ROOT/to/, source: ROOT/from/, recurse: true, meta: {leaving: undo}}\n",
			then:   stays,
			drift: func(root string) {
				if err := os.RemoveAll(root + "/from"); err != nil {
					t.Error(err)
				}
			},
			want: "file[from/] would-change; file[from/a] would-change; file[to/] ok",
		}.check(t)
	})
	t.Run("a folder with its file", func(t *testing.T) {
		left{
			before: "  file:\n  - {name: ROOT/to/, meta: {leaving: undo}}\n  - {name: ROOT/to/a, content: a, meta: {leaving: undo}}\n",
			then:   "  noop: []\n",
			want:   "file[to/] would-change; file[to/a] would-change",
		}.check(t)
	})
	t.Run("a file in a folder that has to be empty", func(t *testing.T) {
		left{
			before: "  file:\n  - {name: ROOT/to/}\n  - {name: ROOT/to/a, content: a, meta: {leaving: undo}}\n",
			then:   "  file:\n  - {name: ROOT/to/, state: absent}\n",
			want:   "file[to/] would-change; file[to/a] would-change",
		}.check(t)
	})
	t.Run("a file beside an answer", func(t *testing.T) {
		const stays = "  file:\n  - {name: ROOT/in/, recurse: true, purge: true}\n"
		left{
			before: stays + "  - {name: ROOT/in/a, content: a}\n  - {name: ROOT/in/b, content: b, meta: {leaving: undo}}\n",
			then:   stays + "  - {name: ROOT/in/a, recv: {content: \"exec[says].output\"}}\n  exec:\n  - {name: says, cmd: echo x}\n",
			want:   "exec[says] would-change; file[in/] ok; file[in/a] unknown; file[in/b] would-change",
		}.check(t)
	})
	t.Run("an answer in a folder that is copied", func(t *testing.T) {
		const stays = "  file:\n  - {name: ROOT/from/}\n  - {name: ROOT/to/, source: ROOT/from/, recurse: true}\n"
		left{
			before: stays,
			then:   stays + "  - {name: ROOT/from/a, recv: {content: \"exec[says].output\"}}\n  exec:\n  - {name: says, cmd: echo x}\n",
			want:   "exec[says] would-change; file[from/] ok; file[from/a] would-change; file[to/] unknown",
		}.check(t)
	})
	t.Run("a folder with a new file", func(t *testing.T) {
		left{
			before: "  file:\n  - {name: ROOT/in/, meta: {leaving: undo}}\n",
			then:   "  file:\n  - {name: ROOT/in/a, content: a}\n",
			want:   "file[in/] ok; file[in/a] would-change",
		}.check(t)
	})
	t.Run("a file where a folder is new", func(t *testing.T) {
		left{
			before: "  file:\n  - {name: ROOT/at, content: a, meta: {leaving: undo}}\n",
			then:   "  file:\n  - {name: ROOT/at/}\n  - {name: ROOT/at/a, content: a}\n",
			want:   "file[at/] would-change; file[at/a] would-change; file[at] would-change",
		}.check(t)
	})
	t.Run("a removed folder that a new file needs", func(t *testing.T) {
		left{
			before: "  file:\n  - {name: ROOT/in/, state: absent, meta: {leaving: undo}}\n",
			then:   "  file:\n  - {name: ROOT/in/a, content: a}\n",
			made:   func(root string) error { return os.Mkdir(root+"/in", 0o700) },
			want:   "file[in/] would-change; file[in/a] would-change",
		}.check(t)
	})
	t.Run("a file between a command and what has no input", func(t *testing.T) {
		left{
			before: "  file:\n  - {name: ROOT/in/}\n  - {name: ROOT/in/a, content: a, meta: {leaving: undo}}\n" +
				"  exec:\n  - {name: used it, cmd: \"true\", depend: [\"file[ROOT/in/a]\"]}\n",
			then: "  file:\n  - {name: ROOT/in/}\n  exec:\n  - {name: used it, cmd: \"true\"}\n  gzip:\n  - {name: ROOT/in/b, input: ROOT/none}\n",
			want: "exec[used it] would-change; file[in/] ok; file[in/a] would-change; gzip[in/b] failed",
		}.check(t)
	})
	t.Run("a folder's mode before an answer", func(t *testing.T) {
		const says = "  - {name: ROOT/in/b, recv: {content: \"exec[says].output\"}}\n  exec:\n  - {name: says, cmd: echo x}\n"
		left{
			before: "  file:\n  - {name: ROOT/in/, mode: \"0700\", meta: {leaving: undo}}\n  - {name: ROOT/in/a, content: a}\n" + says,
			then:   "  file:\n  - {name: ROOT/in/a, content: a}\n" + says,
			made:   func(root string) error { return os.Mkdir(root+"/in", 0o755) },
			want:   "exec[says] would-change; file[in/] would-change; file[in/a] ok; file[in/b] unknown",
		}.check(t)
	})
	t.Run("a line in what is copied twice", func(t *testing.T) {
		const files = "  file:\n  - {name: ROOT/a, keep: true, content: \"a\\n\"}\n  - {name: ROOT/b, source: ROOT/a%s}\n  - {name: ROOT/c, source: ROOT/b}\n"
		left{
			before: fmt.Sprintf(files, `, depend: ["line[z]"]`) + "  line:\n  - {name: z, file: ROOT/a, content: z, meta: {leaving: undo}}\n",
			then:   fmt.Sprintf(files, ""),
			drift: func(root string) {
				if err := os.Remove(root + "/b"); err != nil {
					t.Error(err)
				}
			},
			want: "file[a] ok; file[b] would-change; file[c] would-change; line[z] would-change",
		}.check(t)
	})
	t.Run("a file before a copy that fails", func(t *testing.T) {
		const copies, edits = "  - {name: ROOT/to/, source: ROOT/in/, recurse: true%s}\n", "  line:\n  - {name: z, file: ROOT/in/a, content: z}\n"
		left{
			before: "  file:\n  - {name: ROOT/in/}\n  - {name: ROOT/in/a, keep: true, content: a, meta: {leaving: undo}}\n" + fmt.Sprintf(copies, "") + edits,
			then: "  file:\n  - {name: ROOT/in/}\n" + fmt.Sprintf(copies, `, depend: ["exec[may mend it]"]`) + edits +
				"  exec:\n  - {name: may mend it, cmd: \"true\"}\n",
			drift: func(root string) {
				if err := os.RemoveAll(root + "/to"); err != nil {
					t.Error(err)
				}
				write(t, root+"/to", "others")
			},
			want: "exec[may mend it] would-change; file[in/] ok; file[in/a] unknown; file[to/] unknown; line[z] ok",
		}.check(t)
	})
	t.Run("a file in a purged folder", func(t *testing.T) {
		const stays = "  file:\n  - {name: ROOT/in/, recurse: true, purge: true}\n"
		left{
			before: stays + "  - {name: ROOT/in/a, content: a, meta: {leaving: undo}}\n  - {name: ROOT/in/below/, meta: {leaving: undo}}\n",
			then:   stays,
			want:   "file[in/] ok; file[in/a] would-change; file[in/below/] would-change",
		}.check(t)
	})
}
