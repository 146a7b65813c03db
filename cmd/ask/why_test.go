package ask

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control"
)

// TestUnknownResource: how a resource is written is said where the daemon has
// nothing better.
func TestUnknownResource(t *testing.T) {
	for _, c := range []struct {
		word, hint string
		status     int
		told       bool
	}{
		{"greeting", "", http.StatusNotFound, true},
		{"greeting", "did you mean more", http.StatusNotFound, false},
		{"greeting", "", http.StatusForbidden, false},
		{"file[greeting]", "", http.StatusNotFound, false},
	} {
		err := unknown(&control.Error{Status: c.status, Text: "no", Hint: c.hint}, c.word)
		if told := strings.Contains(err.Error(), "is written 'kind[name]'"); told != c.told {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
