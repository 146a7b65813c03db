package yaml

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// inPieces reads a source in pieces of a size, and checks that it says the same as the whole. It reports whether that was possible.
func inPieces(t *testing.T, src string, size int) bool {
	t.Helper()
	var got, want part
	root, ds, ok := parsePieces("f", []byte(src), size, &got)
	if !ok {
		return false
	}
	whole, wholeDs := parseWhole("f", []byte(src), &want)
	if whole == nil {
		t.Fatalf("pieces of %d bytes are read, the whole is not: %v\n%s", size, wholeDs, src)
	}
	got.root, want.root = root, whole
	got.document(root)
	want.document(whole)
	got.problems, want.problems = got.found.All(), want.found.All()
	got.found, want.found = schema.Findings{}, schema.Findings{}
	got.rest, got.pieces = nil, nil
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(ds, wholeDs) {
		t.Fatalf("in pieces of %d bytes:\n%+v\n%v\nas a whole:\n%+v\n%v\n%s", size, got, ds, want, wholeDs, src)
	}
	return true
}

// many repeats a text with %d in it, for a number.
func many(n int, text string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, text, i)
	}
	return b.String()
}

// TestPieces: lists that are read in pieces say what they say as a whole, with every position, and whatever stands between them.
func TestPieces(t *testing.T) {
	t.Parallel()
	file := many(9, "  - name: /%d\n    content: |\n      - a\n\n      # b\n    depend:\n    - noop[x]\n")
	edges := many(9, "- from: {kind: noop, name: \"%d\"}\n  # between\n  to: 'noop[x]'\n\n")
	for _, src := range []string{
		"resources:\n  file:\n" + file + "edges:\n" + edges,
		"edges:\n\n# first\n" + edges + "graph: x\nresources:\n  # two\n  file:\n" + file + "\n  noop:\n" + many(9, "  - name: &n%[1]d a\n    comment: *n%[1]d\n"),
		"resources:\n  noop:\n" + many(9, "      - name: x\n        name: %d\n        wrong: [1\n          , 2]\n") + "noop: 3\n",
		"edges:\n" + many(9, "- [%d]\n") + "edges:\n" + many(9, "- item %d\n"),
		"resources:\n  noop:\n" + many(9, "  - name: %d\n    <<: {comment: a}\n"),
		"resources:\n  a: {b: {c: d}}\n  noop:\n" + many(9, "  - - %d\n    - x\n"),
	} {
		for size := range 50 {
			if !inPieces(t, src, size) {
				t.Errorf("it is not read in pieces of %d bytes:\n%s", size, src)
			}
		}
	}
}

// TestWholes: what belongs together is not read in pieces, and neither is a source with a fault, which the whole finds and words.
func TestWholes(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"small":                 "edges:\n- x",
		"alias":                 "edges:\n- &a {from: x}\n" + many(9, "- *a # %d\n"),
		"merged list":           "resources:\n  <<:\n" + many(9, "  - {a%d: [{name: x}]}\n"),
		"quoted text":           "comment: \"\nedges:\n" + many(9, "- item %d\n") + "\"\n",
		"quotes over items":     "edges:\n" + many(9, "- item %d\n") + "- \"some text\n- y\"\n",
		"brackets over items":   "edges:\n" + many(9, "- item %d\n") + "- {some: text,\n- z: a}\n",
		"item of a lone dash":   "edges:\n" + many(9, "- item %d\n") + "-\n  from: x\n",
		"unfinished":            "edges:\n" + many(9, "- item %d\n") + "- \"x\n",
		"farther left":          "resources:\n  noop:\n" + many(9, "    - name: %d\n") + "   - name: x\n",
		"tab":                   "edges:\n" + many(9, "- item %d\n") + "\t- x\n",
		"second document":       "edges:\n" + many(9, "- item %d\n") + "---\nedges:\n" + many(9, "- item %d\n"),
		"line ends of Windows":  strings.ReplaceAll("edges:\n"+many(9, "- item %d\n"), "\n", "\r\n"),
		"too deep in the whole": "resources:\n  noop:\n" + many(9, "  - item %d\n") + "  - " + strings.Repeat("[", 99) + strings.Repeat("]", 99) + "\n",
	} {
		if inPieces(t, src, 8) { // each item is a piece
			t.Errorf("%s: it is read in pieces", name)
		}
	}
}

// TestPiecesOfMany: a large graph is read in pieces, and its faults are those of the whole.
func TestPiecesOfMany(t *testing.T) {
	t.Parallel()
	src := "resources:\n  noop:\n" + many(9000, "  - name: n%d\n") + "edges:\n" + many(9000, "- {from: 'noop[n%d]', to: 'noop[n1]'}\n")
	if !inPieces(t, src, pieceSize) {
		t.Error("it is not read in pieces")
	}
	p := read("f", []byte(src+"- {from: 'noop[n1]', to: 'noop[n2]'\n"), maxMarks)
	if len(p.resources)+len(p.edges) > 0 || !p.unreadable || !strings.Contains(p.problems.Error(), "f:18004:") {
		t.Errorf("%d resources and %d edges with %v", len(p.resources), len(p.edges), p.problems)
	}
	p = read("f", []byte(src+"- *none\n"), maxMarks)
	if len(p.edges) > 0 || !strings.Contains(p.problems.Error(), "f:18004:") {
		t.Errorf("%d edges with %v", len(p.edges), p.problems)
	}
}

// FuzzPieces: no source says anything else in pieces than as a whole.
func FuzzPieces(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(err, len(files))
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, uint16(9))
	}
	f.Add([]byte("resources:\n  file:\n  - name: \"a\n    b\"\n  - name: |\n      c\n  -\n    name: d\nedges:\n- &a [x]\n- *a\n"), uint16(4))
	f.Fuzz(func(t *testing.T, src []byte, size uint16) {
		if bytes.Contains(src, []byte("include")) || prescan("f", src, maxMarks) != nil {
			return
		}
		inPieces(t, string(src), int(size))
	})
}
