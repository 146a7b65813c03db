package host

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/clock"
	"pgregory.net/rapid"
)

func TestSplitAndJoin(t *testing.T) {
	for path, want := range map[string][2]string{
		"/a/b/c": {"/a/b", "c"},
		"/a":     {"/", "a"},
		"//a":    {"/", "a"}, // as the watcher writes a name in the root directory
		"/":      {"/", ""},
	} {
		dir, name := split(path)
		if [2]string{dir, name} != want {
			t.Errorf("%q: %q, %q", path, dir, name)
		}
	}
	for _, path := range []string{"/a", "/a/b", "/a/b/c"} {
		if dir, name := split(path); join(dir, name) != path {
			t.Errorf("%q becomes %q", path, join(dir, name))
		}
	}
}

// A tree that nothing was resolved in, for what is only about its shape.
func loose() *hub { return newHub(clock.System{}, nil, nil, 0) }

func TestPathsOfNodes(t *testing.T) {
	h := loose()
	n := h.node("/a/b/c", false)
	if n.path() != "/a/b/c" || h.node("/", true).path() != "/" || h.node("/a/b", true) != n.parent {
		t.Errorf("%s", n.path())
	}
	if got := n.real(); got != "" {
		t.Errorf("it is at %q, but its parent is nowhere", got)
	}
	n.parent.dir = &dir{path: "/x/y"}
	if got := n.real(); got != "/x/y/c" {
		t.Errorf("it is at %q", got)
	}
	if n.inside || !n.parent.inside {
		t.Error("what is on the way is entered, the last only if told to")
	}
}

func TestRecursiveStopsAtLinks(t *testing.T) {
	h := loose()
	n := h.node("/a/b/c", true)
	if n.recursive() {
		t.Error("nobody has asked")
	}
	n.parent.parent.deep = &entry{}
	if !n.recursive() {
		t.Error("everything below /a was asked for")
	}
	n.parent.to = h.root
	if n.recursive() {
		t.Error("links are not followed down")
	}
	n.parent.deep = &entry{}
	if !n.recursive() {
		t.Error("unless they were asked for themselves")
	}
}

func TestReaches(t *testing.T) {
	h := loose()
	a, b, c := h.node("/a", false), h.node("/b", false), h.node("/c/d/e", false)
	if !c.reaches(c) || !c.reaches(c.parent) || c.parent.reaches(c) || a.reaches(b) {
		t.Error("a way leads through what is above, not through what is below")
	}
	h.lead(a, b)
	h.lead(c.parent, a)
	if !a.reaches(b) || !c.reaches(b) || b.reaches(a) {
		t.Error("a way leads through the targets of links")
	}
}

func TestPruneTakesWhatNobodyNeeds(t *testing.T) {
	h := loose()
	n := h.node("/a/b/c", true)
	other := h.node("/a/x", true)
	target := h.node("/t/u", false)
	h.lead(n, target)
	e := &entry{node: other, name: "f", sub: newSub(func(*sub) {})}
	e.hang()
	h.prune(n)
	if !n.dead || !target.dead || !target.parent.dead || other.dead || h.root.kids["a"] == nil || h.root.kids["t"] != nil {
		t.Error("too much or too little was taken")
	}
	e.unhang()
	h.prune(other)
	if len(h.root.kids) != 0 || h.root.inside {
		t.Error("something is left")
	}
}

// The lists of entries against a plain model of them.
func TestEntriesHangAndUnhang(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &node{}
		type place struct {
			scope scope
			name  string
		}
		model := make(map[place][]*entry)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			p := place{scope: scope(rapid.IntRange(0, 2).Draw(t, "scope"))}
			if p.scope == scopeName {
				p.name = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
			}
			if there := model[p]; len(there) > 0 && rapid.Bool().Draw(t, "unhang") {
				i := rapid.IntRange(0, len(there)-1).Draw(t, "which")
				there[i].unhang()
				model[p] = slices.Delete(there, i, i+1)
			} else {
				e := &entry{node: n, name: p.name, scope: p.scope}
				e.hang()
				model[p] = append(there, e)
			}
			for p, want := range model {
				var got []*entry
				for e := n.head(&entry{name: p.name, scope: p.scope}); e != nil; e = e.next {
					got = append(got, e)
				}
				slices.Reverse(got)
				if !slices.Equal(got, want) {
					t.Fatalf("%v: %d entries, want %d", p, len(got), len(want))
				}
			}
			if _, kept := n.names["a"]; kept && len(model[place{scopeName, "a"}]) == 0 {
				t.Fatal("an empty list is kept")
			}
		}
	})
}

// An event costs nothing in memory, whatever it is.
func TestEventsDoNotAllocate(t *testing.T) {
	h := loose()
	n := h.node("/d", true)
	d := &dir{path: "/d", nodes: []*node{n}}
	n.dir, h.byPath["/d"] = d, d
	s := newSub(func(*sub) {})
	(&entry{node: n, name: "f", sub: s}).hang()
	h.w = &canned{}
	for _, ev := range []event{
		{dir: "/d", name: "f", op: opClosed}, {dir: "/d", name: "f", op: opAttributes},
		{dir: "/d", name: "f", op: opMovedIn}, {dir: "/d", name: "other", op: opCreated}, {dir: "/e", name: "f", op: opClosed},
	} {
		if got := testing.AllocsPerRun(100, func() { h.event(ev) }); got != 0 {
			t.Errorf("%v: %v allocations", ev, got)
		}
	}
	if c := drain(s); c.Path != "/d/f" || c.Merged < 300 {
		t.Errorf("cause %+v", c)
	}
}

func TestTooManyNamesBecomeALook(t *testing.T) {
	h := loose()
	n := h.node("/d", true)
	n.mark = 0
	for range maxTodo {
		h.later(n, "f")
	}
	if len(n.todo) != maxTodo || n.mark&markLost != 0 {
		t.Errorf("%d names, marks %b", len(n.todo), n.mark)
	}
	h.later(n, "f")
	if len(n.todo) != maxTodo || n.mark&markLost == 0 {
		t.Errorf("%d names, marks %b", len(n.todo), n.mark)
	}
}
