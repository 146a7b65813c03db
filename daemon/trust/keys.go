package trust

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/gapi"
)

// Folder is the folder of the state folder with the deploys in effect.
const Folder = "deploys"

// PinFile returns the file of a state folder with the store that this host belongs to. No topic has a file of that name.
func PinFile(dir string) string { return filepath.Join(dir, Folder, "store.json") }

// ReadKeys reads files with public keys. name is the setting or the flag that names them, for errors, which come joined.
func ReadKeys(name string, from gapi.Source, files []string) (keys []deploy.Public, err error) {
	var errs []error
	for _, path := range files {
		more, err := KeysIn(from, path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", name, path, safepath.WithoutPath(err)))
		}
		keys = append(keys, more...)
	}
	return keys, errors.Join(errs...)
}

// maxPublic bounds a file with public keys, in bytes.
const maxPublic = 1 << 20

// KeysIn reads the keys in one file of at most 1 MiB.
func KeysIn(from gapi.Source, path string) ([]deploy.Public, error) {
	text, err := from.ReadRegular(context.Background(), path, maxPublic, "too big: a file with keys")
	if err != nil {
		return nil, err
	}
	return deploy.ReadPublic(text)
}
