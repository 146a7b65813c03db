package file

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestFindingK1FileLooksAgain: what takes the place of a file while it is written is
// looked at and told of like anything else, and made right in the same run.
func TestFindingK1FileLooksAgain(t *testing.T) {
	for name, before := range map[string]string{"made": "", "replaced": "old"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			theirs := func() {
				kindtest.Put(t, path+".new", "theirs")
				if err := os.Rename(path+".new", path); err != nil {
					t.Fatal(err)
				}
			}
			if before != "" {
				kindtest.Put(t, path, before)
			}
			r := &Res{Path: path, Content: new("ours")}
			f := kindtest.Begin(t, "file", r)
			c := &run{res: r, ctx: context.Background(), apply: true, path: path, uid: -1, gid: -1}
			opened := 0
			body := &body{size: int64(len("ours"))}
			body.from = func() (io.ReadCloser, error) {
				// When it is opened for the report, the look at the file is over.
				if opened++; opened == 1 && before == "" || opened == 2 && before != "" {
					theirs()
				}
				return io.NopCloser(strings.NewReader("ours")), nil
			}
			if err := c.file(atPath(c.path), want{body: body}); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "ours" {
				t.Errorf("the file is %q, %v", got, err)
			}
			for _, ch := range f.Changes() {
				if ch.Verb != engine.Created && ch.Field == "state" {
					t.Errorf("reported is %v", f.Changes())
				}
			}
			if last := f.Changes()[len(f.Changes())-1]; last.Field != "content" || last.From != "theirs" {
				t.Errorf("what was replaced is not told of: %v", f.Changes())
			}
		})
	}
}

// TestFileTextShortcuts: a text is written and shown without being read, as it
// would be if it were.
func TestFileTextShortcuts(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "short": "hello\n", "long": strings.Repeat("x", chunkSize+1),
		"too long": strings.Repeat("x", shownMax+1), "binary": "a\x00b", "no text": "a\xffb",
	} {
		quick, slow := textBody(text), textBody(text)
		slow.exact = false
		for what, b := range map[string]*body{"quick": quick, "slow": slow} {
			var out strings.Builder
			if err := b.writeTo(t.Context(), &out); err != nil || out.String() != text {
				t.Errorf("%s, %s: %d bytes were written, %v", name, what, out.Len(), err)
			}
		}
		a, errA := quick.show(t.Context())
		b, errB := slow.show(t.Context())
		if a != b || errA != nil || errB != nil {
			t.Errorf("%s: shown is %.50q, %v; as read it is %.50q, %v", name, a, errA, b, errB)
		}
	}
}
