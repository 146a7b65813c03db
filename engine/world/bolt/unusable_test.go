package bolt

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
)

// TestUnusable: only wrong content is damage. The advice for damage, to move the file away, would lose
// the objects of a good file on a machine that is short of memory for a moment.
func TestUnusable(t *testing.T) {
	world := &table{place: boltfile.Place{Path: "/w"}}
	for err, damaged := range map[error]bool{
		boltfile.Damaged("page 3 is used twice"):     true,
		fmt.Errorf("mmap: %w", syscall.ENOMEM):       false,
		fmt.Errorf("open: %w", syscall.EMFILE):       false,
		fmt.Errorf("%w: mmap", boltfile.ErrFull):     false,
		fmt.Errorf("sync: %w", syscall.ECANCELED):    false,
		fmt.Errorf("%w: rm", boltfile.ErrUnwritable): false,
	} {
		got := world.unusable(err)
		if errors.As(got, new(*DamageError)) != damaged || errors.Is(got, engine.ErrUnavailable) == damaged || !errors.Is(got, err) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}
