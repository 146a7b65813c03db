package values

import (
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Send copies the values of x, which a resource sends whose Sends has the type want; nil for none. With tainted
// all of them are secret, and all of them need the given proofs, besides their own. Callable from any goroutine.
func Send(want *schema.Type, x any, tainted bool, proofs []world.Proof) (Sent, error) {
	if want == nil {
		return nil, errors.New("the kind sends nothing: it has no Sends that returns a struct")
	}
	if t, rv, err := schema.Side(x); err != nil || !rv.IsValid() || t.Go != want.Go {
		return nil, fmt.Errorf("the kind sends a %T where Sends says %s", x, nameOf(want))
	}
	sent := make(Sent, len(want.Fields))
	proved, _ := x.(world.Proved)
	for _, f := range want.Fields {
		x, err := schema.Get(x, f.Key)
		if err != nil {
			return nil, fmt.Errorf("sending %s: %w", f.Key, err)
		}
		val := Value{V: schema.Clone(x), Secret: tainted || f.Type.Secret || secrets.Holds(x), Proofs: proofs}
		if proved != nil {
			if p, needed := proved.SentProof(f.Key); needed {
				val.Proofs = with(proofs, p)
			}
		}
		sent[f.Key] = val
	}
	return sent, nil
}

// nameOf returns the name of the Go type that t was read from, or of t itself.
func nameOf(t *schema.Type) string {
	if t.Go.Name() == "" {
		return t.Name
	}
	return t.Go.String()
}
