package file

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// converge checks that looking and applying report what, that the result is as
// described, and that a further run finds it right.
func converge(t *testing.T, f *enginetest.Fake, r engine.Res, what, path, result string) {
	t.Helper()
	kindtest.Want(t, f, r, what)
	if strings.HasPrefix(what, "error: ") {
		return
	}
	if got := kindtest.Have(t, path); got != result {
		t.Errorf("it is\n%s\nand not\n%s", got, result)
	}
	kindtest.Want(t, f, r, "")
}

func TestFileParameters(t *testing.T) {
	for name, c := range map[string]struct {
		before func(t *testing.T, dir string)
		res    Res
		what   string // DIR stands for the folder of the test
		result string
	}{
		"content": {
			res:    Res{Path: "f", Content: new("x")},
			what:   `state created content: (none) -> "x"`,
			result: "f 0644 x",
		},
		"content and mode": {
			res:    Res{Path: "f", Content: new("x"), Mode: "0600"},
			what:   `state created content: (none) -> (hidden, 1 bytes) mode: (none) -> "0600"`,
			result: "f 0600 x",
		},
		"empty content": {
			before: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "old") },
			res:    Res{Path: "f", Content: new("")},
			what:   `content: "old" -> ""`,
			result: "f 0644 ",
		},
		"exists and nothing else": {
			res:    Res{Path: "f", State: Exists},
			what:   `state created`,
			result: "f 0644 ",
		},
		"exists leaves the content": {
			before: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "old") },
			res:    Res{Path: "f", State: Exists, Mode: "u=rw,go="},
			what:   `mode: "0644" -> "0600"`,
			result: "f 0600 old",
		},
		"only a mode, and missing": {
			res:  Res{Path: "f", Mode: "0600"},
			what: "error: DIR/f does not exist; state: exists or a content would make it",
		},
		"symbolic mode of a new file": {
			res:    Res{Path: "f", State: Exists, Mode: "g+w,o="},
			what:   `state created mode: (none) -> "0660"`,
			result: "f 0660 ",
		},
		"setuid": {
			before: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "old") },
			res:    Res{Path: "f", Content: new("new"), Mode: "4755"},
			what:   `content: "old" -> "new" mode: "0644" -> "4755"`,
			result: "f 4755 new",
		},
		"mode is kept": {
			before: func(t *testing.T, dir string) {
				kindtest.Put(t, dir+"/f", "old")
				kindtest.Must(t, os.Chmod(dir+"/f", 0o754))
			},
			res:    Res{Path: "f", Content: new("new")},
			what:   `content: "old" -> "new"`,
			result: "f 0754 new",
		},
		"binary": {
			before: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "\x00\xff") },
			res:    Res{Path: "f", Content: new("text")},
			what:   `content: "(2 bytes, sha256:06eb7d6a69ee19e5fbdf7490)" -> "text"`,
			result: "f 0644 text",
		},
		"dirname and basename": {
			res:    Res{Path: "x", Dirname: "DIR/", Basename: "f", Content: new("x")},
			what:   `state created content: (none) -> "x"`,
			result: "f 0644 x",
		},
		"missing parent": {
			res:  Res{Path: "no/such/f", Content: new("x")},
			what: "error: DIR/no/such/f: the parent folder DIR/no/such does not exist; add file[DIR/no/such/] to the graph",
		},
		"parent is a file": {
			before: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "x") },
			res:    Res{Path: "f/g", Content: new("x")},
			what:   "error: DIR/f/g: DIR/f is a file and not a folder",
		},
		"unknown user and group": {
			res:  Res{Path: "f", Content: new("x"), Owner: "no-such-user", Group: "no-such-group"},
			what: "error: the user \"no-such-user\" does not exist\nthe group \"no-such-group\" does not exist",
		},
		"absent": {
			before: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "old") },
			res:    Res{Path: "f", State: Absent},
			what:   "state deleted",
		},
		"absent already": {
			res: Res{Path: "f/below/what/is/missing", State: Absent},
		},
		"absent link": {
			before: func(t *testing.T, dir string) { kindtest.Must(t, os.Symlink("/etc/passwd", dir+"/f")) },
			res:    Res{Path: "f", State: Absent},
			what:   "state deleted",
		},
		"absent, but a folder": {
			before: func(t *testing.T, dir string) { kindtest.Must(t, os.Mkdir(dir+"/f", 0o755)) },
			res:    Res{Path: "f", State: Absent},
			what:   "error: DIR/f is a folder and the path says otherwise; force: true removes it",
		},
		"absent folder": {
			before: func(t *testing.T, dir string) { kindtest.Must(t, os.Mkdir(dir+"/f", 0o755)) },
			res:    Res{Path: "f/", State: Absent},
			what:   "state deleted",
		},
		"absent full folder": {
			before: func(t *testing.T, dir string) {
				kindtest.Must(t, os.Mkdir(dir+"/f", 0o755))
				kindtest.Put(t, dir+"/f/x", "")
			},
			res:  Res{Path: "f/", State: Absent},
			what: "error: DIR/f is not empty; recurse: true removes it with what is in it",
		},
		"absent full folder, recurse": {
			before: func(t *testing.T, dir string) {
				kindtest.Must(t, os.MkdirAll(dir+"/f/g", 0o755))
				kindtest.Put(t, dir+"/f/g/x", "")
			},
			res:  Res{Path: "f/", State: Absent, Recurse: true},
			what: "state deleted",
		},
		"folder": {
			res:    Res{Path: "f/", Mode: "0700"},
			what:   `state created mode: (none) -> "0700"`,
			result: "f/ 0700",
		},
		"folder with sticky": {
			before: func(t *testing.T, dir string) { kindtest.Must(t, os.Mkdir(dir+"/f", 0o755)) },
			res:    Res{Path: "f/", Mode: "1777"},
			what:   `mode: "0755" -> "1777"`,
			result: "f/ 1777",
		},
		"folder without its parent": {
			res:  Res{Path: "a/f/"},
			what: "error: DIR/a/f: the parent folder DIR/a does not exist; add file[DIR/a/] to the graph",
		},
		"folder with its parents": {
			res:    Res{Path: "f/g/h/", Recurse: true},
			what:   `state created`,
			result: "f/ 0755\nf/g/ 0755\nf/g/h/ 0755",
		},
		"a folder where a file should be": {
			before: func(t *testing.T, dir string) { kindtest.Must(t, os.Mkdir(dir+"/f", 0o755)) },
			res:    Res{Path: "f", Content: new("x")},
			what:   "error: DIR/f is a folder and not a file; force: true replaces it",
		},
		"a folder where a file should be, force": {
			before: func(t *testing.T, dir string) {
				kindtest.Must(t, os.MkdirAll(dir+"/f/g", 0o755))
				kindtest.Put(t, dir+"/f/g/x", "")
			},
			res:    Res{Path: "f", Content: new("x"), Force: true},
			what:   `state: "folder" -> "file" content: (none) -> "x"`,
			result: "f 0644 x",
		},
		"a file where a folder should be": {
			before: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "") },
			res:    Res{Path: "f/"},
			what:   "error: DIR/f is a file and not a folder; force: true replaces it",
		},
		"a file where a folder should be, force": {
			before: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "") },
			res:    Res{Path: "f/", Force: true},
			what:   `state: "file" -> "folder"`,
			result: "f/ 0755",
		},
		"a pipe where a file should be": {
			before: func(t *testing.T, dir string) { kindtest.Must(t, unix.Mkfifo(dir+"/f", 0o600)) },
			res:    Res{Path: "f", Content: new("x")},
			what:   "error: DIR/f is a pipe and not a file; force: true replaces it",
		},
		"symlink": {
			res:    Res{Path: "f", Symlink: true, Source: "../to/nowhere"},
			what:   `state created source: (none) -> "../to/nowhere"`,
			result: "f -> ../to/nowhere",
		},
		"symlink elsewhere": {
			before: func(t *testing.T, dir string) { kindtest.Must(t, os.Symlink("old", dir+"/f")) },
			res:    Res{Path: "f", Symlink: true, Source: "new"},
			what:   `source: "old" -> "new"`,
			result: "f -> new",
		},
		"a file where a link should be": {
			before: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "") },
			res:    Res{Path: "f", Symlink: true, Source: "new"},
			what:   "error: DIR/f is a file and not a link; force: true replaces it",
		},
		"a folder where a link should be, force": {
			before: func(t *testing.T, dir string) { kindtest.Must(t, os.MkdirAll(dir+"/f/g", 0o755)) },
			res:    Res{Path: "f", Symlink: true, Source: "new", Force: true},
			what:   `state: "folder" -> "link" source: (none) -> "new"`,
			result: "f -> new",
		},
		"a link where a file should be, force": {
			before: func(t *testing.T, dir string) {
				kindtest.Put(t, dir+"/other", "kept")
				kindtest.Must(t, os.Symlink("other", dir+"/f"))
			},
			res:    Res{Path: "f", Content: new("x"), Force: true},
			what:   `state: "link" -> "file" content: (none) -> "x"`,
			result: "f 0644 x",
		},
		"source": {
			before: func(t *testing.T, dir string) {
				kindtest.Put(t, dir+"/src", "copied")
				kindtest.Must(t, os.Chmod(dir+"/src", 0o600))
			},
			res:    Res{Path: "f", Source: "DIR/src"},
			what:   `state created content: (none) -> "copied"`,
			result: "f 0644 copied",
		},
		"source is missing": {
			res:  Res{Path: "f", Source: "DIR/src"},
			what: "error: source: stat DIR/src: no such file or directory",
		},
		"fragments": {
			before: func(t *testing.T, dir string) {
				kindtest.Must(t, os.MkdirAll(dir+"/d/skipped", 0o755))
				kindtest.Put(t, dir+"/d/20", "two ")
				kindtest.Put(t, dir+"/d/10", "one ")
				kindtest.Put(t, dir+"/d/.mgmt-0~", "half")
				kindtest.Put(t, dir+"/z", "zero ")
			},
			res:    Res{Path: "f", Fragments: []string{"DIR/z", "DIR/d/", "DIR/z"}},
			what:   `state created content: (none) -> "zero one two zero "`,
			result: "f 0644 zero one two zero ",
		},
		"fragment is missing": {
			res:  Res{Path: "f", Fragments: []string{"DIR/z"}},
			what: "error: fragments: stat DIR/z: no such file or directory",
		},
		"new and empty": {
			res:    Res{Path: "f", Content: new("")},
			what:   `state created`,
			result: "f 0644 ",
		},
		"absent link, but a file": {
			before: func(t *testing.T, dir string) { kindtest.Put(t, dir+"/f", "old") },
			res:    Res{Path: "f", State: Absent, Symlink: true},
			what:   "error: DIR/f is a file and not a link; force: true removes it",
		},
		"source that does not tell its size": {
			res:    Res{Path: "f", Source: "/proc/sys/kernel/ostype"},
			what:   `state created content: (none) -> "Linux\n"`,
			result: "f 0644 Linux\n",
		},
		"hostile name": {
			res:    Res{Path: "f\n; rm -rf ~ \u202e", Content: new("x")},
			what:   `state created content: (none) -> "x"`,
			result: "f\n; rm -rf ~ \u202e 0644 x",
		},
		"longest name": {
			res:    Res{Path: strings.Repeat("n", 255), Content: new("x")},
			what:   `state created content: (none) -> "x"`,
			result: strings.Repeat("n", 255) + " 0644 x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }
			if c.before != nil {
				c.before(t, dir)
			}
			r := &c.res
			r.Path, r.Dirname, r.Source = dir+"/"+r.Path, in(r.Dirname), in(r.Source)
			for i := range r.Fragments {
				r.Fragments[i] = in(r.Fragments[i])
			}
			f := kindtest.Begin(t, "file", r)
			p := dir + "/f"
			if strings.Contains(r.Path, "\n") || strings.Contains(r.Path, "nn") {
				p = r.Path
			}
			failed := strings.HasPrefix(c.what, "error: ")
			converge(t, f, r, in(c.what), p, c.result)
			if failed && strings.Contains(kindtest.Have(t, dir), ".mgmt-") && c.res.Fragments == nil {
				t.Error("a temporary file is left")
			}
		})
	}
}

