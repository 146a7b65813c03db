package remote

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control"
)

// TestExplained: what to do depends on why nobody answers.
func TestExplained(t *testing.T) {
	for want, err := range map[string]error{
		"the group of its socket":  fs.ErrPermission,
		"start one with: mgmt run": fs.ErrNotExist,
	} {
		none := &control.NoDaemonError{Paths: []string{"/s"}, Err: err}
		if got := Explained(none); !strings.Contains(got.Error(), want) || !errors.Is(got, none) {
			t.Errorf("%v: %v", err, got)
		}
	}
}
