package backends

import (
	"context"
	"slices"
	"strconv"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

const busyboxDoc = "The tools of busybox, as on Alpine. It has none that changes a user who is there: that is done as by files."

// busyboxUsers is the backend of users. Its priority is below shadow's, whose tools
// can do more where both are installed.
func busyboxUsers() *virtual.Backend {
	b := virtual.Native("busybox", newBusybox, slices.Concat(userQuestions[*busybox](), []virtual.Method[*busybox]{
		virtual.Func("add", (*busybox).add),
		virtual.Func("change", (*busybox).change),
		virtual.Func("delete", (*busybox).remove),
		virtual.Func("rename", (*busybox).rename),
	})...)
	b.Module, b.Doc, b.Watch, b.Priority = "user", busyboxDoc, virtual.WatchFiles, -10
	b.When, b.Needs = virtual.Match{"kernel": {"Linux"}}, []string{"busybox", "adduser", "deluser"}
	b.Unless = notBusybox
	return b
}

// busyboxGroups is the backend of groups, with the same conditions.
func busyboxGroups() *virtual.Backend {
	b := virtual.Native("busybox", newBusybox, slices.Concat(groupQuestions[*busybox](), []virtual.Method[*busybox]{
		virtual.Func("add", (*busybox).addGroup),
		virtual.Func("change", (*busybox).changeGroup),
		virtual.Func("delete", (*busybox).removeGroup),
		virtual.Func("adduser", (*busybox).addMember),
		virtual.Func("deluser", (*busybox).removeMember),
		virtual.Func("members", (*busybox).members),
	})...)
	b.Module, b.Doc, b.Watch, b.Priority = "group", busyboxDoc, virtual.WatchFiles, -10
	b.When, b.Needs = virtual.Match{"kernel": {"Linux"}}, []string{"busybox", "addgroup", "delgroup"}
	b.Unless = notBusybox
	return b
}

// notBusybox is where adduser is another program, and the busybox that may be there has
// none.
var notBusybox = virtual.Match{"os_family": {"Debian"}}

// busybox runs the tools of busybox, and edits the files where there is none. It
// reads by files too: the tools print nothing that could be read.
type busybox struct {
	files
	tool
	root string // where the tools work, for tests; else empty
}

// newBusybox runs nothing: the first question reads the files.
func newBusybox(ctx context.Context, env virtual.Env) (*busybox, error) {
	f, err := newFiles(ctx, env)
	if err != nil {
		return nil, err
	}
	return &busybox{*f, tool{env.Host}, ""}, nil
}

// asks is the reader behind the functions that only ask; where is the system that they are about.
func (b *busybox) asks() reader { return b.reader }
func (b *busybox) where() Where { return Where{b.root} }

// The arguments are those of the interface without a root, which the tools know nothing
// of.
type (
	busyboxAddArgs struct {
		Name       string `yaml:"name" mgmt:"required" doc:"The name."`
		Attributes `yaml:",inline"`
		System     bool `yaml:"system" doc:"It is an account of the system: its number comes from another range."`
		CreateHome bool `yaml:"createhome" doc:"Make the home folder."`
		UserGroup  bool `yaml:"usergroup" doc:"Have a group of the same name as the primary one, if none is given."`
	}
	busyboxDeleteArgs struct {
		Name   string `yaml:"name" mgmt:"required" doc:"The name."`
		Remove bool   `yaml:"remove" doc:"Remove the home folder, too."`
		Force  bool   `yaml:"force" doc:"Even if the user has processes."`
	}
	busyboxGroupArgs struct {
		Name   string `yaml:"name" mgmt:"required" doc:"The name."`
		GID    *int   `yaml:"gid" mgmt:"min=0" doc:"The number."`
		System bool   `yaml:"system" doc:"It is a group of the system: its number comes from another range."`
		Unique bool   `yaml:"unique" doc:"Refuse a number that another one has."`
	}
	busyboxNameArgs struct {
		Name string `yaml:"name" mgmt:"required" doc:"The name."`
	}
	busyboxMemberArgs struct {
		Name     string `yaml:"name" mgmt:"required" doc:"The name of the group."`
		Username string `yaml:"username" mgmt:"required" doc:"The name of the user."`
	}
)

// add makes a user by adduser, which cannot set all attributes, and then changes the
// rest. A user who is there is changed like that as well. If a later step fails, the
// next call finds the user and sets the rest. The number of the user is left out
// then, since adduser has set it.
// It blocks for the lock that adduser takes.
func (b *busybox) add(ctx context.Context, args busyboxAddArgs) (none virtual.Nothing, err error) {
	if err := checkAttributes(args.Name, args.Attributes); err != nil {
		return none, err
	}
	now, err := load(b.root)
	if err != nil {
		return none, err
	}
	if args.UID != nil && !args.Unique && now.hasUID(*args.UID) { // the tool refuses that
		return b.files.add(ctx, AddArgs{args.Name, args.Attributes, b.where(), args.System, args.CreateHome, args.UserGroup})
	}
	rest := args.Attributes
	if _, ok := now.userNamed(args.Name); !ok {
		group, err := b.primary(now, args)
		if err != nil {
			return none, err
		}
		if group == "" && args.System { // otherwise adduser takes the group nogroup
			if _, err := b.addGroup(ctx, busyboxGroupArgs{Name: args.Name, System: true}); err != nil {
				return none, err
			}
			group = args.Name
		}
		if err := b.adduser(ctx, args, group); err != nil {
			return none, err
		}
		rest.UID = nil
	}
	return b.change(ctx, ChangeArgs{Name: args.Name, Attributes: rest, Where: b.where()})
}

// primary returns the name of the primary group of a new user; empty for one of his
// own, which adduser makes. It also refuses a number that is taken, before anything
// is made.
func (b *busybox) primary(now *state, args busyboxAddArgs) (string, error) {
	if args.UID != nil && args.Unique && now.hasUID(*args.UID) {
		_, err := now.freeUID(AddArgs{Attributes: args.Attributes})
		return "", err
	}
	gid, err := now.gidOf(args.Attributes, -1)
	if err != nil {
		return "", err
	}
	if gid >= 0 {
		return now.memberships().named[gid], nil
	}
	if _, ok := now.groupNamed(args.Name); ok {
		return args.Name, nil
	}
	return "", nil
}

// adduser runs the tool. It makes who has a primary group one of its members, too.
// The home has to be steady, for the tool follows its path as root.
func (b *busybox) adduser(ctx context.Context, args busyboxAddArgs, group string) error {
	if err := steadyNewHome(b.root, args.Name, args.Attributes, args.CreateHome); err != nil {
		return err
	}
	if err := b.run(ctx, "", adduser(args, group)...); err != nil || group == "" {
		return err
	}
	return b.edit(ctx, b.root, func(s *state) error {
		s.setMember(group, args.Name, false)
		return nil
	})
}

// adduser returns the command that makes a user without a password. The password is set later, by the files, so no list of processes shows it.
// It runs nothing.
func adduser(args busyboxAddArgs, group string) []string {
	argv := []string{"adduser", "-D"}
	if args.System {
		argv = append(argv, "-S")
	}
	if !args.CreateHome {
		argv = append(argv, "-H")
	}
	numberOption(&argv, "-u", args.UID)
	option(&argv, "-h", args.Home)
	option(&argv, "-s", args.Shell)
	comment := args.Comment
	if comment == nil { // otherwise the tool makes one up
		comment = new("")
	}
	option(&argv, "-g", comment)
	if group != "" {
		argv = append(argv, "-G", group)
	}
	return append(argv, args.Name)
}

// remove removes a user who has no processes, and his home first. A missing user is
// not an error.
// A user with processes is an error, unless Force is given.
func (b *busybox) remove(ctx context.Context, args busyboxDeleteArgs) (none virtual.Nothing, err error) {
	now, err := loadFor(b.root, args.Name)
	if err != nil {
		return none, err
	}
	u, ok := now.userNamed(args.Name)
	if !ok {
		return none, nil
	}
	if !args.Force {
		if err := b.idle(b.root, u); err != nil { // the tool does not ask
			return none, err
		}
	}
	if args.Remove {
		if err := removeHome(b.root, u); err != nil {
			return none, err
		}
	}
	return none, b.run(ctx, "", "deluser", args.Name)
}

// addGroup makes a group, or gives it another number. The tool takes no number that
// is in use, so a shared one is written by the files.
// A group that is right already costs no run of a tool.
func (b *busybox) addGroup(ctx context.Context, args busyboxGroupArgs) (none virtual.Nothing, err error) {
	now, err := loadFor(b.root, args.Name)
	if err != nil {
		return none, err
	}
	g, ok := now.groupNamed(args.Name)
	switch {
	case ok && (args.GID == nil || *args.GID == g.GID):
		return none, nil
	case ok:
		return b.changeGroup(ctx, ChangeGroupArgs{Name: args.Name, GID: *args.GID, Unique: args.Unique, Where: b.where()})
	case args.GID != nil && !args.Unique: // the tool refuses that
		return b.files.addGroup(ctx, AddGroupArgs{Name: args.Name, GID: args.GID, System: args.System, Where: b.where()})
	}
	argv := []string{"addgroup"}
	if args.System {
		argv = append(argv, "-S")
	}
	if args.GID != nil {
		argv = append(argv, "-g", strconv.Itoa(*args.GID))
	}
	return none, b.run(ctx, "", append(argv, args.Name)...)
}

// removeGroup removes a group. A missing one is not an error.
// The refusal of delgroup is the error.
func (b *busybox) removeGroup(ctx context.Context, args busyboxNameArgs) (none virtual.Nothing, err error) {
	now, err := loadFor(b.root, args.Name)
	if err != nil {
		return none, err
	}
	if _, ok := now.groupNamed(args.Name); !ok {
		return none, nil
	}
	return none, b.run(ctx, "", "delgroup", args.Name) // it refuses the primary group of a user
}

// addMember puts a user into a group; addgroup with two names does that.
// A member stays one, and then no tool runs.
func (b *busybox) addMember(ctx context.Context, args busyboxMemberArgs) (none virtual.Nothing, err error) {
	if is, err := inGroupOf(MemberArgs{Name: args.Name, Username: args.Username, Where: b.where()}); err != nil || is {
		return none, err
	}
	return none, b.run(ctx, "", "addgroup", args.Username, args.Name)
}

// removeMember takes a user out of a group; delgroup with two names does that.
// A user who is not in the group is right already, and then no tool runs.
func (b *busybox) removeMember(ctx context.Context, args busyboxMemberArgs) (none virtual.Nothing, err error) {
	if is, err := inGroupOf(MemberArgs{Name: args.Name, Username: args.Username, Where: b.where()}); err != nil || !is {
		return none, err
	}
	return none, b.run(ctx, "", "delgroup", args.Username, args.Name)
}
