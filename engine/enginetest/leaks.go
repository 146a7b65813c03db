package enginetest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/goleak"
)

// remains is the state at the begin of a law, to be compared with the state at its end.
// It counts for the whole process, so nothing else may run meanwhile.
type remains struct {
	goroutines goleak.Option
	files      map[string]string
}

// countRemains takes the state before a law.
func countRemains() remains {
	// The runtime opens its poller with the first pipe and keeps it.
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	return remains{goleak.IgnoreCurrent(), openFiles()}
}

// openFiles returns the targets of the open descriptors by number. Where the system
// does not show them, there are none. A descriptor of /proc is left out, since this
// look opens one itself.
func openFiles() map[string]string {
	files := map[string]string{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err == nil && !strings.HasPrefix(target, "/proc/") {
			files[e.Name()] = target
		}
	}
	return files
}

// check returns an error for things that were not there before, after giving it some
// time to go away. The wait is for goroutines that were told to end and are not
// scheduled yet.
func (r remains) check(patience time.Duration) error {
	err := goleak.Find(r.goroutines)
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); {
		err = goleak.Find(r.goroutines)
	}
	if err != nil {
		err = fmt.Errorf("goroutines remain: %w", err)
	}
	return errors.Join(err, r.checkFiles(patience))
}

// checkFiles waits for all descriptors of the law to be closed, since goroutines that
// end may be late. A number that is open to the same target as before is not counted.
func (r remains) checkFiles(patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		left := openFiles()
		maps.DeleteFunc(left, func(fd, target string) bool { return r.files[fd] == target })
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("file descriptors remain: %v", left)
		}
	}
}
