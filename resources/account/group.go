package account

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/account/backends"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	virtualkind.Register("group", func(k *virtual.Kind) virtual.Resource {
		return &GroupRes{accountBase: accountBase{virtualkind.Of(k)}}
	})
}

var (
	_ virtual.Resource      = (*GroupRes)(nil)
	_ engine.Batcher        = (*GroupRes)(nil)
	_ engine.EdgeableRes    = (*GroupRes)(nil)
	_ engine.ClashingRes    = (*GroupRes)(nil)
	_ engine.RecvableRes    = (*GroupRes)(nil)
	_ engine.SendableRes    = (*GroupRes)(nil)
	_ engine.ReversibleRes  = (*GroupRes)(nil)
	_ engine.Readable       = (*GroupRes)(nil)
	_ engine.Listable       = (*GroupRes)(nil)
	_ engine.SharedRes      = (*GroupRes)(nil)
	_ engine.OverlappingRes = (*GroupRes)(nil)
	_ engine.DescribedRes   = (*GroupRes)(nil)
)

// GroupRes is a group of users. Its name is that of the group. The reactor owns an
// instance. The engine may hand it to another group of the same GroupKey, whose
// CheckApplyBatch checks it.
type GroupRes struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Reversible
	traits.Sendable
	accountBase

	// These fields are the group's own state. A field that is nil is left as it is
	// on the machine.
	State   string   `yaml:"state" lang:"state" mgmt:"enum=exists|absent" doc:"Whether there is such a group."`
	GID     *int     `yaml:"gid" lang:"gid" mgmt:"min=0,max=4294967294" doc:"The number; for a new group a free one if absent."`
	Members []string `yaml:"members" lang:"members" doc:"The names of users that are in it, apart from users whose primary group it is."`

	AllMembers bool   `yaml:"auth_membership" lang:"auth_membership" mgmt:"param" doc:"The members are all; otherwise there may be more."`
	System     bool   `yaml:"system" lang:"system" mgmt:"param" doc:"A new group is one of the system: its number comes from another range."`
	AllowDup   bool   `yaml:"allowdupe" lang:"allowdupe" mgmt:"param" doc:"Allow a gid that another group has."`
	Root       string `yaml:"root" lang:"root" mgmt:"param" doc:"The folder in which the system is whose group it is, as of an image; that of this machine if absent."`
}

// GroupSends is what a group sends. It is sent when the group is there, also if
// nothing had to be altered. Under noop a group that would be made sends nothing.
type GroupSends struct {
	GID int `yaml:"gid" lang:"gid" doc:"The number."`
}

// Default returns a group that is there.
func (r *GroupRes) Default() engine.Res {
	return &GroupRes{State: Exists, accountBase: accountBase{virtualkind.Of(r.VirtualKind())}}
}

// Backends returns the names of all backends of the module group.
func (r *GroupRes) Backends() []string { return r.BackendNames("group") }

// Backend names the backend that is asked for; empty if the engine may choose.
func (r *GroupRes) Backend() string { return accountBackend(engine.MetaOf(r).Backend, r.Root) }

func (r *GroupRes) absent() bool { return r.State == Absent }

// where says to a backend which system is meant.
func (r *GroupRes) where() backends.Where { return backends.Where{Root: accountRoot(r.Root)} }

// Needs returns the names of the functions that a backend has to have for such a
// group. A state that is received is not known yet, so then only reading is asked
// for.
func (r *GroupRes) Needs() []string {
	need := []string{backends.GetGroups.Name()}
	if virtualkind.Coming(r, "state") {
		return accountNeeds(r.Root, need...)
	}
	switch {
	case r.absent():
		return accountNeeds(r.Root, append(need, backends.DeleteGroup.Name())...)
	case r.GID != nil:
		need = append(need, backends.ChangeGroup.Name())
	}
	if len(r.Members) > 0 || r.AllMembers {
		need = append(need, backends.SetMembers.Name())
	}
	return accountNeeds(r.Root, append(need, backends.AddGroup.Name())...)
}

