package cmd

import "github.com/google/renameio/v2"

// writeFile replaces a file in one step; one that is there keeps its mode.
func writeFile(path string, content []byte) error {
	return renameio.WriteFile(path, content, 0o644, renameio.WithExistingPermissions())
}
