package hold_test

import (
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

// TestApprovedCovers: an approval is of one change, by as many persons as it takes, and is over at its end, whether a timer has come or not.
func TestApprovedCovers(t *testing.T) {
	end := time.Unix(1000, 0)
	a := &hold.Approved{Digest: "d", Persons: 1, Until: end}
	for _, c := range []struct {
		of      *hold.Approved
		digest  string
		persons int
		now     time.Time
		want    bool
	}{
		{a, "d", 1, end.Add(-1), true},
		{a, "d", 1, end, false},
		{a, "d", 2, end.Add(-1), false},
		{a, "e", 1, end.Add(-1), false},
		{nil, "d", 1, end.Add(-1), false},
	} {
		if got := c.of.Covers(c.digest, c.persons, c.now); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
