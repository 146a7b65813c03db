package engine_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/failure"
)

// TestErrorTexts: each error names the fault in the words for people.
func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		`unknown resource kind "fiel" (did you mean "file"?)`: &engine.UnknownKindError{Kind: "fiel", Near: "file"},
		"no such service":               &bus.Error{Name: "org.example.Unknown", Message: "no such service"},
		"org.example.Unknown":           &bus.Error{Name: "org.example.Unknown"},
		"apt-get, which holds the lock": &failure.WaitError{For: "apt-get, which holds the lock"},
	} {
		if err.Error() != want {
			t.Errorf("%T: %q, want %q", err, err, want)
		}
	}
}
