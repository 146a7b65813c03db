package expand

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
)

// The parts of a Graph, each by itself: what goes in, what they answer, and what they have reported and read.

// shelf has files for a computation, and counts how often each is read.

type shelf struct {
	files map[string]string
	reads map[string]int
}

// read is Options.Read. A file "broken" is there and can't be read.

func (s *shelf) read(path string) ([]byte, error) {
	if s.reads == nil {
		s.reads = map[string]int{}
	}
	s.reads[path]++
	if path == "broken" {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	text, ok := s.files[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// parse is Options.Parse for documents that are JSON, which YAML is a superset of.

func parse(file string, src []byte) (*schema.Node, schema.Diagnostics) {
	return jsonnode.Parse(src, jsonnode.Options{File: file})
}

// tree is a document of a test.

func tree(t *testing.T, src string) *schema.Node {
	t.Helper()
	n, ds := parse("test", []byte(src))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// optionsOf are those of a computation with files.

func optionsOf(s *shelf) *Options { return &Options{Read: s.read, Parse: parse} }

// messages are those of findings, in their order.

func messages(f *findings) string {
	var b strings.Builder
	for _, d := range f.All() {
		b.WriteString(d.Message + "\n")
	}
	return b.String()
}

// says checks that the findings are these, each by a part of its message.

func says(t *testing.T, f *findings, parts ...string) {
	t.Helper()
	lines := strings.FieldsFunc(messages(f), func(r rune) bool { return r == '\n' })
	if len(lines) != len(parts) {
		t.Fatalf("%d findings, want %d:\n%s", len(lines), len(parts), messages(f))
	}
	for i, part := range parts {
		if !strings.Contains(lines[i], part) {
			t.Errorf("finding %d is %q, want %q in it", i, lines[i], part)
		}
	}
}

// ringOf is a keyring with the sources of a document.

// scopeOf is a scope with functions alone.
