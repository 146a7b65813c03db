package provenance_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/provenance"
)

// TestPerson: who is the same person, by the texts that name callers. sudo, another host, the page and another connection make no other one.
func TestPerson(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"ann (uid 1000), on web1", "root (uid 0), login ann (uid 1000), on web2", true},
		{"ann (uid 1000), on web1", "bob (uid 1001), on web1", false},
		{"uid 1000, on web1", "ann (uid 1000), on web1, in the page", true},
		{"ann (uid 1000), on web1", "ann@laptop", true},
		{"bob (uid 1000)", "ann@laptop", false},
		{"uid 1000", "ann@laptop", false},
		{"x, login root (uid 7), on a", "x (uid 7)", true},
		{"evil (uid 0), on (uid 1001), on web1", "bob (uid 1001)", true}, // the number of the kernel is the last one
		{`"CN=ann,O=ops" (192.0.2.1:4000)`, `"CN=ann,O=ops" (192.0.2.7:5000), in the page`, true},
		{`"CN=ann" (192.0.2.1:4000)`, `"CN=bob" (192.0.2.1:4000)`, false},
		{`"CN=ann (uid 1000)" (192.0.2.1:4000)`, "bob (uid 1000)", false},
		{"", "", false},
	} {
		if got := provenance.PersonOf(c.a).Same(provenance.PersonOf(c.b)); got != c.same {
			t.Errorf("%q and %q: %t", c.a, c.b, got)
		}
	}
	for _, nobody := range []string{"", "a caller at 192.0.2.1:80", "an unknown caller (EOF)"} {
		if provenance.PersonOf(nobody).Known() {
			t.Errorf("%q is known", nobody)
		}
	}
}
