package file

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestFileTree(t *testing.T) {
	dir := t.TempDir()
	kindtest.Grow(t, dir, "src/", "src/sub/", "src/a=A", "src/sub/b=B", "src/sub/l -> ../a", "src/.mgmt-1~=half")
	kindtest.Must(t, os.Chmod(dir+"/src/a", 0o640))
	kindtest.Must(t, os.Chmod(dir+"/src/sub", 0o700))
	r := &Res{Path: dir + "/dst/", Source: dir + "/src/", Recurse: true}
	f := kindtest.Begin(t, "file", r)
	converge(t, f, r, `state created`+
		` entries["a"].state created entries["a"].content: (none) -> "A" entries["a"].mode: (none) -> "0640"`+
		` entries["sub"].state created entries["sub"].mode: (none) -> "0700"`+
		` entries["sub/b"].state created entries["sub/b"].content: (none) -> "B" entries["sub/b"].mode: (none) -> "0644"`+
		` entries["sub/l"].state created entries["sub/l"].source: (none) -> "../a"`,
		dir+"/dst", "dst/ 0755\ndst/a 0640 A\ndst/sub/ 0700\ndst/sub/b 0644 B\ndst/sub/l -> ../a")

	// What is not from source stays without purge.
	kindtest.Grow(t, dir, "dst/extra=kept")
	kindtest.Put(t, dir+"/dst/sub/b", "drift")
	kindtest.Must(t, os.Chmod(dir+"/dst/a", 0o644))
	converge(t, f, r, `entries["a"].mode: "0644" -> "0640" entries["sub/b"].content: "drift" -> "B"`,
		dir+"/dst", "dst/ 0755\ndst/a 0640 A\ndst/extra 0644 kept\ndst/sub/ 0700\ndst/sub/b 0644 B\ndst/sub/l -> ../a")

	// The source changes.
	kindtest.Put(t, dir+"/src/a", "A2")
	converge(t, f, r, `entries["a"].content: "A" -> "A2"`,
		dir+"/dst/a", "a 0640 A2")

	got, err := r.Read(t.Context())
	kindtest.Must(t, err)
	entries := got.(*Res).Entries
	if len(entries) != 5 || entries["sub/l"].Source != "../a" || entries["sub"].State != "folder" || entries["a"].Mode != "0640" {
		t.Errorf("Read shows %+v", entries)
	}
}

func TestFileTreePurge(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	kindtest.Grow(t, outside, "victim=kept")
	kindtest.Grow(t, dir, "src/", "src/a=A", "dst/", "dst/a=A", "dst/x=X", "dst/d/", "dst/d/e/", "dst/d/e/f=F",
		"dst/out -> "+outside, "dst/managed/", "dst/managed/m=M", "dst/managed/n=N", "dst/own/", "dst/own/o=O")
	kindtest.Must(t, os.Chmod(dir+"/dst/a", 0o644))
	shared := files.New(nil)
	defer func() { kindtest.Must(t, shared.Close()) }()
	r := &Res{Path: dir + "/dst/", Source: dir + "/src/", Recurse: true, Purge: true}
	f := kindtest.Begin(t, "file", r, enginetest.WithShared(shared))
	for _, p := range []string{"managed/m", "own/"} {
		other := &Res{Path: dir + "/dst/" + p}
		other.SetName(p)
		kindtest.Begin(t, "file", other, enginetest.WithShared(shared))
	}
	converge(t, f, r, `entries["d"].state deleted entries["managed/n"].state deleted`+
		` entries["out"].state deleted entries["x"].state deleted`,
		dir+"/dst", "dst/ 0755\ndst/a 0644 A\ndst/managed/ 0755\ndst/managed/m 0644 M\ndst/own/ 0755\ndst/own/o 0644 O")
	if got := kindtest.Have(t, outside+"/victim"); got != "victim 0644 kept" {
		t.Errorf("outside there is %q", got)
	}
}

