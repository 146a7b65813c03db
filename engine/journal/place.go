package journal

import (
	"context"
	"os"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
)

// placing is how the file of a journal stands to its path. The goroutine that commits writes it.
type placing struct {
	again int   // how often it was written again
	err   error // why the file that is in use has no name; nil where it has its own
	tries boltfile.Tries
}

// Keep looks whether the journal is still at its path, and writes it again with all that it has where it is not: without its name, all of it goes
// with the process. again says that it was written. The error says why that can't be done; then the work goes on in the file without a name. Another
// file at the path is set aside, unless another process has it open. The caller makes the folder.
func (j *Journal) Keep(ctx context.Context) (again bool, err error) {
	before := j.placing.Load()
	if err := j.submit(ctx, nil, 0, true); err != nil {
		return false, err
	}
	now := j.placing.Load()
	return now.again != before.again, now.err
}

// keepPlace does so before a transaction. Where there is a keeper, only that one asks for it: it knows whether the place is still ours.
func (j *Journal) keepPlace(group []*request) {
	if j.open.kept && !asksForPlace(group) {
		return
	}
	j.mu.RLock()
	f := j.file
	j.mu.RUnlock()
	was := j.placing.Load()
	if f == nil || j.isPlaced(f) {
		if was.err != nil {
			j.placing.Store(&placing{again: was.again})
		}
		return
	}
	now := j.history.opt.Clock.Now()
	if was.err != nil && !was.tries.Due(now) {
		return
	}
	aside, err := j.rewrite(f)
	if err == nil {
		j.placing.Store(&placing{again: was.again + 1})
		j.tell("the journal was removed while it is in use, and was written again", "path", j.open.Path, "set aside", aside)
		return
	}
	j.placing.Store(&placing{again: was.again, err: err, tries: was.tries.After(now, err)})
	if was.err == nil {
		j.tell("THE JOURNAL WAS REMOVED WHILE IT IS IN USE: refreshes that are pending, pauses and the history are lost when the program ends, unless it can be written again before",
			"path", j.open.Path, "error", err)
	}
}

// asksForPlace reports whether a group has a request of Keep.
func asksForPlace(group []*request) bool {
	for _, r := range group {
		if r.own && len(r.writes) == 0 {
			return true
		}
	}
	return false
}

// tell warns, unless a keeper does.
func (j *Journal) tell(text string, args ...any) {
	if !j.open.kept {
		j.open.log.Warn(text, args...)
	}
}

// isPlaced reports whether a file is the one at the path.
func (j *Journal) isPlaced(f *boltfile.File) bool {
	now, err := os.Stat(j.open.Path)
	mine, e := f.Stat()
	return e != nil || err == nil && os.SameFile(now, mine)
}

// rewrite makes a file of the same content under the name, and goes on with that. It returns where what was there is now.
func (j *Journal) rewrite(old *boltfile.File) (aside string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	theirs, err := boltfile.OpenLocked(j.open.Path, 0)
	switch {
	case err == nil:
		defer theirs.Close()
		aside = j.open.asideName(".replaced-")
	case !isAbsent(err):
		return "", err
	}
	err = j.open.Replace(func(now os.FileInfo) bool { return true }, func(to *boltfile.File) error {
		if err := old.CopyTo(to); err != nil || aside == "" {
			return err
		}
		return boltfile.Classify(os.Link(j.open.Path, aside))
	})
	if err != nil {
		return "", err
	}
	if err := old.Close(); err != nil {
		j.open.log.Warn("the journal cannot be closed", "path", j.open.Path, "error", err)
	}
	j.file, err = j.open.open()
	return aside, err
}
