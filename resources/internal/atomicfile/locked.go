package atomicfile

import (
	"fmt"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// whyNot adds to "operation not permitted" that a flag of the file, or of the folder that it is in,
// is the reason, if one is: its mode does not show that.
func whyNot(path string, err error) error {
	if err != unix.EPERM {
		return safepath.Hint(path, err)
	}
	for _, p := range []string{path, filepath.Dir(path)} {
		var st unix.Statx_t
		if unix.Statx(unix.AT_FDCWD, p, unix.AT_SYMLINK_NOFOLLOW, 0, &st) != nil {
			continue
		}
		if flag, name := locked(st.Attributes); flag != "" {
			return fmt.Errorf("%w, since %s is %s (chattr -%s ends that)", err, p, name, flag)
		}
	}
	return err
}

// locked returns the letter and the name of a flag with which not even root may alter
// a file.
func locked(attrs uint64) (flag, name string) {
	switch {
	case attrs&unix.STATX_ATTR_IMMUTABLE != 0:
		return "i", "immutable"
	case attrs&unix.STATX_ATTR_APPEND != 0:
		return "a", "append-only"
	}
	return "", ""
}