// Without a source, purge leaves only what the graph manages; when that leaves
// the graph, the folder is woken.
func TestFilePurgeAlone(t *testing.T) {
	dir := t.TempDir()
	kindtest.Grow(t, dir, "d/", "d/a=A", "d/b=B")
	shared := files.New(nil)
	defer func() { kindtest.Must(t, shared.Close()) }()
	r := &Res{Path: dir + "/d/", Recurse: true, Purge: true}
	f := kindtest.Begin(t, "file", r, enginetest.WithShared(shared))
	other := &Res{Path: dir + "/d/a"}
	other.SetKind("file")
	kindtest.Must(t, other.Init(enginetest.NewInit(t, enginetest.WithShared(shared)).Init()))
	converge(t, f, r, `entries["b"].state deleted`, dir+"/d", "d/ 0755\nd/a 0644 A")
	kindtest.Watching(t, f, r)
	kindtest.Must(t, other.Cleanup())
	f.WaitEvent(t)
	converge(t, f, r, `entries["a"].state deleted`, dir+"/d", "d/ 0755")
}

// A temporary file that another resource is writing is not purged.
func TestFilePurgeSparesTemp(t *testing.T) {
	dir := t.TempDir()
	kindtest.Grow(t, dir, "d/", "d/.mgmt-old~=")
	live, err := os.OpenFile(dir+"/d/.mgmt-live~", os.O_CREATE|os.O_WRONLY, 0o644)
	kindtest.Must(t, err)
	defer live.Close()
	r := &Res{Path: dir + "/d/", Recurse: true, Purge: true}
	f := kindtest.Begin(t, "file", r)
	converge(t, f, r, `entries[".mgmt-old~"].state deleted`, dir+"/d", "d/ 0755\nd/.mgmt-live~ 0644 ")
}

