package archived

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/archive"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func layInputs(t *testing.T, dir string) {
	t.Helper()
	kindtest.Lay(t, dir+"/in/a", "one\n")
	kindtest.Lay(t, dir+"/in/sub/b", "two\n")
}

// madeDrifts are the ways in which a made file may differ from its inputs.
func madeDrifts(out, in string) map[string]func(*testing.T, string) {
	return map[string]func(*testing.T, string){
		"altered": kindtest.Change(out),
		"emptied": func(t *testing.T, dir string) { kindtest.Must(t, os.Truncate(dir+"/"+out, 0)) },
		"removed": func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(dir+"/"+out)) },
		"mode":    func(t *testing.T, dir string) { kindtest.Must(t, os.Chmod(dir+"/"+out, 0o666)) },
		"input":   kindtest.Change(in),
	}
}

func TestTarSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "tar", Prepare: layInputs, Host: kindtest.RealHost,
		New: func(_ *testing.T, dir string) engine.Res {
			return &Tar{Path: dir + "/a.tar", Inputs: []string{dir + "/in", dir + "/in/sub/b"}, Format: "auto", Mode: "0640"}
		},
		Drifts: madeDrifts("a.tar", "in/sub/b"),
	})
}

func layArchive(t *testing.T, dir string) {
	t.Helper()
	layInputs(t, dir)
	entries, err := archive.Walk(t.Context(), safepath.System(), []string{dir + "/in/"})
	kindtest.Must(t, err)
	var b bytes.Buffer
	kindtest.Must(t, archive.Pack(t.Context(), safepath.System(), &b, 0, entries))
	kindtest.Must(t, os.WriteFile(dir+"/a.tar", b.Bytes(), 0o600))
	kindtest.Must(t, os.RemoveAll(dir+"/in"))
}

func TestTarExtractSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "tar", Prepare: layArchive, Host: kindtest.RealHost,
		New: func(_ *testing.T, dir string) engine.Res {
			return &Tar{Path: dir + "/out/", Extract: dir + "/a.tar", Format: "auto", MaxSize: 1 << 20}
		},
		Drifts: map[string]func(*testing.T, string){
			"altered": kindtest.Change("out/sub/b"),
			"removed": func(t *testing.T, dir string) { kindtest.Must(t, os.RemoveAll(dir+"/out")) },
			"mode":    func(t *testing.T, dir string) { kindtest.Must(t, os.Chmod(dir+"/out/sub", 0o711)) },
		},
	})
}

