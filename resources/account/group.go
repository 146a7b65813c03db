package account

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/reactivegraph/mgmt/engine"
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

// GroupRes is a group of users. Its name is that of the group.
type GroupRes struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Collectable
	traits.Recvable
	traits.Reversible
	traits.Sendable
	accountBase

	State   string   `yaml:"state" lang:"state" mgmt:"enum=exists|absent" doc:"Whether there is such a group."`
	GID     *int     `yaml:"gid" lang:"gid" mgmt:"min=0,max=4294967294" doc:"The number; for a new group a free one if absent."`
	Members []string `yaml:"members" lang:"members" doc:"The names of users that are in it, apart from users whose primary group it is."`

	AllMembers bool   `yaml:"auth_membership" lang:"auth_membership" mgmt:"param" doc:"The members are all; otherwise there may be more."`
	System     bool   `yaml:"system" lang:"system" mgmt:"param" doc:"A new group is one of the system: its number comes from another range."`
	AllowDup   bool   `yaml:"allowdupe" lang:"allowdupe" mgmt:"param" doc:"Allow a gid that another group has."`
	Root       string `yaml:"root" lang:"root" mgmt:"param" doc:"The folder in which the system is whose group it is, as of an image; that of this machine if absent."`
}

// GroupSends is what a group sends.
type GroupSends struct {
	GID int `yaml:"gid" lang:"gid" doc:"The number."`
}

// Default returns a group that is there.
func (r *GroupRes) Default() engine.Res {
	return &GroupRes{State: Exists, accountBase: accountBase{virtualkind.Of(r.VirtualKind())}}
}

// Backends returns the names of all that can do it.
func (r *GroupRes) Backends() []string { return r.BackendNames("group") }

// Backend names the one that is used.
func (r *GroupRes) Backend() string { return accountBackend(r.MetaParams().Backend, r.Root) }

func (r *GroupRes) absent() bool { return r.State == Absent }

func (r *GroupRes) where() backends.Where { return backends.Where{Root: accountRoot(r.Root)} }

// Needs returns what has to be called for such a group.
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

// Validate checks the parameters.
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

// CheckMachine says what the backend of a machine can't do.
func (r *GroupRes) CheckMachine(m engine.Machine) error { return r.Check("group", r, m) }

// Cmp compares the parameters, and the backends to choose from.
func (r *GroupRes) Cmp(o engine.Res) error { return virtual.Cmp(r, o) }

// Sends returns the type of what is sent.
func (r *GroupRes) Sends() any { return &GroupSends{} }

// Watch tells of each change of the databases.
func (r *GroupRes) Watch(ctx context.Context) error { return r.WatchBy(ctx, "group", r, nil) }

func (r *GroupRes) Follow(ctx context.Context, c *virtualkind.Chosen) error {
	return r.subscribe(ctx, c, r.Root)
}

// Read returns the group as it is; a missing group is absent.
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

// like returns another group of the same system, without other fields.
func (r *GroupRes) like(name, state string) *GroupRes {
	is := r.Default().(*GroupRes)
	is.State, is.Root = state, r.Root
	is.SetKind(r.Kind())
	is.SetName(name)
	return is
}

// List yields all groups of the databases.
func (r *GroupRes) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	open := func() (*virtual.Module, error) { return r.Open(ctx, "group", r.Backend()) }
	return sharedOf(open, r.as, func(m *virtual.Module) ([]backends.GroupInfo, error) {
		all, _, err := backends.GetGroups.Call(ctx, m, backends.AllArgs{Where: r.where()})
		return all, err
	})
}

// as makes a resource of what is known of a group.
func (r *GroupRes) as(info *backends.GroupInfo) engine.Res {
	is := r.like(info.Name, Exists)
	is.GID, is.Members, is.AllMembers = &info.GID, info.Members, true
	return is
}

// Reversed returns the resource that brings back the group as it was, as far as this resource
// manages it.
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

// Leaving reports whether the group is to be absent.
func (r *GroupRes) Leaving() bool { return r.absent() }

// UIDs names the group, and its number if it is said. One of another system is nothing
// that others could mean.
func (r *GroupRes) UIDs() []engine.ResUID {
	if accountRoot(r.Root) != "" {
		return nil
	}
	uids := []engine.ResUID{traits.GroupUID(engine.UIDOf(r), r.Name())}
	if r.GID != nil {
		uids = append(uids, traits.GroupUID(engine.UIDOf(r), strconv.Itoa(*r.GID)))
	}
	return uids
}

// Clashes refuses two groups that want one number.
func (r *GroupRes) Clashes(other engine.Res) error {
	o, ok := other.(*GroupRes)
	if !ok || r.absent() || o.absent() || r.GID == nil || o.GID == nil || *r.GID != *o.GID || r.AllowDup || o.AllowDup {
		return nil
	}
	return fmt.Errorf("both want the number %d", *r.GID)
}

// AutoEdges wants, of another system, the folder that its databases are in, and the users
// that are to be members.
func (r *GroupRes) AutoEdges() (engine.AutoEdge, error) {
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

// GroupKey is the same for groups of one system: they are checked with one look at its
// databases.
func (r *GroupRes) GroupKey() string { return r.Backend() + "\x00" + accountRoot(r.Root) }

// CheckApply compares the group with the wanted one, and makes it so.
func (r *GroupRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	o := r.CheckApplyBatch(ctx, apply, []engine.Res{r})[0]
	return o.OK, o.Err
}

// Shared is what groups of one system have in common.
func (r *GroupRes) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return withAccounts[backends.GroupInfo](r.GroupKey())
}

// CheckApplyBatch checks groups of one system with one look, and makes each of them
// right.
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

// send sends what is known of the group.
func (r *GroupRes) send(info *backends.GroupInfo) error {
	return r.Handle().Send(&GroupSends{info.GID})
}

// checkApply makes one group right, which is as info says; nil for not there.
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

// add makes the group with its members.
func (r *GroupRes) add(ctx context.Context, m *virtual.Module) error {
	_, _, err := backends.AddGroup.Call(ctx, m, backends.AddGroupArgs{Name: r.Name(), GID: r.GID, System: r.System, Unique: !r.AllowDup, Where: r.where()})
	if err == nil && len(r.Members) > 0 {
		err = r.setMembers(ctx, m, r.Members)
	}
	return err
}

func (r *GroupRes) setMembers(ctx context.Context, m *virtual.Module, members []string) error {
	_, _, err := backends.SetMembers.Call(ctx, m, backends.MembersArgs{Name: r.Name(), Members: members, Where: r.where()})
	return err
}

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

// wanted returns who is to be in the group, and whether that differs.
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

// Uses says what a group needs.
func (r *GroupRes) Uses() []virtual.Use {
	return []virtual.Use{
		virtualkind.Use("state: exists", &GroupRes{}), virtualkind.Use("gid", &GroupRes{GID: new(1)}), virtualkind.Use("members", &GroupRes{AllMembers: true}),
		virtualkind.Use("state: absent", &GroupRes{State: Absent}), virtualkind.Use("root: a folder", &GroupRes{Root: "/image"}),
	}
}
