package autoedge_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/traits"
)

// one of each kind of KeyUID that names a thing by one text.
func uids(thing string) []autoedge.UID {
	b := autoedge.BaseUID{Name: "who", Kind: "thing"}
	return []autoedge.UID{
		traits.FileUID(b, thing), traits.UserUID(b, thing),
		traits.GroupUID(b, thing), traits.PkgUID(b, thing),
		traits.PkgFileUID(b, thing), traits.SvcUID(b, thing, false),
		autoedge.NameUID(b, "exec", thing),
	}
}

// A KeyUID matches one of its own type that names the same thing, and no other; what
// matches has the same hash.
func TestUIDsMatch(t *testing.T) {
	a, same, other := uids("x"), uids("x"), uids("y")
	for i, u := range a {
		for j := range a {
			if got := u.IFF(same[j]); got != (i == j) {
				t.Errorf("%T and %T: %t", u, same[j], got)
			}
		}
		if u.IFF(other[i]) {
			t.Errorf("%s is %s", u, other[i])
		}
		h, ok := u.(interface{ Hash() string })
		if !ok || h.Hash() != same[i].(interface{ Hash() string }).Hash() {
			t.Errorf("%T is not looked up", u)
		}
		if u.GetName() != "who" || u.GetKind() != "thing" || !u.IsReversed() || u.String() == other[i].String() {
			t.Errorf("%T: %s of %s[%s]", u, u, u.GetKind(), u.GetName())
		}
	}
	if (traits.SvcUID(autoedge.BaseUID{}, "x", false)).IFF(traits.SvcUID(autoedge.BaseUID{}, "x", true)) {
		t.Error("a service of the session is one of the system")
	}
}

func TestNameUID(t *testing.T) {
	r := new(traits.Base)
	r.SetKind("thing")
	r.SetName("who")
	u := autoedge.NameUIDOf(r, "exec", "a[b]")
	if u.String() != "exec[a[b]]" || u.GetName() != "who" || u.Notifies() {
		t.Errorf("%v of %s, notifies: %t", u, u.GetName(), u.Notifies())
	}
	if u.Notifying = true; !u.Notifies() {
		t.Error("it does not notify")
	}
}

// fooUID is a KeyUID as the guide has it: the base, and an IFF of its own.
type fooUID struct {
	autoedge.BaseUID
	foo string
}

func (u *fooUID) IFF(o autoedge.UID) bool {
	f, ok := o.(*fooUID)
	return ok && f.foo == u.foo
}

func TestBaseUID(t *testing.T) {
	no := false
	var u autoedge.UID = &fooUID{BaseUID: autoedge.BaseUID{Name: "n", Kind: "foo", Reversed: &no}, foo: "x"}
	if u.String() != "foo[n]" || u.IsReversed() || !u.IFF(&fooUID{foo: "x"}) || u.IFF(&autoedge.BaseUID{Name: "n", Kind: "foo"}) {
		t.Errorf("%v", u)
	}
	if _, ok := u.(interface{ Hash() string }); ok {
		t.Error("a UID with an IFF of its own is looked up by the hash of its base")
	}
	b := &autoedge.BaseUID{Name: "n", Kind: "foo"}
	if !b.IFF(&autoedge.BaseUID{Name: "n", Kind: "foo", Reversed: &no}) || b.IFF(&autoedge.BaseUID{Name: "m", Kind: "foo"}) || b.IFF(&autoedge.BaseUID{Name: "n", Kind: "bar"}) {
		t.Error("BaseUID matches wrongly")
	}
}

// TestUIDIsData: a KeyUID is a space and a key; one matches only its own space, and one that means all below a
// key matches what is there and is matched by nothing.
func TestUIDIsData(t *testing.T) {
	rack := &autoedge.KeyUID{Space: "rack", Key: "/a/b"}
	below := &autoedge.KeyUID{BaseUID: autoedge.BaseUID{Flags: autoedge.UIDBelow}, Space: "rack", Key: "/a/"}
	if rack.String() != "rack[/a/b]" || below.String() != "racks below /a/" || rack.Hash() != "/a/b" || rack.Useful() {
		t.Error(rack, below)
	}
	if !rack.IFF(&autoedge.KeyUID{BaseUID: autoedge.BaseUID{Flags: autoedge.UIDUseful}, Space: "rack", Key: "/a/b"}) || rack.IFF(&autoedge.KeyUID{Space: "row", Key: "/a/b"}) {
		t.Error("the space does not count")
	}
	if !below.IFF(rack) || rack.IFF(below) || below.IFF(below) || below.IFF(&autoedge.KeyUID{Space: "rack", Key: "/ab"}) || below.IFF(&autoedge.KeyUID{Space: "row", Key: "/a/b"}) {
		t.Error("what is below matches wrongly")
	}
	if of, prefix := below.HashPrefix(); autoedge.SpaceOf(of) != "rack" || prefix != "/a/" {
		t.Error(of, prefix)
	}
	if of, _ := rack.HashPrefix(); of != nil || autoedge.SpaceOf(&fooUID{}) != "" || rack.IFF(&fooUID{}) || (&fooUID{}).IFF(rack) {
		t.Error("a UID of another type is taken for data")
	}
}