// Validate checks the parameters. It reads no database, and returns all faults at
// once. Names are checked here since they become arguments of programs.
func (r *GroupRes) Validate() error {
	errs := accountRules(r.Name(), r.State, r.Root)
	for _, m := range r.Members {
		if err := backends.CheckName(m); err != nil {
			errs = append(errs, fmt.Errorf("members: %w", err))
		}
	}
	if r.AllowDup && r.GID == nil {
		errs = append(errs, errors.New("allowdupe makes sense with gid only"))
	}
	return errors.Join(errs...)
}

// CheckMachine returns an error for each function that the backend of a machine
// lacks. It is asked before the first run, and by validate for another machine's
// facts.
func (r *GroupRes) CheckMachine(m engine.Machine) error { return r.Check("group", r, m) }

// Cmp compares the parameters, and the backends to choose from. A difference makes a
// new instance. The group itself is not touched by that.
func (r *GroupRes) Cmp(o engine.Res) error { return virtual.Cmp(r, o) }

// Sends returns an empty value of the type that is sent.
func (r *GroupRes) Sends() any { return &GroupSends{} }

// Watch tells of each change of the databases.
func (r *GroupRes) Watch(ctx context.Context) error { return r.WatchBy(ctx, "group", r, nil) }

// Follow subscribes for WatchBy. It is called again when another backend is chosen.
func (r *GroupRes) Follow(ctx context.Context, c *virtualkind.Chosen) error {
	return r.subscribe(ctx, c, r.Root)
}

// Read returns the group as it is; a missing group is absent. It alters nothing, and
// needs a backend, since that alone knows the databases.
func (r *GroupRes) Read(ctx context.Context) (engine.Res, error) {
	m, err := r.Open(ctx, "group", r.Backend())
	if err != nil {
		return nil, err
	}
	defer m.Close()
	info, result, err := backends.DescribeGroup.Call(ctx, m, backends.NameArgs{Name: r.Name(), Where: r.where()})
	if err != nil {
		return nil, err
	}
	if !result.Found {
		return r.like(r.Name(), Absent), nil
	}
	return r.as(&info), nil
}

// like returns another group of the same system, without other fields. Root is kept,
// as it is a part of the identity: the same name in an image is another group.
func (r *GroupRes) like(name, state string) *GroupRes {
	is := r.Default().(*GroupRes)
	is.State, is.Root = state, r.Root
	is.SetKind(r.Kind())
	is.SetName(name)
	return is
}

// List yields all groups of the databases. They are read at once, when the first one
// is asked for. Groups of a directory service are not among them.
func (r *GroupRes) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	open := func() (*virtual.Module, error) { return r.Open(ctx, "group", r.Backend()) }
	return sharedOf(open, r.as, func(m *virtual.Module) ([]backends.GroupInfo, error) {
		all, _, err := backends.GetGroups.Call(ctx, m, backends.AllArgs{Where: r.where()})
		return all, err
	})
}

// as makes a resource of the facts of a group. Members are complete, so
// AllMembers is set: then Reversed can tell an empty group from one whose members
// are not managed.
func (r *GroupRes) as(info *backends.GroupInfo) engine.Res {
	is := r.like(info.Name, Exists)
	is.GID, is.Members, is.AllMembers = &info.GID, info.Members, true
	return is
}

// Reversed returns the resource that brings back the group as it was, as far as this
// resource manages it. before is the result of Read from before the first change;
// nil stands for no group. A number that comes back may be taken by then. Only for a
// group that was removed may it be shared.
func (r *GroupRes) Reversed(before engine.Res) (engine.Res, error) {
	undo := r.like(r.Name(), Absent)
	was, ok := before.(*GroupRes)
	switch {
	case before == nil, ok && was.absent():
		return undo, nil
	case !ok:
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	}
	undo.State = Exists
	if r.GID != nil || r.absent() {
		undo.GID, undo.AllowDup = was.GID, was.GID != nil && (r.AllowDup || r.absent())
	}
	if len(r.Members) > 0 || r.AllMembers || r.absent() {
		undo.Members, undo.AllMembers = was.Members, true
	}
	return undo, nil
}

// Leaving reports whether the group is to be absent. Edges that were made by
// themselves are turned around then.
func (r *GroupRes) Leaving() bool { return r.absent() }

