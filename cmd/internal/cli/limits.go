package cli

import (
	"fmt"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// leastFiles is how many open files a run needs. They are its streams, the graph, the journal, the
// socket, the watches, and the pipes of a few commands.
const leastFiles = 40

// EnoughFiles refuses to run where next to nothing can be opened: every resource would fail, each for
// another reason. The Go runtime has raised the limit already as far as it may.
// The error ends the verb with 1 before anything is opened.
func EnoughFiles() error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Cur >= leastFiles {
		return nil // a value that the kernel does not tell can't be judged
	}
	return fmt.Errorf("the limit of %d open files is too low, the minimum is %d: raise it with ulimit -n 1024, or with LimitNOFILE= in the systemd unit", l.Cur, leastFiles)
}
