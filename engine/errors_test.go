package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
)

// TestErrorTexts: each error names the fault in the words for people.
func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		`unknown resource kind "fiel" (did you mean "file"?)`: &engine.UnknownKindError{Kind: "fiel", Near: "file"},
		"no such service":               &engine.BusError{Name: "org.example.Unknown", Message: "no such service"},
		"org.example.Unknown":           &engine.BusError{Name: "org.example.Unknown"},
		"apt-get, which holds the lock": &engine.WaitError{For: "apt-get, which holds the lock"},
	} {
		if err.Error() != want {
			t.Errorf("%T: %q, want %q", err, err, want)
		}
	}
}

// TestMarkedErrors: a mark is found behind and inside of other errors, changes neither text nor chain, and no mark is taken for another.
func TestMarkedErrors(t *testing.T) {
	base := errors.New("exit status 3")
	marks := []struct {
		name string
		mark func(error) error
		is   func(error) bool
	}{
		{"permanent", engine.Permanent, engine.IsPermanent},
		{"verdict", engine.Verdict, engine.IsVerdict},
		{"interrupted", engine.Interrupted, engine.IsInterrupted},
		{"wait", func(err error) error {
			if err == nil {
				return nil
			}
			return errors.Join(&engine.WaitError{For: err.Error()}, err)
		}, engine.IsWait},
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
	if both := engine.Permanent(engine.Verdict(base)); !engine.IsPermanent(both) || !engine.IsVerdict(both) || both.Error() != "exit status 3" {
		t.Errorf("both marks: %v", both)
	}
}
