package reactor

import "testing"

// TestFindingC14TwoBounds: of two numbers, or two shares, none is dropped in silence.
func TestFindingC14TwoBounds(t *testing.T) {
	for _, s := range []string{"5,6", "10%,20%", "5,10%,6", "10%,5,20%"} {
		if r, err := ParseRemovals(s); err == nil {
			t.Errorf("%q is read as %s", s, r)
		}
	}
	for _, s := range []string{"5", "20%", "5,20%", "off"} {
		if r, err := ParseRemovals(s); err != nil || r.String() != s {
			t.Errorf("%q is read as %s, %v", s, r, err)
		}
	}
}
