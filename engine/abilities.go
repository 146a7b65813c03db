package engine

import (
	"context"
	"fmt"
	"iter"

	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// RefreshableRes can act on a notification; see Init.Refresh.
type RefreshableRes interface {
	Res
	Refresh() bool
	SetRefresh(bool)
}

// SendableRes sends values to others with Init.Send.
type SendableRes interface {
	Res
	// Sends returns a struct, a pointer to one, or a schema.Typed, whose fields are
	// the keys and types that are sent. Only its type counts.
	Sends() any
}

// RecvableRes can be given values that others send.
type RecvableRes interface {
	Res
	Recv() map[string]*Send
	SetRecv(map[string]*Send)
}

// EdgeableRes takes part in automatic edges. Its methods are called before Init, on
// any goroutine, those of different resources also at once.
type EdgeableRes interface {
	Res
	// UIDs says what this resource is, by its parameters alone: it does no I/O (see SurveyedRes). It is asked for each
	// graph.
	UIDs() []autoedge.UID
	// AutoEdges says what it wants; nil for nothing. It depends on what Cmp compares, and on
	// what Test is told: of a resource that is declared as it runs, it is called again only when
	// something that it had asked for is another thing.
	AutoEdges() (autoedge.Needs, error)
}

// SurveyedRes is an EdgeableRes that is more than its UIDs say, and needs a look outside to know, which is dear and so
// is taken once for many.
type SurveyedRes interface {
	EdgeableRes
	GroupKey() string // those of one kind and key are surveyed together
	// Survey asks the host what else each member is, returns that in their order, and alters nothing. It is called on one
	// of them, before Init, whenever automatic edges are made for a machine, and must be quick where nothing has changed
	// since the last time. With an error it may return what it knows in spite of that, or nothing: then the members are
	// what their UIDs say.
	Survey(ctx context.Context, h Host, members []Res) ([]Surveyed, error)
}

// Surveyed is what a survey has found out about one resource.
type Surveyed struct {
	UIDs []autoedge.UID
	Why  string // how that is known, for those who ask why there is an edge: "which the survey says"; may be empty
}

// LeavingRes says whether the managed thing is to go: a file that is to be absent, a service that is to be
// stopped. If two resources both are to go, the automatic edge between them has the opposite direction: the thing that
// was made last goes first. It is asked before Init, as UIDs is.
type LeavingRes interface {
	EdgeableRes
	Leaving() bool
}

// ClashingRes says when it and another one would undo each other. It is asked when
// a graph is loaded, before Init, about each other resource with a UID that has the
// type and hash of one of its own and matches it.
type ClashingRes interface {
	EdgeableRes
	// Clashes says what the two want differently of the one thing that they are;
	// nil if both can have their way. Both are valid; received values are not there
	// yet, but Recv tells their senders.
	Clashes(other Res) error
}

// GroupableRes can run others of its kind as its members: one owner remains in
// the graph, and runs its members through Init.Child.
type GroupableRes interface {
	Res
	// GroupKey keeps apart what is never grouped: resources of different keys are not compared. It is empty for alone, and GroupByCmp
	// where GroupCmp alone decides.
	GroupKey() string
	// GroupCmp is called on the owner of a group: nil lets the other one become a member. It is as good as an equality, so a resource that
	// refuses itself stays alone.
	GroupCmp(GroupableRes) error
	SetGroup([]Res)
}

// GroupByCmp is the GroupKey of a resource that has none of its own. Then each is compared with the owners of the groups there are, so a key
// makes large graphs faster.
const GroupByCmp = "GroupCmp"

// Outcome is what CheckApply would have returned for one member of a batch.
type Outcome struct {
	OK  bool
	Err error
}

// Batcher can check and apply many resources of one key in one call. Its members
// stay vertices of their own; those of one key that are ready at the same time
// run together.
type Batcher interface {
	Res
	GroupKey() string // empty for alone
	// CheckApplyBatch is called on one of the members, with all of them,
	// and returns one Outcome for each, in their order. Several are asked with apply
	// false first. Members that are right, or fail, end their run then, and only the
	// others are in the call with apply true.
	CheckApplyBatch(ctx context.Context, apply bool, members []Res) []Outcome
}

// ReversibleRes can say how to undo it. The metaparameter reverse asks for that;
// it needs Readable too.
type ReversibleRes interface {
	Res
	// Reversed returns the resource that brings back what Read showed before the
	// first change; nil stands for "it was absent". It is of the same kind, valid,
	// undoes only the work of this resource, and gets its name from the engine. The
	// error says why that can't be undone. It looks at nothing outside: it is
	// called before the first change, to know whether that can be undone, and
	// again when the resource has left the graph, perhaps in another process. Both
	// times the resource and before were made anew from their parameters, and
	// neither was initialised.
	Reversed(before Res) (Res, error)
}

// UndoingRes can undo the work of another resource, and may have to do so later: as long as something in the graph
// needs that work.
type UndoingRes interface {
	ReversibleRes
	// Undone reports whether nothing is left to undo. It is asked of the resource that Reversed has returned, after a CheckApply
	// that could alter and had no error. If not, the kept record stays, and the resource is watched and run as any other one.
	Undone() bool
}

// Readable can look at the thing as it is now.
type Readable interface {
	Res
	// Read returns it as a resource of the same kind and name. It runs after
	// Init, may overlap Watch, and never overlaps CheckApply.
	Read(ctx context.Context) (Res, error)
}

// PlacedRes can say, in a plan, whether there is a place for a thing that is not there and could not be checked.
type PlacedRes interface {
	Readable
	// Place is asked where Read has found nothing. The error is why the thing can't be made whatever the parameters are, such as a
	// missing folder. It may overlap Watch, and never overlaps CheckApply.
	Place(ctx context.Context) error
}

// Listable can find all things of its kind on the machine.
type Listable interface {
	Res
	// List yields each as a resource of the same kind, with its name. It runs after
	// Init, on a resource without a name that was not validated. An error is about
	// one of them, or is the last.
	List(ctx context.Context) iter.Seq2[Res, error]
}

// SharedRes has something in common with all of its key; see Shared. The context of open lives as long as the
// opened thing. It ends when the engine is told to end, before the last End and Close are called, or after
// Close. So long work in End goes by it.
type SharedRes interface {
	Res
	Shared() (key string, open func(context.Context, Host) (Shared, error))
}

// RootedRes opens every path by safepath.Of its Host, and touches nothing else but what its Init offers. So a plan knows
// what it would write, and a simulated machine runs it in a folder, unless it is a Batcher.
type RootedRes interface {
	Res
	// Rooted returns the paths that it writes, and the keys of parameters that need more of a machine than a folder, such as an
	// owner. It only computes.
	Rooted() (writes, apart []string)
}

// OverlappingRes promises that Init and Cleanup touch neither the system nor
// VarDir, so that a new one may be made while the old one of its name still
// runs.
type OverlappingRes interface {
	Res
	Overlaps() bool
}

// UnwatchedRes promises that nothing but its parameters and notifications decides
// what its CheckApply does: there is nothing outside that a Watch could tell of.
// So its Watch is never called; it counts as having said Running from the start.
type UnwatchedRes interface {
	Res
	WatchesNothing() bool // the same for all resources of the kind, at all times
}

// WatchedRes is a resource whose Watch only makes an event of each wake-up of one Host.Watch. Where
// the host can notify (hosting.Notifier), the engine makes that subscription, and does not call Watch:
// there is no goroutine that waits. A kind that embeds such a kind and has a Watch of its own needs
// a Watches of its own.
type WatchedRes interface {
	Res
	// Watches returns what Watch gives to Host.Watch, the path of the thing itself first, and false if Watch does more: then
	// it is called. It is called in the place of Watch, whenever that would be, and only
	// computes.
	Watches() (paths []string, o events.Options, ok bool)
}

// CollectableRes may come from another host: its name, and so the thing that it is about, does no harm at a place that this host names. The
// fields that may come along are marked (schema.Field.Lend). Package engine/lend judges by both.
type CollectableRes interface {
	Res
	Collects() bool
}

// VirtualRes is done by one of several backends, which the metaparameter backend can
// name; see engine/virtual.
type VirtualRes interface {
	Res
	// Backends returns the names of all that are known, sorted, whether or not this
	// machine can have them.
	Backends() []string
}

// DescribedRes documents its kind.
type DescribedRes interface {
	Res
	// Doc returns Markdown: what the kind does, one paragraph first.
	Doc() string
}

// Abilities are what a resource can do beyond Res, as data.
type Abilities struct {
	Refreshable bool         `json:"refreshable"`
	Recvable    bool         `json:"recvable"`
	Edgeable    bool         `json:"edgeable"`
	Clashing    bool         `json:"clashing"`
	Groupable   bool         `json:"groupable"`
	Batcher     bool         `json:"batcher"`
	Reversible  bool         `json:"reversible"`
	Readable    bool         `json:"readable"`
	Listable    bool         `json:"listable"`
	Shared      bool         `json:"shared"`
	Overlapping bool         `json:"overlapping"`
	Unwatched   bool         `json:"unwatched"`
	Collectable bool         `json:"collectable"`
	Virtual     bool         `json:"virtual"`
	Targeted    bool         `json:"targeted"`
	Rooted      bool         `json:"-"`
	Sends       *schema.Type `json:"-"` // nil when it sends nothing
}

// AbilitiesOf asks a resource for its abilities: the stated ones (StatingRes), else those of its
// methods. The error is about the struct that it sends, or about stated abilities without methods.
func AbilitiesOf(r Res) (Abilities, error) {
	if s, ok := r.(StatingRes); ok {
		stated := s.Abilities()
		return stated, checkStated(r, stated)
	}
	return askedOf(r)
}

// methodsOf returns the abilities that a resource has methods for. It calls none of them, so what is sent is not known.
func methodsOf(r Res) (a Abilities) {
	_, a.Refreshable = r.(RefreshableRes)
	_, a.Recvable = r.(RecvableRes)
	_, a.Edgeable = r.(EdgeableRes)
	_, a.Clashing = r.(ClashingRes)
	_, a.Groupable = r.(GroupableRes)
	_, a.Batcher = r.(Batcher)
	_, a.Reversible = r.(ReversibleRes)
	_, a.Readable = r.(Readable)
	_, a.Listable = r.(Listable)
	_, a.Shared = r.(SharedRes)
	_, a.Virtual = r.(VirtualRes)
	_, a.Targeted = r.(TargetedRes)
	_, a.Rooted = r.(RootedRes)
	if _, ok := r.(SendableRes); ok {
		a.Sends = &schema.Type{}
	}
	return a
}

// askedOf returns the abilities of a resource that states none: those of its methods, as far as these say so.
func askedOf(r Res) (Abilities, error) {
	a := methodsOf(r)
	if t, ok := r.(TargetedRes); ok {
		a.Targeted = t.Targeted()
	}
	if o, ok := r.(OverlappingRes); ok {
		a.Overlapping = o.Overlaps()
	}
	if u, ok := r.(UnwatchedRes); ok {
		a.Unwatched = u.WatchesNothing()
	}
	if c, ok := r.(CollectableRes); ok {
		a.Collectable = c.Collects()
	}
	a.Sends = nil
	s, ok := r.(SendableRes)
	if !ok {
		return a, nil
	}
	v := s.Sends()
	if v == nil {
		return a, nil
	}
	t, err := schema.TypeOf(v)
	if err != nil {
		return a, fmt.Errorf("%s: what it sends: %w", r.Kind(), err)
	}
	a.Sends = t
	return a, nil
}

// Names returns the words for the abilities that are present, in a fixed order.
func (a Abilities) Names() []string {
	var names []string
	for _, e := range []struct {
		has  bool
		name string
	}{
		{a.Refreshable, "refreshable"}, {a.Sends != nil, "sendable"}, {a.Recvable, "recvable"},
		{a.Edgeable, "edgeable"}, {a.Clashing, "clashing"}, {a.Groupable, "groupable"}, {a.Batcher, "batcher"},
		{a.Reversible, "reversible"}, {a.Readable, "readable"}, {a.Listable, "listable"},
		{a.Shared, "shared"}, {a.Overlapping, "overlapping"}, {a.Unwatched, "unwatched"}, {a.Collectable, "collectable"}, {a.Virtual, "virtual"},
	} {
		if e.has {
			names = append(names, e.name)
		}
	}
	return names
}
