// Package backends is the virtual modules user and group: the questions to the databases of users
// and groups, and the backends that answer them. The package engine/virtual tells how to write a
// backend.
//
// # Rules for backends
//
//   - A call changes the given attributes, and nothing else. A state that is there already is not
//     an error.
//   - Only the accounts of this machine's own files count: those of a directory service are neither
//     listed nor changed. Each question reads each file once.
//   - A password is a hash, is never an argument of a tool, and appears in a result only as a
//     Secret.
//   - A home that is moved, removed or given to another number goes first, and its entries in the
//     databases follow: the next look finds the traces of a cut. A home that belongs to another
//     user is left alone.
//   - A name that is not CheckName, and any value that a database cannot hold, is refused before a
//     tool is run.
package backends

import (
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// Where says whose databases are meant. It is inlined into the arguments of each
// call. Backends by tools of this machine alone have arguments without it, which the
// module sees.
type Where struct {
	Root string `yaml:"root" doc:"The folder in which the system is whose databases are meant, as of an image; empty for this machine."`
}

// AllArgs are those of the calls about all users or groups.
type AllArgs struct {
	Where `yaml:",inline"`
}

// NameArgs is one user or group.
type NameArgs struct {
	Name  string `yaml:"name" mgmt:"required" doc:"The name."`
	Where `yaml:",inline"`
}

// RenameArgs are those of rename.
type RenameArgs struct {
	Name    string `yaml:"name" mgmt:"required" doc:"The name."`
	NewName string `yaml:"new_name" mgmt:"required" doc:"The name from now on."`
	Where   `yaml:",inline"`
}

// Attributes describe a user. An attribute that is not given stays as it is, or gets
// the system's default. A nil pointer stands for an attribute that is not given, so
// an empty text can be set.
type Attributes struct {
	UID      *int           `yaml:"uid" mgmt:"min=0" doc:"The number."`
	GID      *int           `yaml:"gid" mgmt:"min=0" doc:"The number of the primary group."`
	Group    *string        `yaml:"group" doc:"The name of the primary group, in place of its number."`
	Groups   *[]string      `yaml:"groups" doc:"The names of the other groups; exactly these."`
	Append   bool           `yaml:"append" doc:"With groups: at least these."`
	Home     *string        `yaml:"home" doc:"The home folder."`
	Shell    *string        `yaml:"shell" doc:"The login shell."`
	Comment  *string        `yaml:"comment" doc:"Text for people: the full name and other notes, separated by commas."`
	Password *schema.Secret `yaml:"password" doc:"The hash of the password; ! and * for none that fits."`
	Expires  *string        `yaml:"expires" doc:"The day after which the user can't log in, such as 2030-12-31; empty for never."`
	MinAge   *int           `yaml:"min_age" mgmt:"min=0" doc:"How many days a password has to be kept."`
	MaxAge   *int           `yaml:"max_age" mgmt:"min=0" doc:"After how many days a password has to be changed."`
	WarnDays *int           `yaml:"warn_days" mgmt:"min=0" doc:"How many days before that it is warned of."`
	Unique   bool           `yaml:"unique" doc:"Refuse a number that another one has."`
}

// AddArgs are those of add. A user who is there is changed to these attributes.
type AddArgs struct {
	Name       string `yaml:"name" mgmt:"required" doc:"The name."`
	Attributes `yaml:",inline"`
	Where      `yaml:",inline"`
	System     bool `yaml:"system" doc:"It is an account of the system: its number comes from another range."`
	CreateHome bool `yaml:"createhome" doc:"Make the home folder."`
	UserGroup  bool `yaml:"usergroup" doc:"Have a group of the same name as the primary one, if none is given; it is made if it is not there."`
}

// Default returns the defaults.
func (AddArgs) Default() AddArgs {
	return AddArgs{Attributes: Attributes{Unique: true}, UserGroup: true}
}

// ChangeArgs are those of change. A missing user is an error.
type ChangeArgs struct {
	Name       string `yaml:"name" mgmt:"required" doc:"The name."`
	Attributes `yaml:",inline"`
	Where      `yaml:",inline"`
	MoveHome   bool `yaml:"movehome" doc:"With home: move the old home folder there, if it is the user's own and nothing is there yet."`
	CreateHome bool `yaml:"createhome" doc:"Make the home folder, if it is not there in the end."`
}

// Default returns the defaults.
func (ChangeArgs) Default() ChangeArgs { return ChangeArgs{Attributes: Attributes{Unique: true}} }

// DeleteArgs are those of delete.
type DeleteArgs struct {
	Name   string `yaml:"name" mgmt:"required" doc:"The name."`
	Remove bool   `yaml:"remove" doc:"Remove the home folder and the mail, too."`
	Force  bool   `yaml:"force" doc:"Even if the user is logged in, or has processes."`
	Where  `yaml:",inline"`
}

// UserInfo is the record of a user. Password, Expires and the ages are nil where
// shadow cannot be read.
type UserInfo struct {
	Name     string         `yaml:"name" doc:"The name."`
	UID      int            `yaml:"uid" doc:"The number."`
	GID      int            `yaml:"gid" doc:"The number of the primary group."`
	Group    *string        `yaml:"group" doc:"The name of the primary group, if there is one of that number."`
	Groups   []string       `yaml:"groups" doc:"The names of the other groups, sorted."`
	Home     string         `yaml:"home" doc:"The home folder."`
	Shell    string         `yaml:"shell" doc:"The login shell."`
	Comment  string         `yaml:"comment" doc:"The full name, and what else stands for people."`
	Password *schema.Secret `yaml:"password" doc:"The hash of the password, where it can be read."`
	Expires  *string        `yaml:"expires" doc:"The day after which the user can't log in; empty for never."`
	MinAge   *int           `yaml:"min_age" doc:"How many days a password has to be kept."`
	MaxAge   *int           `yaml:"max_age" doc:"After how many days a password has to be changed."`
	WarnDays *int           `yaml:"warn_days" doc:"How many days before that it is warned of."`
}

// The functions of the module user. What elsewhere is chuid, chgid, chgroups,
// chhome, chshell and chfullname is change with one of its arguments.
var (
	AddUser      = virtual.Declare[AddArgs, virtual.Nothing]("add", "Make a user.")
	ChangeUser   = virtual.Declare[ChangeArgs, virtual.Nothing]("change", "Change a user, as one step.")
	DeleteUser   = virtual.Declare[DeleteArgs, virtual.Nothing]("delete", "Remove a user. A missing one does not cause an error.")
	RenameUser   = virtual.Declare[RenameArgs, virtual.Nothing]("rename", "Give a user another name.")
	DescribeUser = virtual.Declare[NameArgs, UserInfo]("info", "The record of a user.", virtual.OrNotFound(nil))
	GetUsers     = virtual.Declare[AllArgs, []UserInfo]("getent", "All users, in the order of the database. Each database is read once.")
	ListUsers    = virtual.Declare[AllArgs, []string]("list_users", "The names of all users, sorted.")
	ListGroups   = virtual.Declare[NameArgs, []string]("list_groups", "The names of all groups that a user is in, the primary one among them, sorted.")
)

// UserInterface is the module user. Each call returns a new value, which the caller
// owns.
func UserInterface() *virtual.Interface {
	return &virtual.Interface{
		Module: "user",
		Doc:    "Users of the machine.",
		Functions: []virtual.Function{
			AddUser.Function(), ChangeUser.Function(), DeleteUser.Function(), RenameUser.Function(),
			DescribeUser.Function(), GetUsers.Function(), ListUsers.Function(), ListGroups.Function(),
		},
	}
}

// AddGroupArgs are those of add.
type AddGroupArgs struct {
	Name   string `yaml:"name" mgmt:"required" doc:"The name."`
	GID    *int   `yaml:"gid" mgmt:"min=0" doc:"The number."`
	System bool   `yaml:"system" doc:"It is a group of the system: its number comes from another range."`
	Unique bool   `yaml:"unique" doc:"Refuse a number that another one has."`
	Where  `yaml:",inline"`
}

// Default returns the defaults.
func (AddGroupArgs) Default() AddGroupArgs { return AddGroupArgs{Unique: true} }

// ChangeGroupArgs are those of change.
type ChangeGroupArgs struct {
	Name   string `yaml:"name" mgmt:"required" doc:"The name."`
	GID    int    `yaml:"gid" mgmt:"required,min=0" doc:"The number."`
	Unique bool   `yaml:"unique" doc:"Refuse a number that another one has."`
	Where  `yaml:",inline"`
}

// Default returns the defaults.
func (ChangeGroupArgs) Default() ChangeGroupArgs { return ChangeGroupArgs{Unique: true} }

// MemberArgs is a group and one user.
type MemberArgs struct {
	Name     string `yaml:"name" mgmt:"required" doc:"The name of the group."`
	Username string `yaml:"username" mgmt:"required" doc:"The name of the user."`
	Where    `yaml:",inline"`
}

// MembersArgs is a group and users.
type MembersArgs struct {
	Name    string   `yaml:"name" mgmt:"required" doc:"The name of the group."`
	Members []string `yaml:"members" mgmt:"required" doc:"The names of the users; exactly these."`
	Where   `yaml:",inline"`
}

// GroupInfo is the record of a group.
type GroupInfo struct {
	Name    string   `yaml:"name" doc:"The name."`
	GID     int      `yaml:"gid" doc:"The number."`
	Members []string `yaml:"members" doc:"The names of the users that have it apart from their primary group, sorted."`
}

// The functions of the module group.
var (
	AddGroup      = virtual.Declare[AddGroupArgs, virtual.Nothing]("add", "Make a group.")
	ChangeGroup   = virtual.Declare[ChangeGroupArgs, virtual.Nothing]("change", "Give a group another number.")
	DeleteGroup   = virtual.Declare[NameArgs, virtual.Nothing]("delete", "Remove a group. A missing one does not cause an error; the primary group of a user is.")
	DescribeGroup = virtual.Declare[NameArgs, GroupInfo]("info", "The record of a group.", virtual.OrNotFound(nil))
	GetGroups     = virtual.Declare[AllArgs, []GroupInfo]("getent", "All groups, in the order of the database. Each database is read once.")
	AddMember     = virtual.Declare[MemberArgs, virtual.Nothing]("adduser", "Put a user into a group.")
	RemoveMember  = virtual.Declare[MemberArgs, virtual.Nothing]("deluser", "Take a user out of a group.")
	SetMembers    = virtual.Declare[MembersArgs, virtual.Nothing]("members", "Have exactly these users in a group.")
)

// GroupInterface is the module group. Each call returns a new value, which the
// caller owns.
func GroupInterface() *virtual.Interface {
	return &virtual.Interface{
		Module: "group",
		Doc:    "Groups of the machine.",
		Functions: []virtual.Function{
			AddGroup.Function(), ChangeGroup.Function(), DeleteGroup.Function(), DescribeGroup.Function(), GetGroups.Function(),
			AddMember.Function(), RemoveMember.Function(), SetMembers.Function(),
		},
	}
}

// UserBackends returns a new one of each backend of the module user. Their
// priorities decide, and not the order.
func UserBackends() []*virtual.Backend {
	return []*virtual.Backend{shadowUsers(), busyboxUsers(), filesUsers()}
}

// GroupBackends returns a new one of each backend of the module group.
func GroupBackends() []*virtual.Backend {
	return []*virtual.Backend{shadowGroups(), busyboxGroups(), filesGroups()}
}

func init() {
	virtual.Register("user", func() (*virtual.Interface, []*virtual.Backend) { return UserInterface(), UserBackends() })
	virtual.Register("group", func() (*virtual.Interface, []*virtual.Backend) { return GroupInterface(), GroupBackends() })
}
