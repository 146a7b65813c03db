package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/setting"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/gapi"
)

// statusFile gets a line, true or false, whenever the graph converges, or does not any more. It is appended to and never shortened, so a
// script can follow it with tail -f.
type statusFile struct {
	path string // empty for none
	f    *os.File
	err  error // the first one; the observer's goroutine writes it, and Close reads it after that has ended
}

// Open implements Part. A link of another user is not followed, since the file may be in a folder that is open to all.
func (s *statusFile) Open(_ context.Context, d *Daemon) (err error) {
	if s.path == "" {
		return nil
	}
	path, err := filepath.Abs(s.path)
	switch {
	case err != nil:
	case gapi.OwnDescriptor(path):
		s.f, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	default:
		s.f, err = safepath.System().OpenAppend(path, 0o644)
	}
	if err != nil {
		return s.fault(err)
	}
	d.Options.Observer = d.Options.Observer.With(mgmt.Observer{Converged: func(yes bool, _ reactor.Counts) {
		if _, err := fmt.Fprintln(s.f, yes); err != nil && s.err == nil {
			s.err = s.fault(err)
		}
	}})
	return nil
}

func (s *statusFile) fault(err error) error { return setting.Errorf("%v: %w", setting.StatusFile, err) }

// Start implements Part.
func (s *statusFile) Start(context.Context, *mgmt.Engine) error { return nil }

// Close implements Part. Its error is also that of a line that could not be written.
func (s *statusFile) Close() error {
	if s.f == nil {
		return nil
	}
	return errors.Join(s.err, s.f.Close())
}
