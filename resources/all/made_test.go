package all_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/archived"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/download"
	"github.com/reactivegraph/mgmt/resources/entries"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// makers are the kinds that make a whole file: dir/f.
func makers(t *testing.T, dir string) map[string]engine.Res {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") }))
	t.Cleanup(s.Close)
	kindtest.Lay(t, dir+"/in/a", "one\n")
	d := &download.Res{Path: dir + "/f", URL: s.URL, Timeout: await.Left(), MaxSize: 1 << 30}
	d.Mode = "0640"
	return map[string]engine.Res{
		"download": d,
		"tar":      &archived.Tar{Path: dir + "/f", Inputs: []string{dir + "/in"}, Format: "auto", Mode: "0640"},
		"gzip":     &archived.Gzip{Path: dir + "/f", Content: new("new"), Level: -1, Mode: "0640"},
	}
}

// What was there before comes back, and is shown by nobody.
func TestMadeReversed(t *testing.T) {
	const secret = "nobody shall see this"
	for name, c := range map[string]struct {
		before, after []string // what is there before, and what others do before it is undone
		ends          string   // what is there then; as before if empty
	}{
		"nothing":      {},
		"a text":       {before: []string{"f=" + secret}},
		"an empty one": {before: []string{"f="}},
		"bytes":        {before: []string{"f=\xff\x00\xfe"}},
		"a link":       {before: []string{"g=" + secret, "f -> g"}},
		"gone already": {after: []string{"-f"}},
		"gone, too":    {before: []string{"f=" + secret}, after: []string{"-f"}},
		"a folder now": {after: []string{"-f", "f/", "f/x=1"}, ends: "left"},
	} {
		for kind := range makers(t, t.TempDir()) {
			t.Run(kind+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				r := makers(t, dir)[kind]
				kindtest.Grow(t, dir, c.before...)
				was := kindtest.Have(t, dir)
				f := kindtest.Begin(t, kind, r)
				before, err := r.(engine.Readable).Read(t.Context())
				kindtest.Must(t, err)
				changes := kindtest.Verbs(t, f, r, true)
				undo, err := kindtest.UndoOf(t, r, before)
				kindtest.Must(t, err)
				if undo.String() != r.String() {
					t.Errorf("what undoes it is %s", undo)
				}
				kindtest.Alter(t, dir, c.after...)
				if c.ends != "" {
					was = kindtest.Have(t, dir)
				}
				f = kindtest.Begin(t, kind, undo)
				looked := kindtest.Verbs(t, f, undo, false)
				if applied := kindtest.Verbs(t, f, undo, true); looked != applied || strings.HasPrefix(applied, "error") {
					t.Errorf("looking it said %q, applying %q", looked, applied)
				}
				kindtest.Want(t, f, undo, "")
				if got := kindtest.Have(t, dir); got != was {
					t.Errorf("after it is undone there is\n%s\nand not\n%s", got, was)
				}
				if strings.Contains(changes+looked, secret) {
					t.Errorf("a content is shown: %s %s", changes, looked)
				}
			})
		}
	}
}

// What can't come back is refused before anything is altered.
func TestMadeReversedRefuses(t *testing.T) {
	dir := t.TempDir()
	all := makers(t, dir)
	kindtest.Lay(t, dir+"/f", "")
	kindtest.Must(t, os.Truncate(dir+"/f", 8<<20+1))
	for kind, r := range all {
		kindtest.Begin(t, kind, r)
		before, err := r.(engine.Readable).Read(t.Context())
		kindtest.Must(t, err)
		if _, err := kindtest.UndoOf(t, r, before); !strings.Contains(kindtest.ErrText(err), "it has more than 8MiB") {
			t.Errorf("%s: %v", kind, err)
		}
		other := makers(t, t.TempDir())[kind]
		if _, err := other.(engine.ReversibleRes).Reversed(before); !strings.Contains(kindtest.ErrText(err), "what was kept is of "+dir+"/f") {
			t.Errorf("%s, at another path: %v", kind, err)
		}
		if _, err := r.(engine.ReversibleRes).Reversed(&basic.NoopRes{}); err == nil {
			t.Errorf("a %s goes back to a noop", kind)
		}
	}
	tar := &archived.Tar{Path: dir + "/to/", Format: "auto", Extract: dir + "/a.tar"}
	tar.SetKind("tar")
	if _, err := kindtest.UndoOf(t, tar, nil); !strings.Contains(kindtest.ErrText(err), "is not kept") {
		t.Error(err)
	}
}

func TestMadeFilesClash(t *testing.T) {
	x := "x"
	gz, tarball := &archived.Gzip{Path: "/a", Input: "/b"}, &archived.Tar{Path: "/a", Inputs: []string{"/b"}}
	as := func(kind string, r engine.ClashingRes) engine.ClashingRes { r.SetKind(kind); return r }
	for _, c := range []struct {
		a, b  engine.ClashingRes
		wrong bool
	}{
		{as("gzip", gz), as("tar", tarball), true},
		{gz, as("gzip", &archived.Gzip{Path: "/a", Input: "/c"}), true},
		{gz, as("gzip", &archived.Gzip{Path: "/a", Input: "/b"}), false},
		{tarball, as("tar", &archived.Tar{Path: "/a", Inputs: []string{"/c"}}), true},
		{gz, &file.Res{Path: "/a", Content: &x}, true},
		{gz, &file.Res{Path: "/a", Mode: "0600"}, false},
		{tarball, &entries.Line{File: "/a", Content: "x"}, true},
	} {
		if err := c.a.Clashes(c.b); (err != nil) != c.wrong {
			t.Errorf("%T %T: %v", c.a, c.b, err)
		}
		if err := c.b.Clashes(c.a); (err != nil) != c.wrong {
			t.Errorf("%T %T: %v", c.b, c.a, err)
		}
	}
}
