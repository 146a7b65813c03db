package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// lookEvery is how often a daemon looks whether the lock that it holds is still that of its state folder. Another daemon that
// was started in a new folder of this path runs beside it for so long at most.
const lookEvery = time.Second

// lostError ends a daemon whose state folder another one has.
type lostError struct{ why error }

func (e *lostError) Error() string {
	return fmt.Sprintf("the state folder was removed or replaced while it is in use, and another daemon has the new one, so this one ends: %v", e.why)
}

func (e *lostError) Unwrap() error { return e.why }

// keep looks at the lock until stop is called. Where the folder is gone, or another one is in its place, it takes the folder anew; lost is
// called once where another process has done so before.
func (f *stateFolder) keep(log *slog.Logger, lost func(error)) (stop func()) {
	if f.lock == nil {
		return func() {}
	}
	ctx, end := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		told := ""
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := f.hold(log)
			if taken, ok := errors.AsType[*lostError](err); ok {
				log.Error("THE STATE FOLDER IS NOT OURS ANY MORE: "+taken.Error(), "path", f.dir)
				lost(taken)
				return
			}
			if err != nil && err.Error() != told {
				told = err.Error()
				log.Error("THE STATE FOLDER WAS REMOVED WHILE IT IS IN USE, and can't be made anew: nothing keeps a second daemon away, and what was kept there is lost when the program ends",
					"path", f.dir, "error", err)
			}
		}
	})
	return func() { // also more than once
		end()
		done.Wait()
	}
}

// hold returns nil while the lock is the one at its path, and takes the folder anew where it is not.
func (f *stateFolder) hold(log *slog.Logger) error {
	mine, err := f.lock.Stat()
	if err != nil {
		return err
	}
	now, err := os.Lstat(filepath.Join(f.dir, lockName))
	if err == nil && os.SameFile(mine, now) {
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	anew := stateFolder{dir: f.dir, owner: -1}
	if err := errors.Join(anew.inspect(), anew.inspectVars()); err != nil {
		return err
	}
	lock, err := lockState(f.dir)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return &lostError{err}
	case err != nil:
		return err
	case lock == nil:
		return errors.New("it can't be written")
	}
	_ = f.lock.Close()
	f.lock = lock
	log.Error("THE STATE FOLDER WAS REMOVED OR REPLACED WHILE IT IS IN USE: it is taken anew, without passwords, pauses, refreshes that are pending and the history that it had; "+
		"start mgmt again once the folder is as it should be", "path", f.dir)
	return nil
}
