package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// names lists a folder.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// text returns a New that writes a text and leaves all else as it is.
func text(dir, name, s string) *New {
	return &New{Dir: At(dir), Name: name, Mode: -1, UID: -1, GID: -1, Size: int64(len(s)), Fill: func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}}
}

// ways are those in which a temporary file is made.
var ways = map[string]bool{"without a name": false, "with a name": true}

// over is text for a file that exists.
func over(t testing.TB, dir, name, s string) *New {
	t.Helper()
	n := text(dir, name, s)
	st, err := n.Dir.Lstat(name)
	must(t, err)
	n.Old = &st
	return n
}

func write(t testing.TB, n *New) Result {
	t.Helper()
	res, err := n.Write()
	must(t, err)
	return res
}

func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	n := text(dir, "f", "hello")
	n.Mode = 0o751
	res := write(t, n)
	if got := read(t, dir+"/f"); got != "hello" {
		t.Errorf("content is %q", got)
	}
	st, err := At(dir).Lstat("f")
	must(t, err)
	if !res.Sure || res.InPlace || res.Stat != st {
		t.Errorf("result is %+v, the file is %+v", res, st)
	}
	if st.Perm() != 0o751 {
		t.Errorf("mode is %o", st.Perm())
	}
	if got := names(t, dir); !slices.Equal(got, []string{"f"}) {
		t.Errorf("left are %v", got)
	}
}

func TestWriteBelowOpenFolder(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDir(dir)
	must(t, err)
	defer d.Close()
	must(t, os.Rename(dir, dir+".moved"))
	t.Cleanup(func() { _ = os.RemoveAll(dir + ".moved") })
	n := text(dir, "f", "hello")
	n.Dir = d
	write(t, n)
	if got := read(t, dir+".moved/f"); got != "hello" {
		t.Errorf("content is %q", got)
	}
}

func TestWriteRemovesTempAfterAnyEnd(t *testing.T) {
	boom := errors.New("boom")
	for name, fill := range map[string]func(io.Writer) error{
		"error": func(w io.Writer) error { _, _ = io.WriteString(w, "part"); return boom },
		"panic": func(io.Writer) error { panic(boom) },
	} {
		for way, nameFirst := range ways {
			t.Run(name+" "+way, func(t *testing.T) {
				dir := t.TempDir()
				must(t, os.WriteFile(dir+"/f", []byte("old"), 0o644))
				n := over(t, dir, "f", "")
				n.Fill, n.nameFirst = fill, nameFirst
				func() {
					defer func() {
						if r := recover(); r != nil && r != boom {
							t.Errorf("panic with %v", r)
						}
					}()
					if _, err := n.Write(); !errors.Is(err, boom) {
						t.Errorf("error is %v", err)
					}
				}()
				if got := names(t, dir); !slices.Equal(got, []string{"f"}) || read(t, dir+"/f") != "old" {
					t.Errorf("left are %v", got)
				}
			})
		}
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 500 {
		name := strings.Repeat("x", 100+i%100) + string(rune('a'+i%26)) + "\n" + filepath.Base(t.Name()) + strings.Repeat("y", i/100)
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
		want = append(want, name)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	got, err := At(dir).Names()
	must(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("got %d names, want %d", len(got), len(want))
	}
	d, err := OpenDir(dir)
	must(t, err)
	defer d.Close()
	for range 2 { // a second time too
		if got, err := d.Names(); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %d names and %v", len(got), err)
		}
	}
}

func TestReadlinkLong(t *testing.T) {
	dir := t.TempDir()
	target := strings.Repeat("0123456789", 300)
	must(t, os.Symlink(target, dir+"/l"))
	if got, err := At(dir).Readlink("l"); err != nil || got != target {
		t.Errorf("got %d bytes and %v", len(got), err)
	}
}
