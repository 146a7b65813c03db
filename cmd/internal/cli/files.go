package cli

import (
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/gapi"
)

// WriteFile replaces an output file in one step; see safepath.Walker.WriteFile.
// The folder must be there. A new file has the mode 0644, less the umask; nothing is synced.
func WriteFile(path string, content []byte) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if gapi.OwnDescriptor(path) {
		// The rules about links would refuse /dev/stdout, which is a link that the kernel resolves by
		// itself; see proc(5).
		return os.WriteFile(path, content, 0o644)
	}
	return safepath.System().WriteFile(path, content, 0o644, false)
}
