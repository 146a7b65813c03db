package account

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/account/backends"
	"github.com/reactivegraph/mgmt/resources/internal/rules"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/traits"
)

// The words of membership and of expiry.
const (
	groupsInclusive = "inclusive"
	groupsMinimum   = "minimum"
	expiryNever     = "never"
	expiryAbsent    = "absent" // the same, in the words of catalogs
)

func init() {
	virtualkind.Register("user", func(k *virtual.Kind) virtual.Resource {
		return &UserRes{accountBase: accountBase{virtualkind.Of(k)}}
	})
}

var (
	_ virtual.Resource      = (*UserRes)(nil)
	_ engine.Batcher        = (*UserRes)(nil)
	_ engine.EdgeableRes    = (*UserRes)(nil)
	_ engine.ClashingRes    = (*UserRes)(nil)
	_ engine.RecvableRes    = (*UserRes)(nil)
	_ engine.SendableRes    = (*UserRes)(nil)
	_ engine.ReversibleRes  = (*UserRes)(nil)
	_ engine.Readable       = (*UserRes)(nil)
	_ engine.Listable       = (*UserRes)(nil)
	_ engine.SharedRes      = (*UserRes)(nil)
	_ engine.OverlappingRes = (*UserRes)(nil)
	_ engine.DescribedRes   = (*UserRes)(nil)
)

// UserRes is a user of the machine. Its name is that of the user. The reactor owns
// an instance. The engine may hand it to another user of the same GroupKey, whose
// CheckApplyBatch checks it.
type UserRes struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Reversible
	traits.Sendable
	accountBase

	// These fields are the user's own state. A field that is empty or nil is left as
	// it is on the machine.
	State    string        `yaml:"state" lang:"state" mgmt:"enum=exists|absent" doc:"Whether there is such a user."`
	UID      *int          `yaml:"uid" lang:"uid" mgmt:"min=0,max=4294967294" doc:"The number; for a new user a free one if absent."`
	GID      *int          `yaml:"gid" lang:"gid" mgmt:"min=0,max=4294967294" doc:"The number of the primary group, which has to be there."`
	Group    string        `yaml:"group" lang:"group" mgmt:"nosecret=password" doc:"The name of the primary group, in place of its number. Without both a new user gets a group of the same name."`
	Groups   []string      `yaml:"groups" lang:"groups" mgmt:"nosecret=password" doc:"The names of the other groups that the user is in."`
	HomeDir  string        `yaml:"homedir" lang:"homedir" mgmt:"nosecret=password" doc:"Absolute path of the home folder. When it changes the folder is moved along with managehome, and else stays where it is."`
	Shell    string        `yaml:"shell" lang:"shell" mgmt:"nosecret=password" doc:"Absolute path of the login shell."`
	Comment  *string       `yaml:"comment" lang:"comment" mgmt:"nosecret=password" doc:"The full name, and what else stands for people."`
	Password schema.Secret `yaml:"password" lang:"password" doc:"The hash of the password, as openssl passwd -6 makes it, and never the password itself; ! or * for none that fits."`
	Expiry   string        `yaml:"expiry" lang:"expiry" mgmt:"nosecret=password" doc:"The day after which the user can't log in, such as 2030-12-31; never, or absent, for none."`
	MinAge   *int          `yaml:"password_min_age" lang:"password_min_age" mgmt:"min=0" doc:"How many days a password has to be kept."`
	MaxAge   *int          `yaml:"password_max_age" lang:"password_max_age" mgmt:"min=0" doc:"After how many days a password has to be changed."`
	WarnDays *int          `yaml:"password_warn_days" lang:"password_warn_days" mgmt:"min=0" doc:"How many days before that it is warned of."`

	// These parameters say how the state is reached and compared. A change of one
	// alters no user by itself.
	Membership string `yaml:"membership" lang:"membership" mgmt:"param,enum=inclusive|minimum" doc:"Whether groups are all groups but the primary one (inclusive), or only the groups that the user must be in (minimum)."`
	ManageHome bool   `yaml:"managehome" lang:"managehome" mgmt:"param" doc:"Keep the home folder there: made if it is missing, moved when its path changes, removed together with the user."`
	System     bool   `yaml:"system" lang:"system" mgmt:"param" doc:"A new user is one of the system: the number comes from another range."`
	AllowDup   bool   `yaml:"allowduplicateuid" lang:"allowduplicateuid" mgmt:"param" doc:"Allow a uid that another user has."`
	Root       string `yaml:"root" lang:"root" mgmt:"param" doc:"The folder in which the system is whose user it is, as of an image; that of this machine if absent."`
}

