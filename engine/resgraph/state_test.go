package resgraph_test

import (
	"encoding/json"
	"testing"

	"github.com/reactivegraph/mgmt/engine/resgraph"
)

func TestStates(t *testing.T) {
	seen := map[string]bool{}
	for s := range resgraph.State(resgraph.NumStates) {
		seen[s.String()] = true
		if settled := s == resgraph.StateOK || s == resgraph.StateWouldChange || s == resgraph.StateUnknown; s.Settled() != settled {
			t.Errorf("%s: settled %t", s, s.Settled())
		}
	}
	if len(seen) != resgraph.NumStates || seen[""] {
		t.Errorf("words %v", seen)
	}
	if s := resgraph.State(99).String(); s != "State(99)" {
		t.Error(s)
	}
	if b, err := json.Marshal(map[string]resgraph.State{"s": resgraph.StateWouldChange}); err != nil || string(b) != `{"s":"would-change"}` {
		t.Errorf("%s %v", b, err)
	}
}
