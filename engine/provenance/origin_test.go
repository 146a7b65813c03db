package provenance_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/provenance"
)

// TestFindingL2Origin: the origin of a graph in words, and that of a graph that is made of two.
func TestFindingL2Origin(t *testing.T) {
	file := provenance.Origin{By: "jo (uid 7), on web1", Path: "/g.yaml", Digest: "sha256:0123456789abcdef"}
	signed := provenance.Origin{By: "al@lab", Path: "deploy 3 to all", Digest: "sha256:ab", Signer: "k1"}
	for want, o := range map[string]provenance.Origin{
		"": {},
		" from /g.yaml digest sha256:0123456789ab by jo (uid 7), on web1":                       file,
		" from deploy 3 to all digest sha256:ab signed by k1 by al@lab":                         provenance.Origin{}.And(signed),
		" from /g.yaml, deploy 3 to all digest sha256:0123456789abcdef, sha256:ab signed by k1": file.And(signed),
	} {
		if got := o.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
