package autoedge_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/traits"
)

// drawnUID draws a KeyUID that is data, of few spaces and keys, so that many match.
func drawnUID(t *rapid.T, label string) *autoedge.KeyUID {
	u := &autoedge.KeyUID{
		Space: rapid.SampledFrom([]string{"file", "pkg", "pkg with"}).Draw(t, label+" space"),
		Key:   rapid.SampledFrom([]string{"/", "/a", "/a/", "/a/b", "/ab", "x"}).Draw(t, label+" key"),
	}
	u.Flags = autoedge.UIDFlags(rapid.IntRange(0, 3).Draw(t, label+" flags"))
	return u
}

// TestUIDLaws: a KeyUID that answers is found by the index that the engine keeps: one with the same Hash, or one that begins as
// HashPrefix says. Those that mean all below a key answer nothing.
func TestUIDLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asks, has := drawnUID(t, "asking"), drawnUID(t, "present")
		kind, prefix := asks.HashPrefix()
		switch match := asks.IFF(has); {
		case match && has.Flags&autoedge.UIDBelow != 0:
			t.Errorf("%s answers %s", has, asks)
		case match && kind == nil && asks.Hash() != has.Hash():
			t.Errorf("%s matches %s, which has another hash", asks, has)
		case match && kind != nil && !strings.HasPrefix(has.Hash(), prefix):
			t.Errorf("%s matches %s, which does not begin with %s", asks, has, prefix)
		case match && autoedge.SpaceOf(asks) != autoedge.SpaceOf(has):
			t.Errorf("%s matches %s of another space", asks, has)
		case !match && kind == nil && has.Flags&autoedge.UIDBelow == 0 && asks.Space == has.Space && asks.Key == has.Key:
			t.Errorf("%s does not match %s", asks, has)
		}
		if (kind != nil) != (asks.Flags&autoedge.UIDBelow != 0) || asks.Useful() != (asks.Flags&autoedge.UIDUseful != 0) {
			t.Errorf("%s has the flags %b", asks, asks.Flags)
		}
	})
}

// ownUID is a KeyUID of another module, with an IFF of its own.
type ownUID struct {
	autoedge.BaseUID
	port int
}

func (u *ownUID) IFF(o autoedge.UID) bool {
	x, ok := o.(*ownUID)
	return ok && x.port == u.port
}

// TestOwnUID: it is in no space, matches by its own IFF, and no KeyUID that is data matches it.
func TestOwnUID(t *testing.T) {
	a, b := &ownUID{port: 80}, &ownUID{port: 80}
	data := &autoedge.KeyUID{Space: "port", Key: "80"}
	if !a.IFF(b) || a.IFF(data) || data.IFF(a) || autoedge.SpaceOf(a) != "" || autoedge.SpaceOf(data) != "port" {
		t.Error("UIDs of two Go types are mixed up")
	}
	r := new(traits.Base)
	r.SetKind("thing")
	r.SetName("x")
	base := autoedge.UIDOf(r)
	if base.String() != "thing[x]" || !base.IsReversed() || base.Notifies() || base.HasFixedOrder() {
		t.Errorf("the base is %+v", base)
	}
	base.Reversed, base.Notifying, base.FixedOrder = new(false), true, true
	if base.IsReversed() || !base.Notifies() || !base.HasFixedOrder() {
		t.Errorf("the base is %+v", base)
	}
}