// UIDs names the group, and its number if it is said. One of another system is
// nothing that others could mean. A file may name its group by the number, so both
// are told.
func (r *GroupRes) UIDs() []autoedge.UID {
	if accountRoot(r.Root) != "" {
		return nil
	}
	uids := []autoedge.UID{traits.GroupUID(autoedge.UIDOf(r), r.Name())}
	if r.GID != nil {
		uids = append(uids, traits.GroupUID(autoedge.UIDOf(r), strconv.Itoa(*r.GID)))
	}
	return uids
}

// Clashes refuses two groups that want one number. The engine asks about two that share a UID, so both are of this machine, and share the name or the number. A shared number is fine if one of them allows it.
func (r *GroupRes) Clashes(other engine.Res) error {
	o, ok := other.(*GroupRes)
	if !ok || r.absent() || o.absent() || r.GID == nil || o.GID == nil || *r.GID != *o.GID || r.AllowDup || o.AllowDup {
		return nil
	}
	return fmt.Errorf("both want the number %d", *r.GID)
}

// AutoEdges wants, of another system, the folder that its databases are in, and the users
// that are to be members.
func (r *GroupRes) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	if accountRoot(r.Root) != "" {
		w.Path(accountRoot(r.Root) + "/etc")
		return w, nil
	}
	if !r.absent() {
		for _, m := range r.Members {
			w.Account(m, "")
		}
	}
	return w, nil
}

// GroupKey is the same for groups of one system: they are checked with one look at
// its databases. The engine calls CheckApplyBatch with members of one key only.
func (r *GroupRes) GroupKey() string { return r.Backend() + "\x00" + accountRoot(r.Root) }

// CheckApply compares the group with the wanted one, and makes it so. It is a batch
// of one member, so there is one way to check a group.
func (r *GroupRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	o := r.CheckApplyBatch(ctx, apply, []engine.Res{r})[0]
	return o.OK, o.Err
}

// Shared is what groups of one system have in common. It is opened once for each
// key, by the first resource that needs it.
func (r *GroupRes) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return withAccounts[backends.GroupInfo](r.GroupKey())
}

// CheckApplyBatch checks groups of one system with one look, and makes each of them
// right. The outcomes are in the order of the members. A failure of one leaves the
// others alone; a backend that cannot be opened fails all of them. Programs of the
// system are called one after the other, since they take the same lock.
func (r *GroupRes) CheckApplyBatch(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
	m, err := r.Open(ctx, "group", r.Backend())
	if err != nil {
		return virtualkind.FailAll(len(members), err)
	}
	defer m.Close()
	a := accountBatch[backends.GroupInfo]{
		root: accountRoot(r.Root), clock: engine.ClockOf(r.Handle().Host), shared: r.Handle().Shared, name: func(g *backends.GroupInfo) string { return g.Name },
		all: func(ctx context.Context) ([]backends.GroupInfo, error) {
			all, _, err := backends.GetGroups.Call(ctx, m, backends.AllArgs{Where: r.where()})
			return all, err
		},
		check: func(ctx context.Context, one engine.Res, info *backends.GroupInfo, apply bool) (bool, error) {
			return one.(*GroupRes).checkApply(ctx, m, info, apply)
		},
	}
	return a.checkApply(ctx, apply, members)
}

// send sends the number of the group. The batch calls it after the last look, also if nothing was altered.
func (r *GroupRes) send(info *backends.GroupInfo) error {
	return r.Handle().Send(&GroupSends{info.GID})
}

// checkApply makes one group right, which is as info says; nil for not there. It
// reports the changes before it makes them, under noop too. It does not look again:
// the batch does that once for all.
func (r *GroupRes) checkApply(ctx context.Context, m *virtual.Module, info *backends.GroupInfo, apply bool) (bool, error) {
	if err := m.Needs(r.Needs()...); err != nil {
		return false, err // it can't do that since the facts have changed
	}
	switch {
	case r.absent() && info == nil:
		return true, nil
	case r.absent():
		r.Handle().Change(engine.Change{Verb: engine.Deleted})
		if !apply {
			return false, nil
		}
		_, _, err := backends.DeleteGroup.Call(ctx, m, backends.NameArgs{Name: r.Name(), Where: r.where()})
		return false, err
	case info == nil:
		r.Handle().Change(engine.Change{Verb: engine.Created})
		for _, c := range engine.MadeWith(r) {
			r.Handle().Change(c)
		}
		if !apply {
			return false, nil
		}
		return false, r.add(ctx, m)
	}
	return r.change(ctx, m, info, apply)
}

