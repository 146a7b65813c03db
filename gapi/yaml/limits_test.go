package yaml_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// endless yields a text again and again, and counts.
type endless struct {
	text string
	read int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.text[(e.read+int64(n))%int64(len(e.text)):])
	}
	e.read += int64(n)
	return n, nil
}

// refused checks that an input is refused with these words, and returns how many
// bytes were allocated meanwhile.
func refused(t *testing.T, o yaml.Options, in io.Reader, want string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := yaml.Load("-", o, in)
	runtime.ReadMemStats(&after)
	if err == nil {
		err = d.Problems.Err()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	return after.TotalAlloc - before.TotalAlloc
}

func TestEndlessInputs(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
		most int64
	}{
		{"x", "a line is longer than", 17 << 20},
		{"- x\n", "stdin:16777217:1: too big: the files of a graph together may have 67108864 bytes; the setting max_graph_size allows more", 65 << 20},
	} {
		in := &endless{text: c.text}
		allocated := refused(t, yaml.Options{}, in, c.want)
		if in.read > c.most {
			t.Errorf("%q: %d bytes were read", c.text, in.read)
		}
		if allocated > uint64(8*c.most) {
			t.Errorf("%q: %d bytes were allocated", c.text, allocated)
		}
	}
}

func TestTooManyValues(t *testing.T) {
	in := "a: [" + strings.Repeat("x,", 5<<20) + "]"
	if allocated := refused(t, yaml.Options{}, strings.NewReader(in), "too many lines and values"); allocated > 64<<20 {
		t.Errorf("%d bytes were allocated", allocated)
	}
}

// A file that is too big is read up to a bound, for the place in it.
func TestBigFile(t *testing.T) {
	path := write(t, t.TempDir(), "g.yaml", "")
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := yaml.Load(path, yaml.Options{}, nil)
	runtime.ReadMemStats(&after)
	if err == nil || err.Error() != path+":1:1: a line is longer than 16777216 bytes" || after.TotalAlloc-before.TotalAlloc > 8*17<<20 {
		t.Errorf("%d bytes were allocated: %v", after.TotalAlloc-before.TotalAlloc, err)
	}
}

// A key given twice is found among few and among many.
func TestManyKeys(t *testing.T) {
	for _, n := range []int{2, 12, 13, 14, 40} {
		for twice := range n {
			var src strings.Builder
			for i := range n {
				fmt.Fprintf(&src, "k%d: 1\n", i)
			}
			fmt.Fprintf(&src, "k%d: 2\n", twice)
			_, err := yaml.Format([]byte(src.String()))
			want := fmt.Sprintf("%d:1: the key \"k%d\" is given twice\n    %d:1: first given here", n+1, twice, twice+1)
			if err == nil || err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
		}
	}
}

// The sizes of all files count together.
func TestMaxBytes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", graphSource("a"))
	write(t, dir, "b.yaml", graphSource("b")+strings.Repeat("# words\n", 20))
	path := write(t, dir, "g.yaml", "include: [a.yaml, b.yaml]\n")
	_, err := yaml.Load(path, yaml.Options{MaxBytes: 1000}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := yaml.Load(path, yaml.Options{MaxBytes: 200}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "b.yaml") + ":16:3: too big: the files of a graph together may have 200 bytes; the setting max_graph_size allows more\n    " + path + ":1:19: included here"
	if got := d.Problems.Error(); got != want || !d.Partial {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Inputs that are slow or big for a careless reader.
func TestBombs(t *testing.T) {
	var merge strings.Builder
	merge.WriteString("a: &m\n")
	for i := range 2000 {
		merge.WriteString(fmt.Sprintf("  k%d: 1\n", i))
	}
	for name, c := range map[string]struct{ src, want string }{
		"laughs":   {laughs(9, 10), "aliases multiply the document to more than 1048576 values"},
		"wide":     {"a: &a [" + strings.Repeat("x,", 1000) + "]\nb: [" + strings.Repeat("*a,", 2000) + "]\n", "aliases multiply"},
		"merges":   {merge.String() + "b:\n" + strings.Repeat("- {<<: *m}\n", 2000), "aliases multiply"},
		"deep":     {"a: &a0 " + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "\nb: " + strings.Repeat("[", 60) + "*a0" + strings.Repeat("]", 60) + "\n", "nested deeper than 100 levels by way of the alias *a0"},
		"brackets": {strings.Repeat("[", 1<<20), "nested deeper than 100 levels"},
		"dashes":   {strings.Repeat("- ", 1<<20), "nested deeper than 100 levels"},
		"braces":   {strings.Repeat("{a: ", 1<<18), "nested deeper than 100 levels"},
		"keys":     {strings.Repeat("a: 1\n", 1<<16), "and 64536 more errors"},
		"itself":   {"a: &a {b: *a, <<: *a}\n", "*a contains itself"},
		"tag":      {"%TAG !e! tag:example.com,2000:\n---\na: !e!x 1\n", "the tag tag:example.com,2000:x is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			if allocated := refused(t, yaml.Options{}, strings.NewReader(c.src), c.want); allocated > 400<<20 {
				t.Errorf("%d bytes were allocated", allocated)
			}
		})
	}
}

// laughs is the billion laughs: levels of lists of aliases to the level before.
func laughs(levels, width int) string {
	var src strings.Builder
	src.WriteString("a0: &a0 [" + strings.Repeat("ha,", width) + "]\n")
	for i := range levels {
		src.WriteString(fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), width)))
	}
	return src.String()
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"):   "no such file or directory",
		empty:                             "the folder has no *.yaml, *.yml or *.toml file",
		"/dev/zero":                       "a line is longer than 16777216 bytes",
		"/dev/null":                       "the file is empty",
		write(t, dir, "f", "x: [") + "/x": "not a directory",
	} {
		_, err := yaml.Load(path, yaml.Options{}, nil)
		ds, ok := errors.AsType[schema.Diagnostics](err)
		if !ok || len(ds) != 1 || ds[0].Pos.File != path || !strings.Contains(ds[0].Message, want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	g := write(t, dir, "g.yaml", "include: [/dev/zero]\n")
	if _, err := yaml.Load(g, yaml.Options{}, nil); err == nil || err.Error() != g+":1:11: can't include /dev/zero: it is neither a file nor a folder" {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the wire is cut") }

func TestStdinBreaks(t *testing.T) {
	refused(t, yaml.Options{}, broken{}, "stdin: the wire is cut")
	refused(t, yaml.Options{}, io.MultiReader(strings.NewReader("a: 1\n"), broken{}), "stdin: the wire is cut")
}
