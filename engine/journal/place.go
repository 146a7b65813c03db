package journal

import (
	"errors"
	"io/fs"
	"os"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
)

// keepPlace looks whether the file still has its name, before each transaction:
// without it, all of it goes with the process. A removed file is written again.
// Where that cannot be done, or another file is there now, one warning says so, and
// the work goes on. It is called by the goroutine that commits.
func (j *Journal) keepPlace() {
	j.mu.RLock()
	f := j.file
	j.mu.RUnlock()
	if f == nil || f == j.lost {
		return
	}
	now, err := os.Stat(j.open.Path)
	mine, e := f.Stat()
	switch {
	case e != nil, err == nil && os.SameFile(now, mine):
		return
	case err == nil:
		err = errors.New("another file is in its place")
	case errors.Is(err, fs.ErrNotExist):
		err = j.rewrite(f)
	}
	if err != nil {
		j.lost = f
		j.open.log.Warn("THE JOURNAL WAS REMOVED WHILE IT IS IN USE: refreshes that are pending, pauses and the history are lost when the program ends; start it again",
			"path", j.open.Path, "error", err)
		return
	}
	j.open.log.Warn("the journal was removed while it is in use, and was written again", "path", j.open.Path)
}

// rewrite makes a file of the same content under the name, and goes on with that.
func (j *Journal) rewrite(old *boltfile.File) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.open.Replace(func(now os.FileInfo) bool { return now == nil }, old.CopyTo)
	if err != nil {
		return err
	}
	if err := old.Close(); err != nil {
		j.open.log.Warn("the journal cannot be closed", "path", j.open.Path, "error", err)
	}
	j.file, err = j.open.open()
	return err
}
