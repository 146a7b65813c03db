package state

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// LostError ends a daemon whose state folder another one has.
type LostError struct{ why error }

func (e *LostError) Error() string {
	return fmt.Sprintf("the state folder was removed or replaced while it is in use, and another daemon has the new one, so this one ends: %v", e.why)
}

func (e *LostError) Unwrap() error { return e.why }

// Held returns the folder for a run, which asks again and again whether it is still this process's own. lost is called once where another process has taken it.
// The store of this host in it, if that is where the objects are, is written again by itself.
func (f *Folder) Held(w world.World, log *slog.Logger, lost func(error)) statedir.Folder {
	told := false
	var renew func() error
	if kept, ok := w.(interface{ Keep() error }); ok {
		renew = kept.Keep
	}
	return statedir.Held(f.Dir, func() (again bool, err error) {
		again, err = f.hold()
		if taken, ok := errors.AsType[*LostError](err); ok && !told {
			told = true
			log.Error("THE STATE FOLDER IS NOT OURS ANY MORE: "+taken.Error(), "path", f.Dir)
			lost(taken)
		}
		return again, err
	}, renew, store.File)
}

// hold returns no error while the lock is the one at its path, and takes the folder anew where it is not.
func (f *Folder) hold() (again bool, err error) {
	if f.lock == nil {
		return false, nil
	}
	mine, err := f.lock.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Lstat(filepath.Join(f.Dir, lockName))
	if err == nil && os.SameFile(mine, now) {
		return false, nil
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return false, err
	}
	anew := Folder{Dir: f.Dir, owner: -1}
	if err := errors.Join(anew.inspect(), anew.inspectVars()); err != nil {
		return false, err
	}
	if anew.owner >= 0 && f.owner < 0 {
		return false, fmt.Errorf("the folder that is there now belongs to the user %d, and not to this one", anew.owner)
	}
	lock, err := lockState(f.Dir)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return false, &LostError{err}
	case err != nil:
		return false, err
	case lock == nil:
		return false, errors.New("it can't be written")
	}
	_ = f.lock.Close()
	f.lock = lock
	return true, nil
}
