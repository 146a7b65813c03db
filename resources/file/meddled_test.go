package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// meddlingHost removes a file, or puts one there, in the moment before a run writes.
type meddlingHost struct {
	engine.Host
	left int // how often yet
	t    *testing.T
}

func (h *meddlingHost) Writing(_ context.Context, path string) bool {
	if h.left--; h.left < 0 {
		return false
	}
	if err := os.Remove(path); err != nil {
		kindtest.Put(h.t, path+".new", fmt.Sprint("text ", h.left))
		kindtest.Must(h.t, os.Rename(path+".new", path))
	}
	return false
}

// TestFindingK1Meddled: a run looks again at what others remove and write in the moment before it writes, and gives up after five times.
func TestFindingK1Meddled(t *testing.T) {
	for _, first := range []bool{false, true} {
		for _, n := range []int{0, 1, 2, 3, 4, 20} {
			t.Run(fmt.Sprint(first, n), func(t *testing.T) {
				path := t.TempDir() + "/f"
				if first {
					kindtest.Put(t, path, "first")
				}
				r := &Res{Path: path, Content: new("ours")}
				r.SetKind("file")
				init := quietInit(nil)
				init.Host = &meddlingHost{kindtest.RealHost(t), n, t}
				kindtest.Must(t, r.Init(init))
				_, err := r.CheckApply(t.Context(), true)
				if n > 5 {
					if !errors.Is(err, atomicfile.ErrChanged) {
						t.Fatalf("%v after %d tries", err, n)
					}
					return
				}
				text, rerr := os.ReadFile(path)
				if err := errors.Join(err, rerr); err != nil || string(text) != "ours" {
					t.Errorf("%q is there: %v", text, err)
				}
			})
		}
	}
}
