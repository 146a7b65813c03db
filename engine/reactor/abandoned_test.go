package reactor_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// TestAbandonedText: the error names what still runs, and what was cut off.
func TestAbandonedText(t *testing.T) {
	for want, err := range map[string]error{
		"abandoned": &reactor.AbandonedError{},
		"cut off: apt-get (dpkg --configure -a mends it)":    &reactor.AbandonedError{Cut: []string{"apt-get (dpkg --configure -a mends it)"}},
		"abandoned while still running: a[b]; cut off: x; y": &reactor.AbandonedError{Resources: []string{"a[b]"}, Cut: []string{"x", "y"}},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

func TestErrorWords(t *testing.T) {
	for want, err := range map[string]error{
		"abandoned while still running: a[b], c[d]": &reactor.AbandonedError{Resources: []string{"a[b]", "c[d]"}},
		"abandoned while still running: a[b], c[d] (in Cleanup)": &reactor.AbandonedError{
			Resources: []string{"a[b]", "c[d]"}, Methods: map[string]string{"c[d]": "Cleanup"},
		},
		"Watch panicked: boom":      &callsafe.PanicError{Method: "Watch", Value: "boom"},
		`unknown resource kind "x"`: &engine.UnknownKindError{Kind: "x"},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