// UserSends is what a user sends.
type UserSends struct {
	UID   int    `yaml:"uid" lang:"uid" doc:"The number."`
	GID   int    `yaml:"gid" lang:"gid" doc:"The number of the primary group."`
	Home  string `yaml:"homedir" lang:"homedir" doc:"The home folder."`
	Shell string `yaml:"shell" lang:"shell" doc:"The login shell."`
}

// Default returns a user who is there.
func (r *UserRes) Default() engine.Res {
	return &UserRes{State: Exists, Membership: groupsMinimum, accountBase: accountBase{virtualkind.Of(r.VirtualKind())}}
}

// Backends returns the names of all backends of the module user.
func (r *UserRes) Backends() []string { return r.BackendNames("user") }

// Backend names the backend that is asked for; empty if the engine may choose.
func (r *UserRes) Backend() string { return accountBackend(engine.MetaOf(r).Backend, r.Root) }

// absent reports whether the user is to go. State may be empty, which means to stay.
func (r *UserRes) absent() bool { return r.State == Absent }

// where says to a backend which system is meant.
func (r *UserRes) where() backends.Where { return backends.Where{Root: accountRoot(r.Root)} }

// inclusive reports whether the user is to be in no other groups.
func (r *UserRes) inclusive() bool { return r.Membership == groupsInclusive }

// Needs returns the names of the functions that a backend has to have for such a
// user. A state that is received is not known yet, so then only reading is asked
// for.
func (r *UserRes) Needs() []string {
	if virtualkind.Coming(r, "state") {
		return accountNeeds(r.Root, backends.GetUsers.Name())
	}
	if r.absent() {
		return accountNeeds(r.Root, backends.GetUsers.Name(), backends.DeleteUser.Name())
	}
	return accountNeeds(r.Root, backends.GetUsers.Name(), backends.AddUser.Name(), backends.ChangeUser.Name())
}