func TestFileOwner(t *testing.T) {
	enginetestRoot(t)
	dir := t.TempDir()
	kindtest.Put(t, dir+"/f", "old")
	kindtest.Must(t, unix.Chmod(dir+"/f", 0o4755))
	r := &Res{Path: dir + "/f", Owner: "daemon", Group: "12"}
	f := kindtest.Begin(t, "file", r)
	converge(t, f, r, `owner: "root" -> "daemon" group: "0" -> "12" mode: "4755" -> "0755"`, dir+"/f", "f 0755 old")
	st, err := atomicfile.Follow(dir + "/f")
	kindtest.Must(t, err)
	if st.UID != 1 || st.GID != 12 {
		t.Errorf("owner is %d:%d", st.UID, st.GID)
	}
	kindtest.Must(t, unix.Chmod(dir+"/f", 0o4755))
	r.Owner, r.Content = "0", new("new")
	converge(t, f, r, `content: "old" -> "new" owner: "1" -> "0" mode: "4755" -> "0644"`, dir+"/f", "f 0644 new")
	fresh := &Res{Path: dir + "/n", Content: new("x"), Owner: "7"}
	f = kindtest.Begin(t, "file", fresh)
	converge(t, f, fresh, `state created content: (none) -> "x" owner: (none) -> "7"`, dir+"/n", "n 0644 x")
	hidden := &Res{Path: dir + "/h", Content: new("x"), Owner: "7"}
	f = kindtest.Begin(t, "file", hidden)
	f.SetRecv(map[string]*engine.Send{"content": {Secret: true}})
	_, err = hidden.CheckApply(t.Context(), true)
	kindtest.Must(t, err)
	if st, err := atomicfile.Follow(dir + "/h"); err != nil || st.Perm() != 0o600 || st.UID != 7 {
		t.Errorf("a secret of another user: %+v, %v", st, err)
	}
	link := &Res{Path: dir + "/l", Symlink: true, Source: "nowhere", Owner: "7"}
	f = kindtest.Begin(t, "file", link)
	converge(t, f, link, `state created source: (none) -> "nowhere" owner: (none) -> "7"`, dir+"/l", "l -> nowhere")
	kindtest.Must(t, os.Lchown(dir+"/l", 8, 8))
	converge(t, f, link, `owner: "8" -> "7"`, dir+"/l", "l -> nowhere")
}

