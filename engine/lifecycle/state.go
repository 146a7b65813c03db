package lifecycle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/reactivegraph/mgmt/engine/internal/filename"
)

// state is the place of the folders of Init.VarDir.
type state struct {
	dir                 string
	readOnly, temporary bool

	mu   sync.Mutex
	temp string
}

var errNoState = errors.New("there is no state folder")

// path returns the folder of a kind and name, which need not exist. It is an error where there is
// no state folder.
func (s *state) path(kind, name string) (string, error) {
	dir, err := s.root()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "vars", filename.Of(kind), filename.Of(name)), nil
}

func (s *state) root() (string, error) {
	switch {
	case s.dir != "":
		return s.dir, nil
	case !s.temporary:
		return "", errNoState
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temp == "" {
		var err error
		if s.temp, err = os.MkdirTemp("", "mgmt-"); err != nil {
			return "", err
		}
	}
	return s.temp, nil
}

// make returns a path below the folder of a kind and name. With write, it makes that folder.
func (s *state) make(kind, name, rel string, write bool) (string, error) {
	base, err := s.path(kind, name)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, filepath.Join("/", rel))
	if s.readOnly || !write {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("its state folder: %w", err)
	}
	return dir, nil
}

// remove removes the folder of a kind and name with all its contents, if there is one.
func (s *state) remove(kind, name string) error {
	dir, err := s.path(kind, name)
	if s.readOnly || err != nil {
		return nil // nothing is there
	}
	return os.RemoveAll(dir)
}

func (s *state) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temp == "" {
		return nil
	}
	err := os.RemoveAll(s.temp)
	s.temp = ""
	return err
}