// A folder follows its archive, and keeps what is not in it.
func TestTarExtract(t *testing.T) {
	dir := t.TempDir()
	layArchive(t, dir)
	r := &Tar{Path: dir + "/out/", Extract: dir + "/a.tar"}
	f := kindtest.Begin(t, "tar", r)
	kindtest.Want(t, f, r, "created entries: (none) -> 3")
	kindtest.Lay(t, dir+"/out/mine", "x")
	kindtest.Want(t, f, r, "")
	kindtest.Lay(t, dir+"/in/a", "another\n")
	kindtest.Lay(t, dir+"/in/sub/b", "two\n")
	p := &Tar{Path: dir + "/a.tar", Inputs: []string{dir + "/in/"}}
	kindtest.Verbs(t, kindtest.Begin(t, "tar", p), p, true)
	kindtest.Want(t, f, r, "entries: 2 -> 3")
	if got := kindtest.Have(t, dir+"/out"); got != "out/ 0755\nout/a 0600 another\n\nout/mine 0600 x\nout/sub/ 0700\nout/sub/b 0600 two\n" {
		t.Errorf("it is %q", got)
	}
	kindtest.Lay(t, dir+"/a.tar", "no archive, though it has some bytes")
	if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "error: "+dir+"/a.tar: ") {
		t.Error(got)
	}
	for text, r := range map[string]*Tar{
		"path has to end in a slash":    {Path: "/a", Extract: "/b"},
		"inputs and extract exclude":    {Path: "/a/", Extract: "/b", Inputs: []string{"/c"}},
		"mode makes no sense":           {Path: "/a/", Extract: "/b", Mode: "0600"},
		"the archive is in the folder":  {Path: "/a/", Extract: "/a/b"},
		`extract "b" is not absolute`:   {Path: "/a/", Extract: "b"},
		`path is empty`:                 {Path: "/", Extract: "/b"},
		"max_size must not be negative": {Path: "/a/", Extract: "/b", MaxSize: -1},
	} {
		if err := r.Validate(); !strings.Contains(kindtest.ErrText(err), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	x := "x"
	for _, c := range []struct {
		f    *file.Res
		want string
	}{
		{&file.Res{Path: "/a/"}, ""},
		{&file.Res{Path: "/a/", Recurse: true, Purge: true}, "the file purges what the tar unpacks"},
		{&file.Res{Path: "/a", Content: &x}, "the file wants a file, and the tar a folder"},
	} {
		r := &Tar{Path: "/a/", Extract: "/b"}
		if a, b := kindtest.ErrText(r.Clashes(c.f)), kindtest.ErrText(c.f.Clashes(r)); a != c.want || b != c.want {
			t.Errorf("%q, %q", a, b)
		}
	}
}

// TestTarExtractSaysWhatItMakes: the change that tells of a new folder is followed by the values that the folder gets.
func TestTarExtractSaysWhatItMakes(t *testing.T) {
	dir := t.TempDir()
	layArchive(t, dir)
	me := strconv.Itoa(os.Getuid())
	r := &Tar{Path: dir + "/out/", Extract: dir + "/a.tar", Format: "auto", MaxSize: 1 << 30, Owner: me}
	f := kindtest.Begin(t, "tar", r)
	want := `created owner: (none) -> "` + me + `" entries: (none) -> 3`
	if got := kindtest.Verbs(t, f, r, false); got != want {
		t.Errorf("a plan says %q, want %q", got, want)
	}
	kindtest.Want(t, f, r, want)
	kindtest.Want(t, f, r, "")
}

func TestGzipSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "gzip", Prepare: layInputs,
		New: func(_ *testing.T, dir string) engine.Res {
			return &Gzip{Path: dir + "/a.gz", Input: dir + "/in/a", Level: -1, Mode: "0640"}
		},
		Drifts: madeDrifts("a.gz", "in/a"),
	})
}

func TestGzipContentSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "gzip", Received: []string{"content"},
		New: func(_ *testing.T, dir string) engine.Res {
			return &Gzip{Path: dir + "/a.gz", Content: new("text"), Level: 9}
		},
		Drifts: map[string]func(*testing.T, string){"altered": kindtest.Change("a.gz")},
	})
}

func gunzip(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	kindtest.Must(t, err)
	z, err := gzip.NewReader(bytes.NewReader(data))
	kindtest.Must(t, err)
	text, err := io.ReadAll(z)
	kindtest.Must(t, err)
	if z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("the header says %q %s", z.Name, z.ModTime)
	}
	return string(text)
}

func TestGzip(t *testing.T) {
	dir := t.TempDir()
	layInputs(t, dir)
	for level := -2; level <= 9; level++ {
		r := &Gzip{Path: dir + "/a.gz", Input: dir + "/in/a", Level: level}
		f := kindtest.Begin(t, "gzip", r)
		kindtest.Verbs(t, f, r, true)
		kindtest.Want(t, f, r, "")
		if got := gunzip(t, dir+"/a.gz"); got != "one\n" {
			t.Errorf("level %d: %q", level, got)
		}
	}
	big := strings.Repeat("0123456789", 200_000)
	r := &Gzip{Path: dir + "/b.gz", Content: &big, Level: 1}
	f := kindtest.Begin(t, "gzip", r)
	if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, `created checksum: (none) -> "(`) {
		t.Error(got)
	}
	if gunzip(t, dir+"/b.gz") != big {
		t.Error("it is another text")
	}
	kindtest.Must(t, os.Remove(dir+"/in/a"))
	r = &Gzip{Path: dir + "/a.gz", Input: dir + "/in/a"}
	if got := kindtest.Verbs(t, kindtest.Begin(t, "gzip", r), r, true); !strings.Contains(got, "error: input: ") {
		t.Error(got)
	}
}