// enginetestRoot skips what needs root; under CI that is an error.
func enginetestRoot(t *testing.T) {
	t.Helper()
	switch {
	case os.Geteuid() == 0:
	case os.Getenv("CI") == "true":
		t.Fatal("this test needs root")
	default:
		t.Skip("this test needs root")
	}
}

// A path that is a link is written through: the link stays, and the thing behind
// it is replaced in its own folder.
func TestFileThroughLink(t *testing.T) {
	dir := t.TempDir()
	kindtest.Must(t, os.MkdirAll(dir+"/real/deep", 0o755))
	kindtest.Must(t, os.Symlink("real/deep", dir+"/d"))
	kindtest.Must(t, os.Symlink("../x/../target", dir+"/real/deep/f"))
	kindtest.Must(t, os.Mkdir(dir+"/real/x", 0o755))
	r := &Res{Path: dir + "/d/f", Content: new("x")}
	f := kindtest.Begin(t, "file", r)
	converge(t, f, r, `state created content: (none) -> "x"`, dir+"/real/target", "target 0644 x")
	if got := kindtest.Have(t, dir+"/d/f"); got != "f -> ../x/../target" {
		t.Errorf("the link is %q", got)
	}
	kindtest.Put(t, dir+"/real/target", "drift")
	converge(t, f, r, `content: "drift" -> "x"`, dir+"/real/target", "target 0644 x")
	kindtest.Must(t, os.Remove(dir+"/real/deep/f"))
	kindtest.Must(t, os.Symlink("f", dir+"/real/deep/f"))
	kindtest.Want(t, f, r, "error: open "+dir+"/d/f: too many levels of symbolic links: it leads over more than 40 links, the last one is "+dir+"/real/deep/f: fix the links, or name the real path")
}

