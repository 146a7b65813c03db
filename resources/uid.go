package resources

import "github.com/reactivegraph/mgmt/engine"

// thingUID names a thing by its kind and one text that is the same for everybody
// who means it: the path of a file, the name of a user. It serves as what a
// resource is and as what another one wants.
type thingUID struct {
	kind, thing string // kind of resource that the thing is
	owner       string // name of the resource that says so; empty for a wish
}

var _ engine.ResUID = thingUID{}

// String returns kind[thing].
func (u thingUID) String() string { return u.kind + "[" + u.thing + "]" }

// GetName returns the name of the resource that the UID is of.
func (u thingUID) GetName() string { return u.owner }

// GetKind returns the kind of resource that the UID names.
func (u thingUID) GetKind() string { return u.kind }

// IsReversed returns true: what is wanted comes before the one that wants it.
func (u thingUID) IsReversed() bool { return true }

// Hash is equal for UIDs that name the same thing.
func (u thingUID) Hash() string { return u.String() }

// IFF reports whether both name the same thing. Any UID that has a Hash can be
// compared.
func (u thingUID) IFF(o engine.ResUID) bool {
	h, ok := o.(interface{ Hash() string })
	return ok && o.GetKind() == u.kind && h.Hash() == u.Hash()
}

// wishes is an AutoEdge that wants all of its UIDs at once.
type wishes struct {
	uids []engine.ResUID
	told bool
}

// Next returns all candidates the first time, then none.
func (w *wishes) Next() []engine.ResUID {
	if w.told {
		return nil
	}
	w.told = true
	return w.uids
}

// Test asks for no more, whatever was found.
func (w *wishes) Test([]bool) bool { return false }
