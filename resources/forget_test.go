package resources

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// remembersNothing are the words with which keys of Shared begin, where the machine is read each time all the same.
var remembersNothing = map[string]string{
	"file": "the numbers of users and groups are kept for as long as their files stay the same",
	"svc":  "only what the manager has still to be told is kept",
}

// TestFindingC9EveryKind: a kind whose resources share what they have read of the machine forgets it after a change above one of them. Of
// those that do not, it is known why.
func TestFindingC9EveryKind(t *testing.T) {
	reg := engine.DefaultRegistry()
	for _, kind := range reg.Kinds() {
		r, err := reg.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := r.(engine.SharedRes)
		if !ok {
			continue
		}
		key, open := s.Shared()
		word, _, _ := strings.Cut(key, ":")
		shared, err := open(t.Context(), enginetest.NewHost())
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if _, forgets := shared.(engine.Forgetter); !forgets && remembersNothing[word] == "" {
			t.Errorf("%s shares a %T, which is no engine.Forgetter", kind, shared)
		}
		if err := shared.Close(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
