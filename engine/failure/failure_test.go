package failure_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/failure"
)

// TestMarkedErrors: a mark is found behind and inside of other errors, changes neither text nor chain, and no mark is taken for another.
func TestMarkedErrors(t *testing.T) {
	base := errors.New("exit status 3")
	marks := []struct {
		name string
		mark func(error) error
		is   func(error) bool
	}{
		{"permanent", failure.Permanent, failure.IsPermanent},
		{"verdict", failure.Verdict, failure.IsVerdict},
		{"interrupted", failure.Interrupted, failure.IsInterrupted},
		{"wait", func(err error) error {
			if err == nil {
				return nil
			}
			return errors.Join(&failure.WaitError{For: err.Error()}, err)
		}, failure.IsWait},
	}
	for i, m := range marks {
		if m.mark(nil) != nil || m.is(nil) || m.is(base) {
			t.Errorf("%s: nil or an error without a mark is marked", m.name)
		}
		for name, wrapped := range map[string]error{
			"itself":  m.mark(base),
			"wrapped": fmt.Errorf("outer: %w", m.mark(base)),
			"joined":  errors.Join(context.Canceled, m.mark(base)),
			"inside":  m.mark(fmt.Errorf("inner: %w", base)),
		} {
			if !m.is(wrapped) || !errors.Is(wrapped, base) || !strings.Contains(wrapped.Error(), "exit status 3") {
				t.Errorf("%s, %s: %v", m.name, name, wrapped)
			}
			for j, other := range marks {
				if j != i && other.is(wrapped) {
					t.Errorf("%s, %s: it counts as %s too", m.name, name, other.name)
				}
			}
		}
	}
	if both := failure.Permanent(failure.Verdict(base)); !failure.IsPermanent(both) || !failure.IsVerdict(both) || both.Error() != "exit status 3" {
		t.Errorf("both marks: %v", both)
	}
}
