package resources

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

func layInputs(t *testing.T, dir string) {
	t.Helper()
	lay(t, dir+"/in/a", "one\n")
	lay(t, dir+"/in/sub/b", "two\n")
}

// madeDrifts are the ways in which a made file may differ from its inputs.
func madeDrifts(out, in string) map[string]func(*testing.T, string) {
	return map[string]func(*testing.T, string){
		"altered": change(out),
		"emptied": func(t *testing.T, dir string) { must(t, os.Truncate(dir+"/"+out, 0)) },
		"removed": func(t *testing.T, dir string) { must(t, os.Remove(dir+"/"+out)) },
		"mode":    func(t *testing.T, dir string) { must(t, os.Chmod(dir+"/"+out, 0o666)) },
		"input":   change(in),
	}
}

func TestTarSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "tar", Prepare: layInputs, Host: realHost,
		New: func(_ *testing.T, dir string) engine.Res {
			return &TarRes{Path: dir + "/a.tar", Inputs: []string{dir + "/in", dir + "/in/sub/b"}, Format: "auto", Mode: "0640"}
		},
		Drifts: madeDrifts("a.tar", "in/sub/b"),
	})
}

func TestGzipSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "gzip", Prepare: layInputs,
		New: func(_ *testing.T, dir string) engine.Res {
			return &GzipRes{Path: dir + "/a.gz", Input: dir + "/in/a", Level: -1, Mode: "0640"}
		},
		Drifts: madeDrifts("a.gz", "in/a"),
	})
}

func TestGzipContentSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "gzip", Received: []string{"content"},
		New: func(_ *testing.T, dir string) engine.Res {
			return &GzipRes{Path: dir + "/a.gz", Content: new("text"), Level: 9}
		},
		Drifts: map[string]func(*testing.T, string){"altered": change("a.gz")},
	})
}

func gunzip(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	z, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	text, err := io.ReadAll(z)
	must(t, err)
	if z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("the header says %q %s", z.Name, z.ModTime)
	}
	return string(text)
}

func TestGzip(t *testing.T) {
	dir := t.TempDir()
	layInputs(t, dir)
	for level := -2; level <= 9; level++ {
		r := &GzipRes{Path: dir + "/a.gz", Input: dir + "/in/a", Level: level}
		f := begin(t, "gzip", r)
		verbs(t, f, r, true)
		want(t, f, r, "")
		if got := gunzip(t, dir+"/a.gz"); got != "one\n" {
			t.Errorf("level %d: %q", level, got)
		}
	}
	big := strings.Repeat("0123456789", 200_000)
	r := &GzipRes{Path: dir + "/b.gz", Content: &big, Level: 1}
	f := begin(t, "gzip", r)
	if got := verbs(t, f, r, true); !strings.HasPrefix(got, `created checksum: (none) -> "(`) {
		t.Error(got)
	}
	if gunzip(t, dir+"/b.gz") != big {
		t.Error("it is another text")
	}
	must(t, os.Remove(dir+"/in/a"))
	r = &GzipRes{Path: dir + "/a.gz", Input: dir + "/in/a"}
	if got := verbs(t, begin(t, "gzip", r), r, true); !strings.Contains(got, "error: input: ") {
		t.Error(got)
	}
}

// What was found right is not compressed again while nothing changes.
func TestMadeFileIsCheap(t *testing.T) {
	dir := t.TempDir()
	layInputs(t, dir)
	r := &GzipRes{Path: dir + "/a.gz", Input: dir + "/in/a", Level: 9}
	f := begin(t, "gzip", r)
	verbs(t, f, r, true)
	verbs(t, f, r, true)
	fine := atomicfile.ClockOf(dir) == atomicfile.ClockFine
	if fine && !r.seen.ok {
		t.Error("nothing is remembered")
	}
	r.seen.ok, r.seen.key = true, "9"+r.made().key() // as it is after a while on other file systems
	var err error
	m := r.made()
	r.seen.in, err = r.look()
	must(t, err)
	r.seen.out, err = m.lookOut(r.init)
	must(t, err)
	runs := 0
	body := piped(func(io.Writer) error { runs++; return errors.New("not again") })
	ok, err := m.derive(t.Context(), r.init, true, r.seen, "9", r.look, body)
	if runs > 0 || !ok || err != nil {
		t.Errorf("%d runs, %t, %v", runs, ok, err)
	}
}

// Who closes a content that is written meanwhile waits for the end of that.
func TestPipedEnds(t *testing.T) {
	ended := false
	body := piped(func(w io.Writer) error {
		for {
			if _, err := w.Write([]byte("x")); err != nil {
				time.Sleep(20 * time.Millisecond) // what it has to clean up
				ended = true
				return err
			}
		}
	})
	in, err := body.open()
	must(t, err)
	_, err = in.Read(make([]byte, 1))
	must(t, err)
	must(t, in.Close())
	if !ended {
		t.Error("it is still written")
	}
}

