package atomicfile

import (
	"errors"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// ErrTouched says that the check of a file has changed the file.
var ErrTouched = errors.New("the check has changed the file that it was asked about, so that file is not used")

// check asks whether a complete temporary file may take the place.
func (n *New) check(temp string) error {
	before, err := n.Dir.Lstat(temp)
	if err != nil {
		return err
	}
	if err := n.Check(n.Dir.Path(temp)); err != nil {
		return err
	}
	n.checked = true
	after, err := n.Dir.Lstat(temp)
	if errors.Is(err, unix.ENOENT) || err == nil && after != before {
		err = n.failed("write", ErrTouched)
	}
	return err
}
