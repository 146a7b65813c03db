package account

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/planning"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/account/backends"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
)

// GroupKey is the same for users of one system: they are checked with one look at its
// databases.
func (r *UserRes) GroupKey() string { return r.Backend() + "\x00" + accountRoot(r.Root) }

// CheckApply compares the user with the wanted one, and makes it so. It is a batch
// of one member, so there is one way to check a user.
func (r *UserRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	o := r.CheckApplyBatch(ctx, apply, []engine.Res{r})[0]
	return o.OK, o.Err
}

// Shared is what users of one system have in common.
func (r *UserRes) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return withAccounts[backends.UserInfo](r.GroupKey())
}

// users is shared by the users that are looked at together. It lives for one batch,
// and is not safe for concurrent use.
type users struct {
	module *virtual.Module
	groups map[string]int // the numbers by name; nil until one is asked for
}

// CheckApplyBatch checks users of one system with one look, and makes each of them
// right. The outcomes are in the order of the members. A failure of one leaves the
// others alone; a backend that cannot be opened fails all of them. Each new look at
// the users forgets the numbers of the groups too.
func (r *UserRes) CheckApplyBatch(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
	m, err := r.Open(ctx, "user", r.Backend())
	if err != nil {
		return virtualkind.FailAll(len(members), err)
	}
	defer m.Close()
	seen := &users{module: m}
	a := accountBatch[backends.UserInfo]{
		root: accountRoot(r.Root), clock: engine.ClockOf(r.Handle().Host), shared: r.Handle().Shared, name: func(u *backends.UserInfo) string { return u.Name },
		all: func(ctx context.Context) ([]backends.UserInfo, error) {
			seen.groups = nil
			all, _, err := backends.GetUsers.Call(ctx, m, backends.AllArgs{Where: r.where()})
			return all, err
		},
		check: func(ctx context.Context, one engine.Res, info *backends.UserInfo, apply bool) (bool, error) {
			return one.(*UserRes).checkApply(ctx, seen, info, apply)
		},
	}
	return a.checkApply(ctx, apply, members)
}

// send sends the facts of the user. The batch calls it after the last look, also if nothing was altered.
func (r *UserRes) send(info *backends.UserInfo) error {
	return r.Handle().Send(&UserSends{info.UID, info.GID, info.Home, info.Shell})
}

// checkApply makes one user right, who is as info says; nil for not there. It
// reports the changes before it makes them, under noop too. A user who goes takes
// his home folder with him only under managehome.
func (r *UserRes) checkApply(ctx context.Context, seen *users, info *backends.UserInfo, apply bool) (bool, error) {
	if err := seen.module.Needs(r.Needs()...); err != nil {
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
		_, _, err := backends.DeleteUser.Call(ctx, seen.module, backends.DeleteArgs{Name: r.Name(), Remove: r.ManageHome, Where: r.where()})
		return false, err
	case info == nil:
		args := r.addArgs()
		if err := seen.canSet(ctx, r, &args.Attributes, apply); err != nil {
			return false, err
		}
		r.Handle().Change(engine.Change{Verb: engine.Created})
		for _, c := range engine.MadeWith(r) {
			r.Handle().Change(c)
		}
		if !apply {
			return false, nil
		}
		_, _, err := backends.AddUser.Call(ctx, seen.module, args)
		return false, err
	}
	return r.change(ctx, seen, info, apply)
}

// change compares a user who is there with the wanted one, reports the differences,
// and sets them by one call if apply says so.
func (r *UserRes) change(ctx context.Context, seen *users, info *backends.UserInfo, apply bool) (bool, error) {
	d, err := r.differs(ctx, seen, info)
	if err == nil {
		err = seen.canSet(ctx, r, &d.to, apply)
	}
	if err != nil {
		return false, err
	}
	for _, c := range d.changes {
		r.Handle().Change(c)
	}
	if len(d.changes) == 0 || !apply {
		return len(d.changes) == 0, nil
	}
	_, _, err = backends.ChangeUser.Call(ctx, seen.module, backends.ChangeArgs{
		Name: r.Name(), Attributes: d.to, Where: r.where(), MoveHome: d.home, CreateHome: d.home,
	})
	return false, err
}

