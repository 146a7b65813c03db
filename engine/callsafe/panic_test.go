package callsafe_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/traits"
)

// TestDo: an error passes as it is, a panic becomes an error that names the method and keeps the stack.
func TestDo(t *testing.T) {
	base := errors.New("no")
	for name, c := range map[string]struct {
		f    func() error
		want string
	}{
		"nothing":        {func() error { return nil }, "<nil>"},
		"an error":       {func() error { return base }, "no"},
		"a text":         {func() error { panic("boom") }, "Watch panicked: boom"},
		"an error value": {func() error { panic(base) }, "Watch panicked: no"},
		"an index":       {func() error { var none []int; return fmt.Errorf("%d", none[len(none)]) }, "Watch panicked: runtime error: index out of range [0] with length 0"},
		"a nil pointer":  {func() error { var none *traits.Base; return errors.New(none.Name()) }, "Watch panicked: runtime error: invalid memory address or nil pointer dereference"},
		"nil":            {func() error { panic(nil) }, "Watch panicked: panic called with nil argument"}, //nolint:govet // that is the case
	} {
		t.Run(name, func(t *testing.T) {
			err := callsafe.Do("Watch", c.f)
			if got := fmt.Sprint(err); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			p, panicked := errors.AsType[*callsafe.PanicError](err)
			if panicked != strings.Contains(c.want, "panicked") {
				t.Fatalf("it counts as a panic: %t", panicked)
			}
			if panicked && !strings.Contains(p.Traced().Error(), "panic_test.go") {
				t.Errorf("the stack does not lead here:\n%v", p.Traced())
			}
		})
	}
}
