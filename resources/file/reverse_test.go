package file

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// reversing is one resource whose work is undone.
type reversing struct {
	before []string // what is there before, in t/
	res    Res
	after  []string // what others do before it is undone
	ends   []string // what is there then, if it is not what was there before; t/ stands for nothing
	log    string   // what it says then
}

// What a resource did is undone, and what others did is left.
func TestFileReversed(t *testing.T) {
	for name, c := range map[string]reversing{
		"made":            {res: Res{Path: "t/f", Content: new("x"), Mode: "0600"}},
		"made empty":      {res: Res{Path: "t/f", State: Exists}},
		"edited":          {before: []string{"t/f=old"}, res: Res{Path: "t/f", Content: new("x"), Mode: "0600", Owner: "7", Group: "8"}},
		"edited, empty":   {before: []string{"t/f="}, res: Res{Path: "t/f", Content: new("x")}},
		"binary":          {before: []string{"t/f=\xff\x00\xfe"}, res: Res{Path: "t/f", Content: new("x")}},
		"removed":         {before: []string{"t/f=old"}, res: Res{Path: "t/f", State: Absent}},
		"link made":       {res: Res{Path: "t/f", Symlink: true, Source: "x"}},
		"link turned":     {before: []string{"t/f -> old"}, res: Res{Path: "t/f", Symlink: true, Source: "x"}},
		"link removed":    {before: []string{"t/f -> old"}, res: Res{Path: "t/f", State: Absent}},
		"file to link":    {before: []string{"t/f=old"}, res: Res{Path: "t/f", Symlink: true, Source: "x", Force: true}},
		"link to file":    {before: []string{"t/f -> old"}, res: Res{Path: "t/f", Content: new("x"), Force: true}},
		"behind a link":   {before: []string{"t/g=old", "t/f -> g"}, res: Res{Path: "t/f", Content: new("x")}},
		"made by a link":  {before: []string{"t/f -> g"}, res: Res{Path: "t/f", Content: new("x")}},
		"folder made":     {res: Res{Path: "t/f/", Mode: "0700"}},
		"folder removed":  {before: []string{"t/f/"}, res: Res{Path: "t/f/", State: Absent}},
		"folder's mode":   {before: []string{"t/f/"}, res: Res{Path: "t/f/", Mode: "0700"}},
		"tree made":       {res: Res{Path: "t/f/", Source: "src/", Recurse: true}},
		"mode only":       {before: []string{"t/f=old"}, res: Res{Path: "t/f", Mode: "u+x"}},
		"nothing changed": {before: []string{"t/f=old"}, res: Res{Path: "t/f", Content: new("old")}},
		"by another name": {before: []string{"t/f=old"}, res: Res{Path: "x", Dirname: "t/", Basename: "f", Content: new("x")}},

		"others wrote where the mode was managed": {
			before: []string{"t/f=old"}, res: Res{Path: "t/f", Mode: "0600"},
			after: []string{"t/f=theirs"}, ends: []string{"t/f=theirs"},
		},
		"others wrote into an empty one": {
			res: Res{Path: "t/f", State: Exists}, after: []string{"t/f=theirs"}, ends: []string{"t/f=theirs"},
			log: "others have written into it",
		},
		"others put something into the folder": {
			res: Res{Path: "t/f/"}, after: []string{"t/f/theirs=1"}, ends: []string{"t/f/", "t/f/theirs=1"},
			log: "others have put there",
		},
		"others put something into the tree": {
			res: Res{Path: "t/f/", Source: "src/", Recurse: true}, after: []string{"t/f/d/theirs=1"},
			ends: []string{"t/f/d/", "t/f/d/theirs=1"}, log: "others have put there",
		},
		"all in it was its own": {
			res: Res{Path: "t/f/", Recurse: true, Purge: true}, after: []string{"t/f/theirs=1"}, ends: []string{"t/"},
		},
		"others made a link of it": {
			res: Res{Path: "t/f/"}, after: []string{"-t/f", "t/g/", "t/g/x=1", "t/f -> g"},
			ends: []string{"t/g/", "t/g/x=1", "t/f -> g"}, log: "others have put there",
		},
		"others made a file of the link": {
			res: Res{Path: "t/f", Symlink: true, Source: "x"}, after: []string{"-t/f", "t/f=theirs"}, ends: []string{"t/f=theirs"},
			log: "it is a file now",
		},
		"gone already": {
			res: Res{Path: "t/f", Content: new("x")}, after: []string{"-t/f"},
		},
	} {
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}

func (c *reversing) run(t *testing.T) {
	dir := t.TempDir()
	kindtest.Grow(t, dir, "t/", "src/", "src/a=A", "src/d/", "src/d/b=B", "src/d/l -> a")
	kindtest.Grow(t, dir, c.before...)
	r := &c.res
	place := func(s *string) {
		if strings.Contains(*s, "/") {
			*s = dir + "/" + *s
		}
	}
	place(&r.Path)
	place(&r.Dirname)
	place(&r.Source)
	was, owner := kindtest.Have(t, dir+"/t"), fileOwner(dir+"/t/f")
	kindtest.Begin(t, "file", r)
	before, err := r.Read(t.Context())
	kindtest.Must(t, err)
	if _, err := r.CheckApply(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	undo, err := kindtest.UndoOf(t, r, before)
	kindtest.Must(t, err)
	kindtest.Alter(t, dir, c.after...)
	if c.ends != nil {
		other := t.TempDir()
		kindtest.Grow(t, other, "t/")
		kindtest.Grow(t, other, c.ends...)
		was = kindtest.Have(t, other+"/t")
	}
	f := kindtest.Begin(t, "file", undo)
	looked := kindtest.Verbs(t, f, undo, false)
	if applied := kindtest.Verbs(t, f, undo, true); looked != applied || strings.HasPrefix(applied, "error: ") {
		t.Fatalf("looking it said %q, applying %q", looked, applied)
	}
	if got := noModes(kindtest.Have(t, dir+"/t")); c.ends != nil && got != noModes(was) {
		t.Errorf("after it is undone there is\n%s\nand not\n%s", got, noModes(was))
	}
	if got := kindtest.Have(t, dir+"/t"); c.ends == nil && got != was {
		t.Errorf("after it is undone there is\n%s\nand not\n%s", got, was)
	}
	if got := fileOwner(dir + "/t/f"); c.ends == nil && got != owner {
		t.Errorf("after it is undone it belongs to %s and not to %s", got, owner)
	}
	if said := strings.Join(f.Logs(), "\n"); !strings.Contains(said, c.log) || c.log == "" && said != "" {
		t.Errorf("it said %q and not %q", said, c.log)
	}
	if got := kindtest.Verbs(t, f, undo, true); got != "" {
		t.Errorf("a second time it did %q", got)
	}
}

// fileOwner returns whose the thing at a path is; empty for nobody's.
func fileOwner(path string) string {
	st, err := atomicfile.Follow(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(st.UID, st.GID)
}

// noModes leaves names, kinds and contents.
func noModes(tree string) string {
	var out []string
	for line := range strings.Lines(tree) {
		var kept []string
		for w := range strings.FieldsSeq(line) {
			if len(w) != 4 || strings.Trim(w, "01234567") != "" {
				kept = append(kept, w)
			}
		}
		out = append(out, strings.Join(kept, " "))
	}
	return strings.Join(out, "\n")
}

// Another resource of the graph says what is in the folder: that stays.
func TestFileReversedLeavesTheManaged(t *testing.T) {
	dir := t.TempDir()
	kindtest.Grow(t, dir, "src/", "src/a=A", "src/b=B")
	shared := files.New(nil)
	r := &Res{Path: dir + "/f/", Source: dir + "/src/", Recurse: true}
	kindtest.Begin(t, "file", r, enginetest.WithShared(shared))
	before, err := r.Read(t.Context())
	kindtest.Must(t, err)
	_, err = r.CheckApply(t.Context(), true)
	kindtest.Must(t, err)
	other := &Res{Path: dir + "/f/a", Content: new("theirs")}
	kindtest.Begin(t, "file", other, enginetest.WithShared(shared))
	undo, err := kindtest.UndoOf(t, r, before)
	kindtest.Must(t, err)
	f := kindtest.Begin(t, "file", undo, enginetest.WithShared(shared))
	if got := kindtest.Verbs(t, f, undo, true); got != `entries["b"].state deleted` {
		t.Errorf("it did %q", got)
	}
	if _, err := os.Stat(dir + "/f/a"); err != nil {
		t.Error(err)
	}
}

// What can't be brought back is refused while that is still known: before the
// first change.
func TestFileReversedRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		res    Res
		why    string
	}{
		"a long content":     {"t/f=" + strings.Repeat("x", keptMax+1), Res{Path: "t/f", Content: new("x")}, "it has more than 8MiB"},
		"a tree":             {"t/f/", Res{Path: "t/f/", Source: "src/", Recurse: true}, "below a folder"},
		"a purge":            {"t/f/", Res{Path: "t/f/", Recurse: true, Purge: true}, "below a folder"},
		"a removed tree":     {"t/f/", Res{Path: "t/f/", State: Absent, Recurse: true}, "below a folder"},
		"a forced removal":   {"t/f/", Res{Path: "t/f", State: Absent, Force: true}, "was a folder"},
		"a folder to a file": {"t/f/", Res{Path: "t/f", Content: new("x"), Force: true}, "was a folder"},
		"a file to a folder": {"t/f=x", Res{Path: "t/f/", Force: true}, "was no folder"},
		"a link to a folder": {"t/f -> x", Res{Path: "t/f/", Force: true}, "was no folder"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			kindtest.Grow(t, dir, "t/", "src/", c.before)
			r := &c.res
			r.Path = dir + "/" + r.Path
			if r.Source != "" {
				r.Source = dir + "/" + r.Source
			}
			kindtest.Begin(t, "file", r)
			before, err := r.Read(t.Context())
			kindtest.Must(t, err)
			if _, err := kindtest.UndoOf(t, r, before); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("the error is %v, and not about %q", err, c.why)
			}
		})
	}
	r := &Res{Path: "/f"}
	if _, err := r.Reversed(&kindtest.Stranger{}); err == nil {
		t.Error("a file goes back to a noop")
	}
}