// TestFileReadLost: a link that leads nowhere is what is there, so that who makes it so
// again does not remove it; but not for who wants what it leads to.
func TestFileReadLost(t *testing.T) {
	dir := t.TempDir()
	kindtest.Must(t, os.WriteFile(dir+"/file", nil, 0o600))
	for _, target := range []string{"nowhere", "file/x", "\xff"} {
		kindtest.Must(t, os.Symlink(target, dir+"/l"))
		asked := &Res{Path: dir + "/l"}
		kindtest.Begin(t, "file", asked)
		got, err := asked.Read(t.Context())
		kindtest.Must(t, err)
		link := got.(*Res)
		if !link.Symlink || link.Source != target || link.State != Exists {
			t.Errorf("%q: %+v", target, link)
		}
		kindtest.Begin(t, "file", link)
		if ok, err := link.CheckApply(t.Context(), false); !ok || err != nil {
			t.Errorf("%q: %v, %v", target, ok, err)
		}
		wanted := &Res{Path: dir + "/l", Content: new("x")}
		kindtest.Begin(t, "file", wanted)
		if got, err := wanted.Read(t.Context()); err != nil || got.(*Res).State != Absent {
			t.Errorf("%q: %+v, %v", target, got, err)
		}
		kindtest.Must(t, os.Remove(dir+"/l"))
	}
}

