package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// credentialFolder is where systemd puts the credentials of services.
const credentialFolder = "/run/credentials/"

// IsCredential reports whether one of the paths is a credential that the service manager has given
// to this service, or to any other: a copy of it is a secret. It goes by the path as it is written,
// not by where links lead.
func IsCredential(paths []string) bool {
	own := os.Getenv("CREDENTIALS_DIRECTORY")
	return slices.ContainsFunc(paths, func(path string) bool {
		path = filepath.Clean(path) + "/"
		return strings.HasPrefix(path, credentialFolder) || own != "" && strings.HasPrefix(path, filepath.Clean(own)+"/")
	})
}

// OwnCredential returns where the process finds what a path names. A credential of another
// service is the credential of the same name that the process has itself, where it has one: so
// one graph serves mgmt.service and the audit, each with credentials of its own.
func OwnCredential(path string) string {
	rest, ok := strings.CutPrefix(path, credentialFolder)
	if !ok {
		return path
	}
	own := os.Getenv("CREDENTIALS_DIRECTORY")
	_, name, _ := strings.Cut(rest, "/")
	if own == "" || name == "" {
		return path
	}
	mine := filepath.Join(own, name)
	if _, err := os.Lstat(mine); err != nil {
		return path
	}
	return mine
}

// NoCredential adds to the error of a credential that is not there how a service gets one.
func NoCredential(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || !IsCredential([]string{path}) {
		return err
	}
	name := filepath.Base(path)
	return fmt.Errorf("%w; this service has no credential %s, give it one in its unit: LoadCredential=%s:FILE", err, name, name)
}
