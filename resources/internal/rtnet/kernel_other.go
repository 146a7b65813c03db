//go:build !linux || mgmt_portable

package rtnet

import (
	"os"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Look answers unix.ErrNeedsLinux, as all here does.
func Look(string) (State, error) { return State{}, unix.ErrNeedsLinux }

// Apply alters nothing.
func Apply(string, State, Plan) error { return unix.ErrNeedsLinux }

// Names knows no interface.
func Names() ([]string, error) { return nil, unix.ErrNeedsLinux }

// Listen opens nothing.
func Listen() (*os.File, error) { return nil, unix.ErrNeedsLinux }

// Take reads nothing.
func Take(uintptr) {}
