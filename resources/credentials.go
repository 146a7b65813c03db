package resources

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// credentialFolder is where systemd puts the credentials of services.
const credentialFolder = "/run/credentials/"

// isCredential reports whether one of the paths is a credential that the service
// manager has given to this service, or to any other: what is copied from there is a
// secret. It goes by the path as it is written, not by where links lead.
func isCredential(paths []string) bool {
	own := os.Getenv("CREDENTIALS_DIRECTORY")
	return slices.ContainsFunc(paths, func(path string) bool {
		path = filepath.Clean(path) + "/"
		return strings.HasPrefix(path, credentialFolder) || own != "" && strings.HasPrefix(path, filepath.Clean(own)+"/")
	})
}
