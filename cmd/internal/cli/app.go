package cli

import (
	"io"
	"os"
	"syscall"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/gapi"
)

// App is one invocation of the program.
//
// It is made by the program or a test, and no second one shares its fields: there is no global
// state. One goroutine uses it, apart from the readers of signals.
type App struct {
	Name     string // as the program was started; mgmt when empty
	In       io.Reader
	Out, Err io.Writer
	// Exit is os.Exit in the program. A test gives a function that remembers the code.
	Exit    func(int) // ends the process at once
	Journal string    // the socket of systemd's journal, when not where it always is

	asker *gapi.Asker // see asking

	Early <-chan os.Signal // a SIGHUP that came before the daemon listened; nil for none

	Config string // the configuration file, where the flag names one
	// Configure sets Flags and Settled before the verb runs. A reload reads all sources again, and takes Flags from here.
	Flags   config.Resolved // the settings that the flags of the verb give
	Settled config.Resolved // those that any source gives

	guarded     bool // the verb acts: what others can write is refused, see GuardFlag
	TrustOthers bool // but not so

	Folders   kinds.Options // what the kinds are made of, by the flags
	Set       *kinds.Set    // the kinds, as LoadKinds has made them; nil before
	FactsFile string        // with the facts of another machine to check for; empty for this one
}

// The exit codes; see docs/reference/cli/README.md.
// A caller may test single bits: 2 says that something changed, and 4 that something failed.
// The codes 128 and more are those of a shell for a signal: the third signal ends the program
// with one.
const (
	ExitOK     = 0
	ExitUsage  = 1
	ExitChange = 2
	ExitFailed = 4
	ExitTime   = 5
	ExitPipe   = 128 + int(syscall.SIGPIPE) // as the shell reports a process that was ended by that
)

// CodeError is an error with an exit code of its own. An empty message is not
// printed.
type CodeError struct {
	Code int
	err  error
}

// Error is empty for a code without an error: then nothing is printed.
func (e *CodeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the error behind the code.
func (e *CodeError) Unwrap() error { return e.err }

// WithCode returns an error that ends the program with a code, nil for ExitOK.
// An error that has a code already keeps it inside; main takes the outer one.
func WithCode(code int, err error) error {
	if code == ExitOK && err == nil {
		return nil
	}
	return &CodeError{code, err}
}
