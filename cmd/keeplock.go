package cmd

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// lostError ends a daemon whose state folder another one has.
type lostError struct{ why error }

func (e *lostError) Error() string {
	return fmt.Sprintf("the state folder was removed or replaced while it is in use, and another daemon has the new one, so this one ends: %v", e.why)
}

func (e *lostError) Unwrap() error { return e.why }

// held returns the folder for a run, which asks again and again whether it is still this process's own. lost is called once where another process has taken it.
// The store of this host in it, if that is where the objects are, is written again by itself.
func (f *stateFolder) held(w engine.World, log *slog.Logger, lost func(error)) statedir.Folder {
	told := false
	var renew func() error
	if kept, ok := w.(interface{ Keep() error }); ok {
		renew = kept.Keep
	}
	return statedir.Held(f.dir, func() (again bool, err error) {
		again, err = f.hold()
		if taken, ok := errors.AsType[*lostError](err); ok && !told {
			told = true
			log.Error("THE STATE FOLDER IS NOT OURS ANY MORE: "+taken.Error(), "path", f.dir)
			lost(taken)
		}
		return again, err
	}, renew, worldFile)
}

// hold returns no error while the lock is the one at its path, and takes the folder anew where it is not.
func (f *stateFolder) hold() (again bool, err error) {
	if f.lock == nil {
		return false, nil
	}
	mine, err := f.lock.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Lstat(filepath.Join(f.dir, lockName))
	if err == nil && os.SameFile(mine, now) {
		return false, nil
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return false, err
	}
	anew := stateFolder{dir: f.dir, owner: -1}
	if err := errors.Join(anew.inspect(), anew.inspectVars()); err != nil {
		return false, err
	}
	if anew.owner >= 0 && f.owner < 0 {
		return false, fmt.Errorf("the folder that is there now belongs to the user %d, and not to this one", anew.owner)
	}
	lock, err := lockState(f.dir)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return false, &lostError{err}
	case err != nil:
		return false, err
	case lock == nil:
		return false, errors.New("it can't be written")
	}
	_ = f.lock.Close()
	f.lock = lock
	return true, nil
}
