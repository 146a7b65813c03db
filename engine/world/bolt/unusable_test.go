package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	berrors "go.etcd.io/bbolt/errors"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/world"
)

// TestUnusable: only wrong content is damage. The advice for damage, to move the file away, would lose
// the objects of a good file on a machine that is short of memory for a moment.
func TestUnusable(t *testing.T) {
	w := &table{place: boltfile.Place{Path: "/w"}}
	for err, damaged := range map[error]bool{
		boltfile.Damaged("page 3 is used twice"):     true,
		fmt.Errorf("mmap: %w", syscall.ENOMEM):       false,
		fmt.Errorf("open: %w", syscall.EMFILE):       false,
		fmt.Errorf("%w: mmap", boltfile.ErrFull):     false,
		fmt.Errorf("sync: %w", syscall.ECANCELED):    false,
		fmt.Errorf("%w: rm", boltfile.ErrUnwritable): false,
	} {
		got := w.unusable(err)
		if errors.As(got, new(*DamageError)) != damaged || errors.Is(got, world.ErrUnavailable) == damaged || !errors.Is(got, err) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}

// TestNamed: an error of the disk may pass, and names the file. That of a closed file is ErrClosed, and a caller's own error stays as it is.
func TestNamed(t *testing.T) {
	w := &table{place: boltfile.Place{Path: "/w"}}
	for err, want := range map[error]error{
		&fs.PathError{Op: "write", Path: "/w", Err: syscall.EIO}: world.ErrUnavailable,
		os.NewSyscallError("fdatasync", syscall.EIO):             world.ErrUnavailable,
		syscall.ENOSPC:                           world.ErrUnavailable,
		syscall.EROFS:                            world.ErrUnavailable,
		boltfile.Damaged("page 3 is used twice"): world.ErrUnavailable,
		berrors.ErrDatabaseNotOpen:               world.ErrClosed,
		world.ErrNotFound:                        world.ErrNotFound,
	} {
		got := w.named(err)
		if !errors.Is(got, want) || want == world.ErrUnavailable && !strings.Contains(got.Error(), "/w") {
			t.Errorf("%v becomes %v", err, got)
		}
		if own := want == world.ErrNotFound; own && got != err {
			t.Errorf("%v becomes %v", err, got)
		}
	}
	if w.named(nil) != nil {
		t.Error("no error is an error")
	}
}