// A link that somebody else has put into a folder like /tmp is a trap.
func TestFileDistrustsLink(t *testing.T) {
	enginetestRoot(t)
	dir := t.TempDir()
	kindtest.Put(t, dir+"/victim", "kept")
	kindtest.Must(t, os.Mkdir(dir+"/tmp", 0o755))
	kindtest.Must(t, unix.Chmod(dir+"/tmp", 0o1777))
	kindtest.Must(t, os.Symlink(dir+"/victim", dir+"/tmp/f"))
	kindtest.Must(t, os.Lchown(dir+"/tmp/f", 12345, 12345))
	r := &Res{Path: dir + "/tmp/f", Content: new("x")}
	f := kindtest.Begin(t, "file", r)
	kindtest.Want(t, f, r, "error: "+dir+"/tmp/f is a link (to \""+dir+"/victim\") that belongs to the user 12345, and is not followed: name the real path, or chown -h root "+dir+"/tmp/f, or set owner: 12345 (or force: true, which replaces the link)")
	r.Force = true
	converge(t, f, r, `state: "link" -> "file" content: (none) -> "x"`, dir+"/tmp/f", "f 0644 x")
	if got := kindtest.Have(t, dir+"/victim"); got != "victim 0644 kept" {
		t.Errorf("the victim is %q", got)
	}
}