// A content that panics is an error, and nothing is left of the file.
func TestMadeFileFails(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir+"/x", "old")
	f := enginetest.NewInit(t)
	for _, body := range []func(io.Writer) error{
		func(io.Writer) error { panic("broken") },
		func(w io.Writer) error { _, _ = w.Write([]byte("half")); return errors.New("broken") },
	} {
		ok, err := madeFile{path: dir + "/x"}.checkApply(t.Context(), f.Init(), true, piped(body))
		if ok || err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("%t, %v", ok, err)
		}
		if got := have(t, dir); got != "001/ 0755\n001/x 0600 old" {
			t.Errorf("left is %q", got)
		}
	}
	must(t, os.MkdirAll(dir+"/d", 0o700))
	if _, err := (madeFile{path: dir + "/d"}).checkApply(t.Context(), f.Init(), true, fileText("x")); err == nil || !strings.Contains(err.Error(), "is a folder and not a file") {
		t.Error(err)
	}
}

func TestTarAndGzipRefuse(t *testing.T) {
	for text, r := range map[string]engine.Res{
		"input or content is missing": &GzipRes{Path: "/a"},
		"exclude each other":          &GzipRes{Path: "/a", Input: "/b", Content: new("")},
		"input is the path":           &GzipRes{Path: "/a", Input: "/a"},
		"level is 10":                 &GzipRes{Path: "/a", Input: "/b", Level: 10},
		`input "b" is not absolute`:   &GzipRes{Path: "/a", Input: "b"},
		`path "a" is not absolute`:    &GzipRes{Path: "a", Input: "/b"},
		`has a control character`:     &GzipRes{Path: "/a\n", Input: "/b"},
		"inputs is missing":           &TarRes{Path: "/a"},
		"the archive would be in":     &TarRes{Path: "/a/b", Inputs: []string{"/a/"}},
		"inputs[1] \"b\" is not":      &TarRes{Path: "/a", Inputs: []string{"/b", "b"}},
		`format is "zip"`:             &TarRes{Path: "/a", Inputs: []string{"/b"}, Format: "zip"},
		`ends in a slash`:             &TarRes{Path: "/a/", Inputs: []string{"/b"}},
	} {
		if err := r.Validate(); !strings.Contains(errText(err), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What is made of a secret is for its owner only.
func TestMadeOfSecrets(t *testing.T) {
	dir := t.TempDir()
	layInputs(t, dir)
	shared := newFileShared()
	defer func() { must(t, shared.Close()) }()
	shared.keepSecret(dir + "/in/sub/b")
	r := &TarRes{Path: dir + "/a.tar", Inputs: []string{dir + "/in"}}
	f := begin(t, "tar", r, enginetest.WithShared(shared))
	if got := verbs(t, f, r, true); got != `created checksum: (none) -> (secret) mode: (none) -> "0600"` {
		t.Error(got)
	}
	z := &GzipRes{Path: dir + "/a.tar.gz", Input: dir + "/a.tar"}
	verbs(t, begin(t, "gzip", z, enginetest.WithShared(shared)), z, true)
	for _, p := range []string{"/a.tar", "/a.tar.gz"} {
		if st, err := os.Stat(dir + p); err != nil || st.Mode() != 0o600 {
			t.Errorf("%v %v", st, err)
		}
	}
}

func TestMadeFilesClash(t *testing.T) {
	x := "x"
	gz, tarball := &GzipRes{Path: "/a", Input: "/b"}, &TarRes{Path: "/a", Inputs: []string{"/b"}}
	as := func(kind string, r engine.ClashingRes) engine.ClashingRes { r.SetKind(kind); return r }
	for _, c := range []struct {
		a, b  engine.ClashingRes
		wrong bool
	}{
		{as("gzip", gz), as("tar", tarball), true},
		{gz, as("gzip", &GzipRes{Path: "/a", Input: "/c"}), true},
		{gz, as("gzip", &GzipRes{Path: "/a", Input: "/b"}), false},
		{tarball, as("tar", &TarRes{Path: "/a", Inputs: []string{"/c"}}), true},
		{gz, &FileRes{Path: "/a", Content: &x}, true},
		{gz, &FileRes{Path: "/a", Mode: "0600"}, false},
		{tarball, &LineRes{File: "/a", Content: "x"}, true},
	} {
		if err := c.a.Clashes(c.b); (err != nil) != c.wrong {
			t.Errorf("%T %T: %v", c.a, c.b, err)
		}
		if err := c.b.Clashes(c.a); (err != nil) != c.wrong {
			t.Errorf("%T %T: %v", c.b, c.a, err)
		}
	}
}