// addArgs are the arguments that make the user with all wanted attributes.
// Attributes that are not given stay nil, for which the tool takes its own defaults.
func (r *UserRes) addArgs() backends.AddArgs {
	args := backends.AddArgs{
		Name: r.Name(), System: r.System, CreateHome: r.ManageHome, UserGroup: true, Where: r.where(),
		Attributes: backends.Attributes{
			UID: r.UID, GID: r.GID, Group: given(r.Group), Home: given(r.HomeDir), Shell: given(r.Shell), Comment: r.Comment,
			Expires: r.expires(), MinAge: r.MinAge, MaxAge: r.MaxAge, WarnDays: r.WarnDays, Unique: !r.AllowDup,
		},
	}
	if len(r.Groups) > 0 {
		args.Groups = &r.Groups
	}
	if !r.Password.IsZero() {
		args.Password = &r.Password
	}
	return args
}

// given is a text if it is not empty.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// expires is the day as backends have it: empty for never, nil if nothing is said.
func (r *UserRes) expires() *string {
	switch r.Expiry {
	case "":
		return nil
	case expiryNever, expiryAbsent:
		return new("")
	}
	return &r.Expiry
}

// userDiff has the differences of a user for the report, and the same as attributes
// that have to be set. Both are filled together, so that the report tells what is
// done.
type userDiff struct {
	changes []engine.Change
	to      backends.Attributes
	home    bool // the home folder has to be made, or moved
}

// add notes a difference for the report; a secret in it is redacted by its type.
func (d *userDiff) add(field string, from, to any) {
	d.changes = append(d.changes, engine.Change{Field: field, From: from, To: to})
}

// differs compares all that is said. It asks the databases for the groups only if
// the primary group is given by its name. The result has only fields that differ, so
// the tool is given nothing else.
func (r *UserRes) differs(ctx context.Context, seen *users, info *backends.UserInfo) (*userDiff, error) {
	d := &userDiff{to: backends.Attributes{Unique: !r.AllowDup}}
	if r.UID != nil && *r.UID != info.UID {
		d.add("uid", int64(info.UID), int64(*r.UID))
		d.to.UID = r.UID
	}
	if err := r.primaryDiffers(ctx, seen, info, d); err != nil {
		return nil, err
	}
	r.groupsDiffer(info, d)
	for _, t := range []struct {
		field, is string
		want      *string
		to        **string
	}{
		{"homedir", info.Home, given(r.HomeDir), &d.to.Home},
		{"shell", info.Shell, given(r.Shell), &d.to.Shell},
		{"comment", info.Comment, r.Comment, &d.to.Comment},
	} {
		if t.want != nil && *t.want != t.is {
			d.add(t.field, t.is, *t.want)
			*t.to = t.want
		}
	}
	if err := r.homeDiffers(info, d); err != nil {
		return nil, err
	}
	return d, r.secretsDiffer(info, d)
}

// homeDiffers looks whether the managed home folder is there. A home that is to be
// elsewhere is moved when that is set. It looks whether there is anything at the
// path, and not to whom that belongs.
func (r *UserRes) homeDiffers(info *backends.UserInfo, d *userDiff) error {
	if !r.ManageHome {
		return nil
	}
	if d.home = d.to.Home != nil; d.home {
		return nil
	}
	_, err := safepath.Of(r.Handle().Host).RawLstat(filepath.Join("/", accountRoot(r.Root), info.Home))
	if files.IsMissing(err) {
		d.add("homedir", nil, info.Home)
		d.home, err = true, nil
	}
	return err
}

// primaryDiffers compares the primary group. Two groups may have one number, so another name alone
// does not differ.
func (r *UserRes) primaryDiffers(ctx context.Context, seen *users, info *backends.UserInfo, d *userDiff) error {
	switch {
	case r.GID != nil && *r.GID != info.GID:
		d.add("gid", int64(info.GID), int64(*r.GID))
		d.to.GID = r.GID
	case r.Group != "" && (info.Group == nil || *info.Group != r.Group):
		gid, ok, err := seen.gid(ctx, r)
		if err != nil || ok && gid == info.GID {
			return err
		}
		var from any
		if info.Group != nil {
			from = *info.Group
		}
		d.add("group", from, r.Group)
		d.to.Group = &r.Group
	}
	return nil
}

// gid looks up the number of the primary group that is wanted.
func (u *users) gid(ctx context.Context, r *UserRes) (int, bool, error) {
	if err := u.readGroups(ctx, r); err != nil {
		return 0, false, err
	}
	gid, ok := u.groups[r.Group]
	return gid, ok, nil
}

