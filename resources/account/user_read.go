package account

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/account/backends"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/traits"
)

// Read returns the user as he is; one who is not there is absent. It alters nothing.
// Without root the fields of shadow are left empty.
func (r *UserRes) Read(ctx context.Context) (engine.Res, error) {
	m, err := r.Open(ctx, "user", r.Backend())
	if err != nil {
		return nil, err
	}
	defer m.Close()
	info, result, err := backends.DescribeUser.Call(ctx, m, backends.NameArgs{Name: r.Name(), Where: r.where()})
	if err != nil {
		return nil, err
	}
	if !result.Found {
		return r.like(r.Name(), Absent), nil
	}
	return r.as(&info), nil
}

// like returns another user of the same system, of whom nothing else is known. Root
// is kept, as it is a part of the identity.
func (r *UserRes) like(name, state string) *UserRes {
	is := r.Default().(*UserRes)
	is.State, is.Root = state, r.Root
	is.SetKind(r.Kind())
	is.SetName(name)
	return is
}

// List yields all users of the databases. They are read at once, when the first one
// is asked for. Users of a directory service are not among them.
func (r *UserRes) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	open := func() (*virtual.Module, error) { return r.Open(ctx, "user", r.Backend()) }
	return sharedOf(open, r.as, func(m *virtual.Module) ([]backends.UserInfo, error) {
		all, _, err := backends.GetUsers.Call(ctx, m, backends.AllArgs{Where: r.where()})
		return all, err
	})
}

// as makes a resource of the facts of a user. The primary group is shown as this
// resource names it. An expiry that is never is shown in the word that this resource
// uses, so that it does not look like a difference.
func (r *UserRes) as(info *backends.UserInfo) engine.Res {
	is := r.like(info.Name, Exists)
	is.UID, is.GID, is.Groups, is.Membership = &info.UID, &info.GID, info.Groups, groupsInclusive
	is.HomeDir, is.Shell, is.Comment = info.Home, info.Shell, &info.Comment
	is.MinAge, is.MaxAge, is.WarnDays = info.MinAge, info.MaxAge, info.WarnDays
	if info.Group != nil && r.GID == nil {
		is.Group, is.GID = *info.Group, nil
	}
	if info.Password != nil {
		is.Password = *info.Password
	}
	switch {
	case info.Expires == nil:
	case *info.Expires != "":
		is.Expiry = *info.Expires
	case r.Expiry == expiryAbsent:
		is.Expiry = expiryAbsent
	case r.Expiry != "":
		is.Expiry = expiryNever
	}
	return is
}

// Reversed returns the resource that brings back the user as he was, as far as this
// resource manages him. A new user is removed; his home, in which there may be
// others' work by now, is left. before is the result of Read from before the first
// change. A home folder that was removed with its user cannot come back, so that is
// refused.
func (r *UserRes) Reversed(before engine.Res) (engine.Res, error) {
	undo := r.like(r.Name(), Absent)
	was, ok := before.(*UserRes)
	switch {
	case before == nil, ok && was.absent():
		return undo, nil
	case !ok:
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	case r.absent() && r.ManageHome:
		return nil, errors.New("a home folder is not kept, so it can't be brought back")
	}
	undo.State, undo.Membership = Exists, groupsInclusive
	r.goBack(undo, was)
	return undo, nil
}

// goBack fills undo with the old state: all of it, if the user was removed.
func (r *UserRes) goBack(undo, was *UserRes) {
	if r.absent() {
		undo.UID, undo.GID, undo.Group, undo.Groups = was.UID, was.GID, was.Group, was.Groups
		undo.HomeDir, undo.Shell, undo.Comment, undo.Password, undo.Expiry = was.HomeDir, was.Shell, was.Comment, was.Password, was.Expiry
		undo.MinAge, undo.MaxAge, undo.WarnDays = was.MinAge, was.MaxAge, was.WarnDays
		undo.AllowDup = was.UID != nil
		return
	}
	if r.UID != nil {
		undo.UID, undo.AllowDup = was.UID, r.AllowDup
	}
	if r.GID != nil || r.Group != "" {
		undo.GID, undo.Group = was.GID, was.Group
	}
	if len(r.Groups) > 0 || r.inclusive() {
		undo.Groups = was.Groups
	}
	if r.HomeDir != "" {
		undo.HomeDir = was.HomeDir
	}
	if r.Shell != "" {
		undo.Shell = was.Shell
	}
	if r.Comment != nil {
		undo.Comment = was.Comment
	}
	if !r.Password.IsZero() {
		undo.Password = was.Password
	}
	if r.Expiry != "" {
		undo.Expiry = was.Expiry
	}
	if r.MinAge != nil {
		undo.MinAge = was.MinAge
	}
	if r.MaxAge != nil {
		undo.MaxAge = was.MaxAge
	}
	if r.WarnDays != nil {
		undo.WarnDays = was.WarnDays
	}
}

// Leaving reports whether the user is to be absent. Edges that were made by
// themselves are turned around then.
func (r *UserRes) Leaving() bool { return r.absent() }

// UIDs names the user, and his number if it is said. One of another system is
// nothing that others could mean. A file may name its owner by the number, so both
// are told.
func (r *UserRes) UIDs() []autoedge.UID {
	if accountRoot(r.Root) != "" {
		return nil
	}
	uids := []autoedge.UID{traits.UserUID(autoedge.UIDOf(r), r.Name())}
	if r.UID != nil {
		uids = append(uids, traits.UserUID(autoedge.UIDOf(r), strconv.Itoa(*r.UID)))
	}
	return uids
}

// Clashes refuses two users that want one number. The engine asks about two that share a UID, so both are of this machine, and share the name or the number. A shared number is fine if one of them allows it.
func (r *UserRes) Clashes(other engine.Res) error {
	o, ok := other.(*UserRes)
	if !ok || r.absent() || o.absent() || r.UID == nil || o.UID == nil || *r.UID != *o.UID || r.AllowDup || o.AllowDup {
		return nil
	}
	return fmt.Errorf("both want the number %d", *r.UID)
}

// AutoEdges wants the groups, the folder that the home is in, and the package that brings
// the shell. A user who is to go has to go before his groups do, and after the service of his name has stopped.
func (r *UserRes) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	if accountRoot(r.Root) != "" {
		w.Path(accountRoot(r.Root) + "/etc")
		return w, nil
	}
	base := w.Base()
	if r.absent() { // also if it stays: a group of his own goes with him, and comes back
		base.Reversed, base.FixedOrder = new(false), true
	}
	group := func(name string) { w.Ask = append(w.Ask, traits.GroupUID(base, name)) }
	switch {
	case r.GID != nil:
		group(strconv.Itoa(*r.GID))
	case r.Group != "":
		group(r.Group)
	default:
		group(r.Name())
	}
	for _, g := range r.Groups {
		group(g)
	}
	if r.absent() {
		w.Stopped(r.Name())
	}
	if r.HomeDir != "" {
		w.Above(r.HomeDir)
	}
	if r.Shell != "" {
		w.Installed(r.Shell)
	}
	return w, nil
}