// add makes the group with its members. These are two calls, since no tool does
// both. If the second one fails, the next look finds a group without members and
// sets them.
func (r *GroupRes) add(ctx context.Context, m *virtual.Module) error {
	_, _, err := backends.AddGroup.Call(ctx, m, backends.AddGroupArgs{Name: r.Name(), GID: r.GID, System: r.System, Unique: !r.AllowDup, Where: r.where()})
	if err == nil && len(r.Members) > 0 {
		err = r.setMembers(ctx, m, r.Members)
	}
	return err
}

// setMembers sets the whole list, so the caller adds the present members where these
// may stay.
func (r *GroupRes) setMembers(ctx context.Context, m *virtual.Module, members []string) error {
	_, _, err := backends.SetMembers.Call(ctx, m, backends.MembersArgs{Name: r.Name(), Members: members, Where: r.where()})
	return err
}

// change compares a group that is there with the wanted one, reports the
// differences, and sets them if apply says so.
func (r *GroupRes) change(ctx context.Context, m *virtual.Module, info *backends.GroupInfo, apply bool) (bool, error) {
	number := r.GID != nil && *r.GID != info.GID
	if number {
		r.Handle().Change(engine.Change{Field: "gid", From: int64(info.GID), To: int64(*r.GID)})
	}
	members, who := r.wanted(info)
	if who {
		r.Handle().Change(engine.Change{Field: "members", From: virtualkind.Texts(info.Members), To: virtualkind.Texts(members)})
	}
	if !number && !who || !apply {
		return !number && !who, nil
	}
	if number {
		args := backends.ChangeGroupArgs{Name: r.Name(), GID: *r.GID, Unique: !r.AllowDup, Where: r.where()}
		if _, _, err := backends.ChangeGroup.Call(ctx, m, args); err != nil {
			return false, err
		}
	}
	if who {
		return false, r.setMembers(ctx, m, members)
	}
	return false, nil
}

// wanted returns the names that are to be in the group, sorted, and whether that
// differs. Without members nothing is wanted, which is not the same as an empty list
// with auth_membership.
func (r *GroupRes) wanted(info *backends.GroupInfo) ([]string, bool) {
	if r.Members == nil {
		return nil, false
	}
	want := r.Members
	if !r.AllMembers {
		want = slices.Concat(want, info.Members)
	}
	want = slices.Compact(slices.Sorted(slices.Values(want)))
	return want, !slices.Equal(want, info.Members)
}

// Doc describes the kind.
func (r *GroupRes) Doc() string {
	return `Keeps a group of users there, or away: its number, and who is in it.

Absent parameters are left as they are; a new group gets a free number. The tools of the system do it, shadow-utils or
those of
busybox; with ` + "`root`" + `, or where there are no tools, the databases are edited under their lock, and everything that is not about the group stays byte for byte. They are watched, and read once for all groups that are looked at together. Groups of a directory
service are neither seen nor changed.

The primary group of a user can't be removed: that is a failure which names the user. Say who is in a group either here or with
` + "`groups`" + ` of the users, and not in two different ways at both. Names that could be options or paths are refused.

A group comes before the users that are in it, if they say so, and after the users that it names as members. Files come
after
their groups. It sends its number.`
}

var _ virtual.UsingRes = (*GroupRes)(nil)

// Uses says what a group needs. The reference page shows by it which backend can do
// what.
func (r *GroupRes) Uses() []virtual.Use {
	return []virtual.Use{
		virtualkind.Use("state: exists", &GroupRes{}), virtualkind.Use("gid", &GroupRes{GID: new(1)}), virtualkind.Use("members", &GroupRes{AllMembers: true}),
		virtualkind.Use("state: absent", &GroupRes{State: Absent}), virtualkind.Use("root: a folder", &GroupRes{Root: "/image"}),
	}
}
