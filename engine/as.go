package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// StatingRes states its own abilities. A resource made of data, or one in another process, has the
// methods of many abilities. Its definition says which of them hold: without a statement it lacks
// the ability.
type StatingRes interface {
	Res
	// Abilities returns the same each time for one resource, and for all that a registry makes of one kind. Each ability
	// that it states has its methods; Overlapping, Unwatched and Collectable need none.
	Abilities() Abilities
}

// AbilityKey is equal for resources that have the same type and the same abilities, so that many resources are asked once.
type AbilityKey struct {
	Type   schema.TypeKey
	Stated Abilities // those of a StatingRes; else none
}

// AbilityKeyOf returns the key of a resource, which is not nil. It runs methods of the resource.
func AbilityKeyOf(r Res) AbilityKey {
	k := AbilityKey{Type: schema.KeyOf(r)}
	if s, ok := r.(StatingRes); ok {
		k.Stated = s.Abilities()
	}
	return k
}

// StatesOther reports whether a resource states other abilities than these. A resource that states none does not.
func StatesOther(r Res, than Abilities) bool {
	s, ok := r.(StatingRes)
	return ok && !s.Abilities().equal(than)
}

// equal reports whether both have the same abilities. Equal types of sent values need not be the same pointer.
func (a Abilities) equal(b Abilities) bool {
	sends := a.Sends.Equal(b.Sends)
	a.Sends, b.Sends = nil, nil
	return a == b && sends
}

// As returns a resource as one with an ability, such as As[Readable](r), and whether it has that ability.
// AbilitiesOf and As are the only places that ask; where an ability is known, a plain type assertion calls its methods.
// It may be called on any goroutine, and on a nil r.
func As[T any](r Res) (T, bool) {
	t, ok := r.(T)
	if ok && !holds(r, (*T)(nil)) {
		var none T
		return none, false
	}
	return t, ok
}

// holds reports whether a resource that has the methods of an interface has that ability too. The pointer to the interface
// names it, so that this code is there once, and not once for each interface.
func holds(r Res, ability any) bool {
	s, states := r.(StatingRes)
	return !states || stated(s.Abilities(), ability)
}

// stated reports whether stated abilities have that of an interface. An interface for which there is no statement holds by its methods.
func stated(a Abilities, ability any) bool {
	switch ability.(type) {
	case *RefreshableRes:
		return a.Refreshable
	case *SendableRes:
		return a.Sends != nil
	case *RecvableRes:
		return a.Recvable
	case *EdgeableRes, *SurveyedRes, *LeavingRes:
		return a.Edgeable
	case *ClashingRes:
		return a.Clashing
	case *GroupableRes:
		return a.Groupable
	case *Batcher:
		return a.Batcher
	case *ReversibleRes, *UndoingRes:
		return a.Reversible
	case *Readable, *PlacedRes:
		return a.Readable
	case *Listable:
		return a.Listable
	case *SharedRes:
		return a.Shared
	case *VirtualRes:
		return a.Virtual
	case *TargetedRes:
		return a.Targeted
	case *OverlappingRes:
		return a.Overlapping
	case *UnwatchedRes:
		return a.Unwatched
	case *CollectableRes:
		return a.Collectable
	case *RootedRes:
		return a.Rooted
	}
	return true
}

// checkStated refuses abilities whose methods are missing.
func checkStated(r Res, states Abilities) error {
	found := methodsOf(r)
	found.Overlapping, found.Unwatched, found.Collectable = true, true, true
	has := found.Names()
	missing := slices.DeleteFunc(states.Names(), func(name string) bool { return slices.Contains(has, name) })
	if states.Targeted && !found.Targeted {
		missing = append(missing, "targeted")
	}
	if states.Rooted && !found.Rooted {
		missing = append(missing, "rooted")
	}
	if len(missing) > 0 {
		return fmt.Errorf("a %s states that it is %s, and has not the methods of that", r.Kind(), strings.Join(missing, ", "))
	}
	return nil
}
