package machine

import (
	"errors"
	"os"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestLookingEnds: the code of what was asked wrongly is not mixed with others.
func TestLookingEnds(t *testing.T) {
	bad := errors.New("bad")
	for _, c := range []struct {
		code int
		err  error
		want int
	}{
		{0, nil, 0}, {cli.ExitChange, nil, 2}, {cli.ExitFailed, nil, 4}, {cli.ExitChange | cli.ExitFailed, nil, 6}, {cli.ExitUsage, nil, 1}, {cli.ExitUsage | cli.ExitFailed, nil, 1},
		{cli.ExitChange, cli.SignalError{Signal: os.Interrupt}, 6},
	} {
		err := (&looking{code: c.code}).end(c.err)
		got := 0
		if e, ok := errors.AsType[*cli.CodeError](err); ok {
			got = e.Code
		}
		if got != c.want {
			t.Errorf("%d and %v give %d, want %d", c.code, c.err, got, c.want)
		}
	}
	if err := (&looking{}).end(bad); !errors.Is(err, bad) {
		t.Error(err)
	}
}
