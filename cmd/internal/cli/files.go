package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// WriteFile replaces an output file in one step; see safepath.Walker.WriteFile.
// The folder must be there. A new file has the mode 0644, less the umask; nothing is synced.
func WriteFile(path string, content []byte) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if ownDescriptor(path) {
		// The rules about links would refuse /dev/stdout, which is a link that the kernel resolves by
		// itself; see proc(5).
		return os.WriteFile(path, content, 0o644)
	}
	return safepath.System().WriteFile(path, content, 0o644, false)
}

// ownDescriptor reports whether a path names an open file of this process: the process that started it has
// chosen that.
func ownDescriptor(path string) bool {
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/") || strings.HasPrefix(path, "/dev/std")
}
