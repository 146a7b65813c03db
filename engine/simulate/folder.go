package simulate

import (
	"errors"
	"os"
	"path"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// Folder is a machine with files: a Host whose paths begin in a folder. Kinds that state it (engine.RootedRes) run their own code
// there.
type Folder struct {
	*Host
	root *os.File
}

var _ safepath.Host = (*Folder)(nil)

// NewFolder returns a machine whose root is an existing folder, and whose other parts are those of a host. Close it after its
// last use. The folder stays.
func NewFolder(h *Host, path string) (*Folder, error) {
	root, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Folder{Host: h, root: root}, nil
}

// Close releases the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Paths implements safepath.Host. The user of the process is the one of the machine.
func (f *Folder) Paths() safepath.Walker {
	return safepath.In(int(f.root.Fd()), "", safepath.User{UID: os.Geteuid(), GID: os.Getegid()})
}

// MakeAbove makes the missing folders above a path, as a package or an installer has done on a real machine. It does not
// follow a link that leads to nothing.
func (f *Folder) MakeAbove(p string) error {
	above := path.Dir(p)
	if _, err := f.Paths().Stat(above); !errors.Is(err, unix.ENOENT) {
		return nil // the kind reports any other fault
	}
	parent, name, err := f.Paths().Parent(above)
	if errors.Is(err, unix.ENOENT) {
		if err := f.MakeAbove(above); err != nil {
			return err
		}
		parent, name, err = f.Paths().Parent(above)
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	err = parent.Do(func() error { return unix.Mkdirat(parent.FD(), name, 0o755) })
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// handle is the machine of one rooted resource.
type handle struct {
	engine.Host
	r *rooted
}

// Clock is asked for by engine.ClockOf.
func (h *handle) Clock() clock.Clock { return engine.ClockOf(h.Host) }

// Paths implements safepath.Host.
func (h *handle) Paths() safepath.Walker { return h.r.machine.folder.Paths() }

// SharedOf implements hosting.Sharer.
func (h *handle) SharedOf(key string) engine.Shared {
	if s, ok := h.Host.(hosting.Sharer); ok {
		return s.SharedOf(key)
	}
	return nil
}