// A folder whose resource has left stays as long as something in it is in the graph, and is not undone before that:
// what was copied into it goes, it is told once, and it is woken when the last of them leaves.
func TestFileReversedFolderWaits(t *testing.T) {
	dir := t.TempDir()
	kindtest.Grow(t, dir, "src/", "src/a=A", "t/")
	s := files.New(nil)
	defer s.Close()
	r := &Res{Path: dir + "/t/f/", Source: dir + "/src/", Recurse: true}
	f := kindtest.Begin(t, "file", r, enginetest.WithShared(s))
	kindtest.Verbs(t, f, r, true)
	undone, err := kindtest.UndoOf(t, r, nil)
	kindtest.Must(t, err)
	undo := undone.(*Res)
	in := &Res{Path: dir + "/t/f/g", Content: new("x")}
	g := kindtest.Begin(t, "file", in, enginetest.WithShared(s))
	kindtest.Verbs(t, g, in, true)
	kindtest.Must(t, r.Cleanup())

	u := kindtest.Begin(t, "file", undo, enginetest.WithShared(s))
	kindtest.Verbs(t, u, undo, true)
	if undo.Undone() {
		t.Error("it is undone")
	}
	told := u.Logs()
	kindtest.Want(t, u, undo, "")
	told = append(told, u.Logs()...)
	if got := kindtest.Have(t, dir+"/t"); strings.Contains(got, "t/f/a ") || !strings.Contains(got, "t/f/g ") {
		t.Errorf("there is %v", got)
	}
	if n := strings.Count(strings.Join(told, "\n"), "goes when what is in it has left the graph"); n != 1 {
		t.Errorf("told %d times: %v", n, told)
	}
	kindtest.Watching(t, u, undo)
	kindtest.Must(t, in.Cleanup())
	u.WaitEvent(t)
	kindtest.Must(t, os.Remove(dir+"/t/f/g"))
	kindtest.Want(t, u, undo, "state deleted")
	if !undo.Undone() {
		t.Error("it is not undone")
	}
}

// A folder does not wait for what is in it and has nothing left to undo itself: it is no one's any more.
func TestFileReversedFolderWaitsForNoUndone(t *testing.T) {
	dir := t.TempDir()
	s := files.New(nil)
	defer s.Close()
	reversed := func(r *Res) (*enginetest.Fake, *Res) {
		f := kindtest.Begin(t, "file", r, enginetest.WithShared(s))
		kindtest.Verbs(t, f, r, true)
		undo, err := kindtest.UndoOf(t, r, nil)
		kindtest.Must(t, err)
		kindtest.Must(t, r.Cleanup())
		return kindtest.Begin(t, "file", undo, enginetest.WithShared(s)), undo.(*Res)
	}
	u, folder := reversed(&Res{Path: dir + "/f/"})
	v, file := reversed(&Res{Path: dir + "/f/g"})
	kindtest.Must(t, os.WriteFile(dir+"/f/g", []byte("of others"), 0o600))
	kindtest.Want(t, v, file, "")
	kindtest.Want(t, u, folder, "")
	if log := strings.Join(u.Logs(), "\n"); !folder.Undone() || !strings.Contains(log, "others have put there") {
		t.Errorf("undone: %t; it says %s", folder.Undone(), log)
	}
}
