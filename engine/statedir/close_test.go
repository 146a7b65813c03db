package statedir

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/journal"
)

// TestWithoutRoom: a disk that is full when the run ends does not make it fail, and
// is told of; whatever else is wrong does.
func TestWithoutRoom(t *testing.T) {
	other := errors.New("input/output error")
	for _, tt := range []struct {
		err, want error
		said      bool
	}{
		{nil, nil, false},
		{other, other, false},
		{fmt.Errorf("commit: %w", journal.ErrFull), nil, true},
		{errors.Join(fmt.Errorf("commit: %w", journal.ErrUnwritable)), nil, true},
	} {
		var log bytes.Buffer
		if err := withoutRoom(tt.err, slog.New(slog.NewTextHandler(&log, nil))); !errors.Is(err, tt.want) {
			t.Errorf("%v: the run ends with %v", tt.err, err)
		}
		if said := strings.Contains(log.String(), "history"); said != tt.said {
			t.Errorf("%v: said %q", tt.err, log.String())
		}
	}
}