func TestFileValidate(t *testing.T) {
	long := strings.Repeat("x", 256)
	for name, c := range map[string]struct {
		res  Res
		what string
	}{
		"relative":         {Res{Path: "etc/x"}, `path "etc/x" is not absolute, it must begin with a slash`},
		"NUL":              {Res{Path: "/etc/x\x00y"}, `path "/etc/x\x00y" has a NUL byte in it`},
		"dots":             {Res{Path: "/etc/../x"}, `path "/etc/../x" has .. in it, write the path that is meant`},
		"long name":        {Res{Path: "/" + long}, `path: the part "xxxxxxxxxxxxxxxxxxxx"... has 256 bytes, more than 255`},
		"long path":        {Res{Path: strings.Repeat("/x", 2048)}, `path "/x/x/x/x/x/x/x/x/x/x"... has 4096 bytes, more than 4095`},
		"state":            {Res{State: "present"}, `state is "present", it must be exists, absent or undefined`},
		"mode":             {Res{Mode: "rw-r--r--"}, `"rw-r--r--" is not a mode: write it as "0644", u=rwX,go=rX or g+w`},
		"two bodies":       {Res{Content: new(""), Source: "/x"}, `content, source and fragments exclude each other`},
		"absent body":      {Res{State: Absent, Content: new("")}, `state is absent: content, source and fragments make no sense`},
		"folder content":   {Res{Path: "/x/", Content: new("")}, `the path ends in a slash, which is a folder: it has no content and no fragments`},
		"source kind":      {Res{Source: "/x/"}, `path and source must both end in a slash (folders) or both not (files)`},
		"source recurse":   {Res{Path: "/y/", Source: "/x/"}, `a source folder is copied only with recurse: true`},
		"source itself":    {Res{Path: "/x", Source: "/x"}, `source is the path itself`},
		"into itself":      {Res{Path: "/x/y/", Source: "/x/", Recurse: true}, `the path "/x/y/" is inside source "/x/"`},
		"out of itself":    {Res{Path: "/x/", Source: "/x/y/", Recurse: true}, `source "/x/y/" is inside the path "/x/"`},
		"inside fragments": {Res{Path: "/x/y", Fragments: []string{"/x/"}}, `the path "/x/y" is inside fragments[0] "/x/"`},
		"relative source":  {Res{Source: "x"}, `source "x" is not absolute, it must begin with a slash`},
		"purge":            {Res{Path: "/x/", Purge: true}, `purge needs recurse: true`},
		"purge file":       {Res{Purge: true, Recurse: true}, `purge is for folders: let the path end in a slash`},
		"purge root":       {Res{Path: "/", Purge: true, Recurse: true}, `the root folder is neither removed, replaced nor purged`},
		"absent root":      {Res{Path: "//", State: Absent, Recurse: true}, `the root folder is neither removed, replaced nor purged`},
		"symlink":          {Res{Symlink: true}, `source is missing: symlink: true makes a link, and source is what it points to`},
		"symlink folder":   {Res{Path: "/x/", Symlink: true, Source: "y/"}, `symlink: the path of a link must not end in a slash`},
		"symlink mode":     {Res{Symlink: true, Source: "y", Mode: "0644"}, `symlink: a link has no mode of its own`},
		"dirname":          {Res{Dirname: "/etc"}, `dirname "/etc" must end in a slash`},
		"basename":         {Res{Basename: "/x"}, `basename "/x" must not begin with a slash`},
	} {
		t.Run(name, func(t *testing.T) {
			c.res.SetName("/etc/file")
			err := c.res.Validate()
			if err == nil || err.Error() != c.what {
				t.Errorf("Validate says\n%v\nand not\n%s", err, c.what)
			}
		})
	}
	for _, r := range []Res{
		{}, {Path: "/x/", Recurse: true, Purge: true}, {Symlink: true, Source: "../x"},
		{Symlink: true, State: Absent}, {Mode: "g+w"}, {Path: "/", Mode: "0755"},
		{Path: "/a/..b/c..", State: Undefined}, {Path: "//x//y/./z"},
	} {
		r.SetName("/etc/file")
		if err := r.Validate(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestFilePath(t *testing.T) {
	for _, c := range []struct{ name, path, dir, base, want string }{
		{"/n", "", "", "", "/n"},
		{"n", "/p/f", "", "", "/p/f"},
		{"n", "/p/d/", "", "", "/p/d/"},
		{"n", "/p/f", "/q/", "", "/q/f"},
		{"n", "/p/f", "", "g", "/p/g"},
		{"n", "/p/f", "/q/", "g/", "/q/g/"},
		{"/p/d/", "", "/q/", "", "/q/d/"},
		{"/p//d/./", "", "", "", "/p/d/"},
		{"/", "", "", "", "/"},
	} {
		r := &Res{Path: c.path, Dirname: c.dir, Basename: c.base}
		r.SetName(c.name)
		if got := r.filePath(); got != c.want {
			t.Errorf("%+v gives %q", c, got)
		}
	}
}