// What was found right is not compressed again while nothing changes; and a change between
// the comparison and the next look is not taken for what was right.
func TestMadeFileRemembers(t *testing.T) {
	dir := t.TempDir()
	if atomicfile.ClockOf(dir) != atomicfile.ClockFine {
		t.Skip("on this file system nothing is remembered in the first three seconds: its clock is too coarse")
	}
	layInputs(t, dir)
	r := &Gzip{Path: dir + "/a.gz", Input: dir + "/in/a", Level: 9}
	kindtest.Begin(t, "gzip", r)
	runs := 0
	run := func() bool {
		t.Helper()
		body := func(w io.Writer) error { runs++; return r.compress(t.Context(), w) }
		ok, err := r.made().Derive(t.Context(), r.init, true, r.seen, "9", r.look, body)
		kindtest.Must(t, err)
		return ok
	}
	run()
	if !run() {
		t.Error("it is not right")
	}
	before := runs
	if !run() || runs != before {
		t.Error("what was right is compressed again")
	}
	kindtest.Change("a.gz")(t, dir)
	if run() {
		t.Error("a change is not seen")
	}
	kindtest.Change("a.gz")(t, dir) // right after it was written
	if run() {
		t.Error("a change after the write is taken for what was right")
	}

	layArchive(t, dir)
	x := &Tar{Path: dir + "/out/", Extract: dir + "/a.tar"}
	fx := kindtest.Begin(t, "tar", x)
	kindtest.Verbs(t, fx, x, true)
	kindtest.Change("out/a")(t, dir)
	kindtest.Want(t, fx, x, "entries: 2 -> 3")
	kindtest.Want(t, fx, x, "")
	kindtest.Want(t, fx, x, "")
	if !x.seen.OK {
		t.Error("nothing is remembered")
	}
	kindtest.Change("out/a")(t, dir)
	kindtest.Want(t, fx, x, "entries: 2 -> 3")
}

func TestTarAndGzipRefuse(t *testing.T) {
	for text, r := range map[string]engine.Res{
		"input or content is missing": &Gzip{Path: "/a"},
		"exclude each other":          &Gzip{Path: "/a", Input: "/b", Content: new("")},
		"input is the path":           &Gzip{Path: "/a", Input: "/a"},
		"level is 10":                 &Gzip{Path: "/a", Input: "/b", Level: 10},
		`input "b" is not absolute`:   &Gzip{Path: "/a", Input: "b"},
		`path "a" is not absolute`:    &Gzip{Path: "a", Input: "/b"},
		`has a control character`:     &Gzip{Path: "/a\n", Input: "/b"},
		"inputs is missing":           &Tar{Path: "/a"},
		"the archive would be in":     &Tar{Path: "/a/b", Inputs: []string{"/a/"}},
		"inputs[1] \"b\" is not":      &Tar{Path: "/a", Inputs: []string{"/b", "b"}},
		`format is "zip"`:             &Tar{Path: "/a", Inputs: []string{"/b"}, Format: "zip"},
		`ends in a slash`:             &Tar{Path: "/a/", Inputs: []string{"/b"}},
	} {
		if err := r.Validate(); !strings.Contains(kindtest.ErrText(err), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What is made of a secret is for its owner only.
func TestMadeOfSecrets(t *testing.T) {
	dir := t.TempDir()
	layInputs(t, dir)
	shared := files.New(nil)
	defer func() { kindtest.Must(t, shared.Close()) }()
	shared.KeepSecret(dir + "/in/sub/b")
	r := &Tar{Path: dir + "/a.tar", Inputs: []string{dir + "/in"}}
	f := kindtest.Begin(t, "tar", r, enginetest.WithShared(shared))
	if got := kindtest.Verbs(t, f, r, true); got != `created checksum: (none) -> (secret) mode: (none) -> "0600"` {
		t.Error(got)
	}
	z := &Gzip{Path: dir + "/a.tar.gz", Input: dir + "/a.tar"}
	kindtest.Verbs(t, kindtest.Begin(t, "gzip", z, enginetest.WithShared(shared)), z, true)
	for _, p := range []string{"/a.tar", "/a.tar.gz"} {
		if st, err := os.Stat(dir + p); err != nil || st.Mode() != 0o600 {
			t.Errorf("%v %v", st, err)
		}
	}
}