// Validate checks the parameters. It reads no database, and returns all faults at
// once. The password has to be a hash: a password in clear would be stored as one,
// and readable in shadow. An error does not show it.
func (r *UserRes) Validate() error {
	errs := accountRules(r.Name(), r.State, r.Root)
	check := func(field, text string, rule func(string) error) {
		if text == "" {
			return
		}
		if err := rule(text); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	check("group", r.Group, backends.CheckName)
	check("homedir", r.HomeDir, backends.CheckPath)
	check("shell", r.Shell, backends.CheckPath)
	check("password", r.Password.Reveal(), backends.CheckHash)
	if r.Comment != nil {
		check("comment", *r.Comment, backends.CheckText)
	}
	if r.Expiry != expiryNever && r.Expiry != expiryAbsent {
		check("expiry", r.Expiry, backends.CheckDay)
	}
	for _, g := range r.Groups {
		if err := backends.CheckName(g); err != nil {
			errs = append(errs, fmt.Errorf("groups: %w", err))
		}
	}
	if !slices.Contains([]string{"", groupsInclusive, groupsMinimum}, r.Membership) {
		errs = append(errs, fmt.Errorf("membership is %q, it must be inclusive or minimum", r.Membership))
	}
	errs = append(errs, rules.Broken([]rules.Rule{
		{If: r.GID != nil && r.Group != "", Text: "gid and group are both given: one of them says which group it is"},
		{If: r.AllowDup && r.UID == nil, Text: "allowduplicateuid makes sense with uid only"},
	})...)
	return errors.Join(errs...)
}

// CheckMachine returns an error for each function that the backend of a machine
// lacks. It is asked before the first run, and by validate for another machine's
// facts.
func (r *UserRes) CheckMachine(m engine.Machine) error { return r.Check("user", r, m) }

// Cmp compares the parameters, and the backends to choose from.
func (r *UserRes) Cmp(o engine.Res) error { return virtual.Cmp(r, o) }

// Sends returns an empty value of the type that is sent.
func (r *UserRes) Sends() any { return &UserSends{} }

// Watch tells of each change of the databases, and of the home folder if that is managed.
func (r *UserRes) Watch(ctx context.Context) error { return r.WatchBy(ctx, "user", r, nil) }

// Follow subscribes for WatchBy. It is called again when another backend is chosen.
// The home folder that the user has at that time is watched, until the next call.
func (r *UserRes) Follow(ctx context.Context, c *virtualkind.Chosen) error {
	if !r.ManageHome || r.absent() {
		return r.subscribe(ctx, c, r.Root)
	}
	home := r.HomeDir
	if home == "" {
		home = r.homeNow(ctx)
	}
	return r.subscribe(ctx, c, r.Root, filepath.Join("/", accountRoot(r.Root), home))
}

// homeNow is the home folder that the user has, or that a new one is likely to get.
// A failure is not told: then a place is watched that may be the wrong one, and
// CheckApply finds the failure.
func (r *UserRes) homeNow(ctx context.Context) string {
	if m, err := r.Open(ctx, "user", r.Backend()); err == nil {
		defer m.Close()
		info, result, err := backends.DescribeUser.Call(ctx, m, backends.NameArgs{Name: r.Name(), Where: r.where()})
		if err == nil && result.Found && info.Home != "" {
			return info.Home
		}
	}
	return "/home/" + r.Name()
}

// Doc describes the kind.
func (r *UserRes) Doc() string {
	return `Keeps a user there, or away: number, groups, home, shell, password, comment and expiry.

Absent parameters are left as they are; a new user gets what the system gives. The tools of the system do it, shadow-utils or
those of
busybox; with ` + "`root`" + `, or where there are no tools, the databases ` + "`passwd`, `group`, `shadow` and `gshadow`" + ` are edited
under their lock, and everything that is not about the user stays byte for byte. They are watched, and read once for all users that
are looked at together. Users of a directory service are neither seen nor changed.

The password is given as a hash. A password itself is refused, so that it never stands readable in a database; the hash is in no
argument list, log or difference. To let no user log in use ` + "`!`" + `.

A user who has running processes can't be removed, or get another number or home: that is a failure which names one of them. With
another number, his files in his home stay his. Names that could be options or paths are refused.

With ` + "`managehome`" + ` the home folder is there as long as the user is: it is made from ` + "`/etc/skel`" + ` whenever it is missing,
and removed together with the user. If ` + "`homedir`" + ` changes, the old folder is moved, with all that is in it, but only if it is the user's own and not the home of another user, and nothing is at the new path. An existing one is taken as it is. A folder that belongs to another user is neither moved nor removed. Without ` + "`managehome`" + ` no folder is touched, and ` + "`homedir`" + ` is only the entry of the database.

A user comes after his groups and after the folder that his home is in, and files come after their owners. It
sends its numbers, home and shell.`
}

var _ virtual.UsingRes = (*UserRes)(nil)

// Uses says what a user needs. The reference page shows by it which backend can do
// what.
func (r *UserRes) Uses() []virtual.Use {
	return []virtual.Use{
		virtualkind.Use("state: exists", &UserRes{}), virtualkind.Use("state: absent", &UserRes{State: Absent}),
		virtualkind.Use("root: a folder", &UserRes{Root: "/image"}),
	}
}
