package file

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// writingHost says that somebody is in the middle of writing what has a name.
type writingHost struct {
	engine.Host
	name string
}

func (h *writingHost) Writing(_ context.Context, path string) bool {
	return filepath.Base(path) == h.name
}

// TestFindingK1Begun: what somebody is in the middle of writing is left, and all else is made right. When he is done it is as any other.
func TestFindingK1Begun(t *testing.T) {
	for name, c := range map[string]struct {
		res    Res
		before string // what is there, as names with their text
		left   string // while a is being written
		after  string
	}{
		"cut":     {Res{Path: "a", Content: new("ours")}, "a=", "a=", "a=ours"},
		"missing": {Res{Path: "a", Content: new("ours")}, "", "", "a=ours"},
		"absent":  {Res{Path: "a", State: Absent}, "a=half", "a=half", ""},
		"purged":  {Res{Path: "", Recurse: true, Purge: true}, "a=half b=whole", "a=half", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for f := range strings.FieldsSeq(c.before) {
				name, text, _ := strings.Cut(f, "=")
				kindtest.Put(t, filepath.Join(dir, name), text)
			}
			r := &c.res
			r.Path = dir + "/" + r.Path
			r.SetKind("file")
			host := &writingHost{kindtest.RealHost(t), "a"}
			init := quietInit(nil)
			init.Host = host
			kindtest.Must(t, r.Init(init))
			run := func(want string) {
				t.Helper()
				if _, err := r.CheckApply(t.Context(), true); err != nil {
					t.Fatal(err)
				}
				entries, err := os.ReadDir(dir)
				kindtest.Must(t, err)
				var has []string
				for _, e := range entries {
					b, err := os.ReadFile(filepath.Join(dir, e.Name()))
					kindtest.Must(t, err)
					has = append(has, e.Name()+"="+string(b))
				}
				if got := strings.Join(has, " "); got != want {
					t.Errorf("there is %q, want %q", got, want)
				}
			}
			run(c.left)
			host.name = ""
			run(c.after)
		})
	}
}