// TestFindingL1PurgeSparesWriter: a purge takes no temporary file or link away that another resource is about to rename. One of a name that
// no resource has is litter.
func TestFindingL1PurgeSparesWriter(t *testing.T) {
	temp := func(name string) string {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		return fmt.Sprintf(".mgmt-%x~", h.Sum64())
	}
	dir := t.TempDir()
	kindtest.Grow(t, dir, "d/", "d/sub/", "d/"+temp("f")+"=new", "d/"+temp("g")+"=litter", "d/sub/"+temp("l")+" -> x", "d/sub/"+temp("f")+"=litter")
	shared := files.New(nil)
	defer func() { kindtest.Must(t, shared.Close()) }()
	for _, r := range []*Res{{Path: dir + "/d/f"}, {Path: dir + "/d/sub/l", Symlink: true, Source: "x"}} {
		r.SetName(r.Path)
		kindtest.Begin(t, "file", r, enginetest.WithShared(shared))
	}
	r := &Res{Path: dir + "/d/", Recurse: true, Purge: true}
	kindtest.Begin(t, "file", r, enginetest.WithShared(shared))
	if _, err := r.CheckApply(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got, want := kindtest.Have(t, dir+"/d"), "d/ 0755\nd/"+temp("f")+" 0644 new\nd/sub/ 0755\nd/sub/"+temp("l")+" -> x"; got != want {
		t.Errorf("there is\n%s\nwant\n%s", got, want)
	}
}

// Links below the folder never lead out of it, whether they stand for a folder
// or for a file.
func TestFileTreeFollowsNoLink(t *testing.T) {
	for _, force := range []bool{false, true} {
		dir := t.TempDir()
		outside := t.TempDir()
		kindtest.Grow(t, outside, "sub/", "sub/f=victim", "g=victim")
		kindtest.Grow(t, dir, "src/", "src/sub/", "src/sub/f=F", "src/g=G", "src/h=H",
			"dst/", "dst/sub -> "+outside+"/sub", "dst/g -> "+outside+"/g")
		r := &Res{Path: dir + "/dst/", Source: dir + "/src/", Recurse: true, Force: force}
		f := kindtest.Begin(t, "file", r)
		ok, err := r.CheckApply(t.Context(), true)
		if force && (ok || err != nil) || !force && err == nil {
			t.Errorf("force %t: CheckApply returned %t, %v", force, ok, err)
		}
		result := "dst/ 0755\ndst/g -> " + outside + "/g\ndst/h 0644 H\ndst/sub -> " + outside + "/sub"
		if force {
			result = "dst/ 0755\ndst/g 0644 G\ndst/h 0644 H\ndst/sub/ 0755\ndst/sub/f 0644 F"
			kindtest.Want(t, f, r, "")
		} else if text := err.Error(); strings.Count(text, "force: true") != 2 {
			t.Errorf("the error is %s", text)
		}
		if got := kindtest.Have(t, dir+"/dst"); got != result {
			t.Errorf("force %t: there is\n%s", force, got)
		}
		if got := kindtest.Have(t, outside+"/sub/f") + kindtest.Have(t, outside+"/g"); got != "f 0644 victimg 0644 victim" {
			t.Errorf("force %t: outside there is %s", force, got)
		}
	}
}

// A forced folder in the place of a link to a folder is planned as it is made.
func TestFileTreeForcesTop(t *testing.T) {
	dir := t.TempDir()
	kindtest.Grow(t, dir, "src/", "src/a=A", "other/", "other/a=A", "dst -> other")
	r := &Res{Path: dir + "/dst/", Source: dir + "/src/", Recurse: true, Force: true}
	f := kindtest.Begin(t, "file", r)
	converge(t, f, r, `state: "link" -> "folder" entries["a"].state created`+
		` entries["a"].content: (none) -> "A" entries["a"].mode: (none) -> "0644"`,
		dir+"/dst", "dst/ 0755\ndst/a 0644 A")
	if got := kindtest.Have(t, dir+"/other"); got != "other/ 0755\nother/a 0644 A" {
		t.Errorf("the link's folder is %s", got)
	}
}

func TestFileTreeRefusesSpecials(t *testing.T) {
	dir := t.TempDir()
	kindtest.Grow(t, dir, "src/", "src/z=Z")
	kindtest.Must(t, unix.Mkfifo(dir+"/src/pipe", 0o600))
	r := &Res{Path: dir + "/dst/", Source: dir + "/src/", Recurse: true}
	f := kindtest.Begin(t, "file", r)
	f.Reset()
	_, err := r.CheckApply(t.Context(), true)
	if text := "source " + dir + "/src/pipe is a pipe, and only files, folders and links are copied: remove it, or name another source"; err == nil || err.Error() != text {
		t.Errorf("the error is %v", err)
	}
	if got := kindtest.Have(t, dir+"/dst"); got != "dst/ 0755\ndst/z 0644 Z" {
		t.Errorf("the rest is %s", got)
	}
}

func TestFileTreeEnds(t *testing.T) {
	dir := t.TempDir()
	kindtest.Grow(t, dir, "src/", "src/z=Z")
	r := &Res{Path: dir + "/dst/", Source: dir + "/src/", Recurse: true}
	kindtest.Begin(t, "file", r)
	ctx, cancel := context.WithCancel(t.Context())
	r.init.Change = func(engine.Change) { cancel() }
	if ok, err := r.CheckApply(ctx, true); ok || err == nil {
		t.Errorf("under a context that ended it returned %t, %v", ok, err)
	}
}

func TestFileTreeSuite(t *testing.T) {
	t.Run("fake", func(t *testing.T) { enginetest.Run(t, treeSuite()) })
	s := treeSuite()
	s.Host = kindtest.RealHost
	t.Run("host", func(t *testing.T) { enginetest.Run(t, s) })
}

func treeSuite() enginetest.Suite {
	return enginetest.Suite{
		Kind: "file",
		Prepare: func(t *testing.T, dir string) {
			kindtest.Grow(t, dir, "src/", "src/sub/", "src/a=A", "src/sub/b=B")
		},
		New: func(t *testing.T, dir string) engine.Res {
			return &Res{Path: dir + "/dst/", Source: dir + "/src/", Recurse: true, Purge: true, Force: true, Mode: "0750"}
		},
		Drifts: map[string]func(*testing.T, string){
			"overwritten":   func(t *testing.T, dir string) { kindtest.Put(t, dir+"/dst/sub/b", "x") },
			"extra":         func(t *testing.T, dir string) { kindtest.Put(t, dir+"/dst/sub/extra", "x") },
			"removed":       func(t *testing.T, dir string) { kindtest.Must(t, os.RemoveAll(dir+"/dst/sub")) },
			"all removed":   func(t *testing.T, dir string) { kindtest.Must(t, os.RemoveAll(dir+"/dst")) },
			"chmod":         func(t *testing.T, dir string) { kindtest.Must(t, os.Chmod(dir+"/dst", 0o777)) },
			"chmod below":   func(t *testing.T, dir string) { kindtest.Must(t, os.Chmod(dir+"/dst/a", 0o600)) },
			"source edited": func(t *testing.T, dir string) { toggle(t, dir+"/src/a") },
			"source grown": func(t *testing.T, dir string) {
				kindtest.Must(t, os.MkdirAll(dir+"/src/new", 0o755))
				toggle(t, dir+"/src/new/n")
			},
		},
	}
}

// toggle writes something that is not there.
func toggle(t *testing.T, path string) {
	t.Helper()
	was, _ := os.ReadFile(path)
	kindtest.Put(t, path, string(was)+"+")
}

func TestFileOtherSuites(t *testing.T) {
	for name, s := range map[string]enginetest.Suite{
		"fragments": {
			Prepare: func(t *testing.T, dir string) { kindtest.Grow(t, dir, "d/", "d/1=one", "d/2=two", "z=zero") },
			New: func(t *testing.T, dir string) engine.Res {
				return &Res{Path: dir + "/f", Fragments: []string{dir + "/z", dir + "/d/"}}
			},
			Drifts: map[string]func(*testing.T, string){
				"overwritten":     func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "x") },
				"fragment edited": func(t *testing.T, dir string) { toggle(t, dir+"/d/2") },
				"fragment added":  func(t *testing.T, dir string) { toggle(t, dir+"/d/3") },
				"file edited":     func(t *testing.T, dir string) { toggle(t, dir+"/z") },
			},
		},
		"source": {
			Prepare: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/src", "text") },
			New: func(t *testing.T, dir string) engine.Res {
				return &Res{Path: dir + "/f", Source: dir + "/src"}
			},
			Drifts: map[string]func(*testing.T, string){
				"overwritten":   func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "x") },
				"source edited": func(t *testing.T, dir string) { toggle(t, dir+"/src") },
			},
		},
		"symlink": {
			New: func(t *testing.T, dir string) engine.Res {
				return &Res{Path: dir + "/f", Source: "target", Symlink: true, Force: true}
			},
			Drifts: map[string]func(*testing.T, string){
				"removed": func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(dir+"/f")) },
				"other": func(t *testing.T, dir string) {
					kindtest.Must(t, os.Remove(dir+"/f"))
					kindtest.Must(t, os.Symlink("other", dir+"/f"))
				},
				"file": func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(dir+"/f")); kindtest.Put(t, dir+"/f", "x") },
			},
		},
		"folder": {
			New: func(t *testing.T, dir string) engine.Res {
				return &Res{Path: dir + "/f/", Mode: "2750", Force: true}
			},
			Drifts: map[string]func(*testing.T, string){
				"removed": func(t *testing.T, dir string) { kindtest.Must(t, os.RemoveAll(dir+"/f")) },
				"chmod":   func(t *testing.T, dir string) { kindtest.Must(t, os.Chmod(dir+"/f", 0o777)) },
				"replaced": func(t *testing.T, dir string) {
					kindtest.Must(t, os.RemoveAll(dir+"/f"))
					kindtest.Put(t, dir+"/f", "x")
				},
			},
		},
		"mode only": {
			Prepare: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "text") },
			New: func(t *testing.T, dir string) engine.Res {
				return &Res{Path: dir + "/f", Mode: "u=rwx,go="}
			},
			Drifts: map[string]func(*testing.T, string){
				"chmod": func(t *testing.T, dir string) { kindtest.Must(t, os.Chmod(dir+"/f", 0o777)) },
			},
		},
		"absent": {
			Prepare: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "text") },
			New: func(t *testing.T, dir string) engine.Res {
				return &Res{Path: dir + "/f", State: Absent, Force: true}
			},
			Drifts: map[string]func(*testing.T, string){
				"file":   func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "x") },
				"folder": func(t *testing.T, dir string) { kindtest.Must(t, os.MkdirAll(dir+"/f/g", 0o755)) },
				"link":   func(t *testing.T, dir string) { kindtest.Must(t, os.Symlink("x", dir+"/f")) },
			},
		},
		"through a link": {
			Prepare: func(t *testing.T, dir string) { kindtest.Grow(t, dir, "d/", "f -> d/real") },
			New: func(t *testing.T, dir string) engine.Res {
				return &Res{Path: dir + "/f", Content: new("text"), Mode: "0600"}
			},
			Drifts: map[string]func(*testing.T, string){
				"link removed": func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(dir+"/f")) },
			},
		},
	} {
		s.Kind = "file"
		t.Run(name, func(t *testing.T) { enginetest.Run(t, s) })
		s.Host = kindtest.RealHost
		if name == "through a link" { // which a FakeHost does not follow
			s.Drifts["target edited"] = func(t *testing.T, dir string) { toggle(t, dir+"/d/real") }
		}
		t.Run(name+" on the host", func(t *testing.T) { enginetest.Run(t, s) })
	}
}