// readGroups reads the groups, once. It goes by the module group, whose backend may
// be another one than that of the users.
func (u *users) readGroups(ctx context.Context, r *UserRes) error {
	if u.groups != nil {
		return nil
	}
	groups := r.Elsewhere() // of another kind than the user
	m, err := groups.Open(ctx, "group", accountBackend("", r.Root))
	if err != nil {
		return err
	}
	defer m.Close()
	all, _, err := backends.GetGroups.Call(ctx, m, backends.AllArgs{Where: r.where()})
	if err != nil {
		return err
	}
	u.groups = make(map[string]int, len(all))
	for _, g := range all {
		u.groups[g.Name] = g.GID
	}
	return nil
}

// canSet says, on a mere look, which groups are missing that the tool would not do without: so the
// look tells the later result.
func (u *users) canSet(ctx context.Context, r *UserRes, to *backends.Attributes, apply bool) error {
	var names []string
	if to.Groups != nil {
		names = *to.Groups
	}
	if to.Group != nil {
		names = append(slices.Clone(names), *to.Group)
	}
	if apply || len(names) == 0 && to.GID == nil {
		return nil
	}
	if err := u.readGroups(ctx, r); err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := u.groups[name]; !ok && !files.PlansGroup(r.Handle().Host, name) {
			return fmt.Errorf("there is no group %s", name)
		}
	}
	if to.GID != nil && !slices.Contains(slices.Collect(maps.Values(u.groups)), *to.GID) && !planning.Makes(r.Handle().Host, "group", strconv.Itoa(*to.GID)) {
		return fmt.Errorf("there is no group with the number %d", *to.GID)
	}
	return nil
}

// groupsDiffer compares the other groups. With membership minimum only missing
// groups are added; the primary group counts as such a group that is there.
func (r *UserRes) groupsDiffer(info *backends.UserInfo, d *userDiff) {
	if r.Groups == nil || len(r.Groups) == 0 && !r.inclusive() {
		return
	}
	want := slices.Sorted(slices.Values(r.Groups))
	want = slices.Compact(want)
	if !r.inclusive() {
		missing := slices.DeleteFunc(slices.Clone(want), func(g string) bool {
			return slices.Contains(info.Groups, g) || info.Group != nil && *info.Group == g
		})
		if len(missing) == 0 {
			return
		}
		d.to.Groups, d.to.Append = &missing, true
		want = slices.Sorted(slices.Values(slices.Concat(info.Groups, missing)))
	} else if slices.Equal(want, info.Groups) {
		return
	} else {
		d.to.Groups = &want
	}
	d.add("groups", virtualkind.Texts(info.Groups), virtualkind.Texts(want))
}

// secretsDiffer compares what shadow has, which only root can read. Without root
// these fields are nil in info. That is an error rather than a difference, for it
// would be set again and again.
func (r *UserRes) secretsDiffer(info *backends.UserInfo, d *userDiff) error {
	expires := r.expires()
	managed := !r.Password.IsZero() || expires != nil || r.MinAge != nil || r.MaxAge != nil || r.WarnDays != nil
	if !managed {
		return nil
	}
	if info.Password == nil || info.Expires == nil {
		return fmt.Errorf("the password of %s, and what belongs to it, can't be read: that takes root", r.Name())
	}
	if !r.Password.IsZero() && !r.Password.Equal(*info.Password) {
		d.add("password", *info.Password, r.Password)
		d.to.Password = &r.Password
	}
	if expires != nil && *expires != *info.Expires {
		d.add("expiry", expiryText(*info.Expires), expiryText(*expires))
		d.to.Expires = expires
	}
	for _, n := range []struct {
		field    string
		is, want *int
		to       **int
	}{
		{"password_min_age", info.MinAge, r.MinAge, &d.to.MinAge},
		{"password_max_age", info.MaxAge, r.MaxAge, &d.to.MaxAge},
		{"password_warn_days", info.WarnDays, r.WarnDays, &d.to.WarnDays},
	} {
		if n.want == nil || n.is != nil && *n.is == *n.want {
			continue
		}
		var from any
		if n.is != nil {
			from = int64(*n.is)
		}
		d.add(n.field, from, int64(*n.want))
		*n.to = n.want
	}
	return nil
}

// expiryText writes a day as the parameter does: an empty one means never.
func expiryText(day string) string {
	if day == "" {
		return expiryNever
	}
	return day
}
