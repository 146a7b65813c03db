package backends

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

const shadowDoc = "The tools of shadow-utils, which most distributions have."

// shadowUsers is the backend of users, which is taken wherever its tools are.
func shadowUsers() *virtual.Backend {
	b := virtual.Native("shadow", newShadow, slices.Concat(userQuestions[*shadow](), []virtual.Method[*shadow]{
		virtual.Func("add", (*shadow).add),
		virtual.Func("change", (*shadow).change),
		virtual.Func("delete", (*shadow).remove),
		virtual.Func("rename", (*shadow).rename),
	})...)
	b.Module, b.Doc, b.Watch = "user", shadowDoc, virtual.WatchFiles
	b.When, b.Needs = virtual.Match{"kernel": {"Linux"}}, []string{"useradd", "usermod", "userdel", "chpasswd", "chage"}
	return b
}

// shadowGroups is the backend of groups.
func shadowGroups() *virtual.Backend {
	b := virtual.Native("shadow", newShadow, slices.Concat(groupQuestions[*shadow](), []virtual.Method[*shadow]{
		virtual.Func("add", (*shadow).addGroup),
		virtual.Func("change", (*shadow).changeGroup),
		virtual.Func("delete", (*shadow).removeGroup),
		virtual.Func("adduser", (*shadow).addMember),
		virtual.Func("deluser", (*shadow).removeMember),
		virtual.Func("members", (*shadow).members),
	})...)
	b.Module, b.Doc, b.Watch = "group", shadowDoc, virtual.WatchFiles
	b.When, b.Needs = virtual.Match{"kernel": {"Linux"}}, []string{"groupadd", "groupmod", "groupdel", "gpasswd"}
	return b
}

// shadow runs the tools of shadow-utils. The tools take the lock, keep their own
// order of writes and tell the audit log, so they are preferred to the files.
type shadow struct {
	reader
	tool
}

// newShadow runs nothing. That the tools are there was checked by Needs.
func newShadow(_ context.Context, env virtual.Env) (*shadow, error) {
	return &shadow{reader{env.Host}, tool{env.Host}}, nil
}

// asks is the reader behind the functions that only ask.
func (s *shadow) asks() reader { return s.reader }

// tool runs programs that change accounts.
type tool struct{ runner engine.Host }

// run runs a program that has to succeed. Its error has the last five lines of its output, and never its input. ctx ends the
// program, which may leave a half-made account; the next look finds it.
func (t tool) run(ctx context.Context, stdin string, argv ...string) error {
	c := engine.Command{Argv: argv, MaxOutput: 16 << 10}
	if stdin != "" {
		c.Stdin = []byte(stdin)
	}
	r, err := t.runner.Command(ctx, c)
	if err != nil || r.ExitCode == 0 {
		return err
	}
	said := strings.TrimSpace(string(r.Stderr))
	if said == "" {
		said = strings.TrimSpace(string(r.Stdout))
	}
	lines := strings.Split(said, "\n")
	said = strings.Join(lines[max(0, len(lines)-5):], "; ")
	return fmt.Errorf("%s: exit status %d: %s", argv[0], r.ExitCode, said)
}

// in begins a command for a system; root is the option that says which. The tools
// make that folder their root, so they read its configuration.
// The caller appends to the result.
func in(root, option, program string) []string {
	if root == "" {
		return []string{program}
	}
	return []string{program, option, root}
}

// option adds an option with a value, if that is given.
func option(argv *[]string, name string, value *string) {
	if value != nil {
		*argv = append(*argv, name, *value)
	}
}

// numberOption adds an option with a number, if that is given.
func numberOption(argv *[]string, name string, value *int) {
	if value != nil {
		*argv = append(*argv, name, strconv.Itoa(*value))
	}
}

// add makes a user by useradd, in one call but for the secrets. A user who is there
// is changed.
func (s *shadow) add(ctx context.Context, args AddArgs) (none virtual.Nothing, err error) {
	if err := checkAttributes(args.Name, args.Attributes); err != nil {
		return none, err
	}
	now, err := load(args.Root)
	if err != nil {
		return none, err
	}
	if _, ok := now.userNamed(args.Name); ok {
		return s.change(ctx, ChangeArgs{Name: args.Name, Attributes: args.Attributes, Where: args.Where, CreateHome: args.CreateHome})
	}
	if err := steadyNewHome(args.Root, args.Name, args.Attributes, args.CreateHome); err != nil {
		return none, err
	}
	argv := in(args.Root, "--root", "useradd")
	if args.System {
		argv = append(argv, "--system")
	}
	if args.CreateHome {
		argv = append(argv, "--create-home")
	} else {
		argv = append(argv, "--no-create-home")
	}
	_, there := now.groupNamed(args.Name)
	argv = append(argv, ownGroup(args, there)...)
	argv = append(argv, userOptions(args.Attributes)...)
	if err := s.run(ctx, "", append(argv, args.Name)...); err != nil {
		return none, err
	}
	if there && args.UserGroup {
		if err := s.keepGroup(ctx, args.Root, args.Name); err != nil {
			return none, err
		}
	}
	return none, s.setSecrets(ctx, args.Root, args.Name, args.Attributes)
}

// keepGroup makes the group of the name of a new user if it went while the user was made:
// userdel writes the users before the groups, and useradd takes the number of a group
// before it waits for the lock that userdel holds.
func (s *shadow) keepGroup(ctx context.Context, root, name string) error {
	now, err := load(root)
	if err != nil {
		return err
	}
	u, ok := now.userNamed(name)
	if _, kept := now.memberships().named[u.GID]; !ok || kept {
		return nil
	}
	argv := append(in(root, "--root", "groupadd"), gidOptions(&u.GID, true)...)
	return s.run(ctx, "", append(argv, name)...)
}

// ownGroup returns the options for the group of the name of a new user. Without them
// useradd would decide by login.defs, so the result would depend on the machine.
func ownGroup(args AddArgs, there bool) []string {
	switch {
	case args.Group != nil || args.GID != nil || !args.UserGroup:
		return []string{"--no-user-group"}
	case there:
		return []string{"--no-user-group", "--gid", args.Name}
	}
	return []string{"--user-group"}
}

// userOptions returns the options that useradd and usermod have in common. The
// password is not among them: it would stand in the list of processes.
func userOptions(a Attributes) (argv []string) {
	numberOption(&argv, "--uid", a.UID)
	if a.UID != nil && !a.Unique {
		argv = append(argv, "--non-unique")
	}
	if a.Group != nil {
		option(&argv, "--gid", a.Group)
	} else {
		numberOption(&argv, "--gid", a.GID)
	}
	if a.Groups != nil {
		option(&argv, "--groups", new(strings.Join(*a.Groups, ",")))
	}
	option(&argv, "--home-dir", a.Home)
	option(&argv, "--shell", a.Shell)
	option(&argv, "--comment", a.Comment)
	option(&argv, "--expiredate", a.Expires)
	return argv
}

// change alters a user by usermod, and only then the secrets. usermod itself refuses
// to renumber a user with processes.
func (s *shadow) change(ctx context.Context, args ChangeArgs) (none virtual.Nothing, err error) {
	if err := checkAttributes(args.Name, args.Attributes); err != nil {
		return none, err
	}
	now, err := load(args.Root)
	if err != nil {
		return none, err
	}
	options := userOptions(args.Attributes)
	if u, ok := now.userNamed(args.Name); ok && args.MoveHome && args.Home != nil && *args.Home != u.Home && now.movable(u, *args.Home) {
		if err := makeAbove(args.Root, *args.Home); err != nil {
			return none, err
		}
		options = append(options, "--move-home")
	}
	for i, o := range options {
		if o == "--home-dir" { // as usermod calls it
			options[i] = "--home"
			break
		}
	}
	if args.Groups != nil && args.Append {
		options = append(options, "--append")
	}
	if len(options) > 0 {
		argv := append(in(args.Root, "--root", "usermod"), options...)
		if err := s.run(ctx, "", append(argv, args.Name)...); err != nil {
			return none, err
		}
	}
	if err := s.setSecrets(ctx, args.Root, args.Name, args.Attributes); err != nil || !args.CreateHome {
		return none, err
	}
	return none, createHome(args.Root, args.Name)
}

// createHome makes the home folder of a user who is there, as the tools do only for a new one.
func createHome(root, name string) error {
	s, err := load(root)
	if err != nil {
		return err
	}
	u, ok := s.userNamed(name)
	if !ok {
		return virtual.ErrNotFound
	}
	return makeHome(root, u)
}

// setSecrets sets the hash of the password, which reaches chpasswd by its standard
// input, and how long a password counts. It needs up to two programs. If the second
// one fails, the next look finds the difference and sets it.
func (s *shadow) setSecrets(ctx context.Context, root, name string, a Attributes) error {
	if a.Password != nil {
		argv := append(in(root, "--root", "chpasswd"), "--encrypted")
		if err := s.run(ctx, name+":"+a.Password.Reveal()+"\n", argv...); err != nil {
			return err
		}
	}
	var options []string
	numberOption(&options, "--mindays", a.MinAge)
	numberOption(&options, "--maxdays", a.MaxAge)
	numberOption(&options, "--warndays", a.WarnDays)
	if len(options) == 0 {
		return nil
	}
	return s.run(ctx, "", append(append(in(root, "--root", "chage"), options...), name)...)
}

// remove removes a user by userdel; a missing user is not an error.
func (s *shadow) remove(ctx context.Context, args DeleteArgs) (none virtual.Nothing, err error) {
	now, err := loadFor(args.Root, args.Name)
	if err != nil {
		return none, err
	}
	u, ok := now.userNamed(args.Name)
	if !ok {
		return none, nil
	}
	argv := in(args.Root, "--root", "userdel")
	if args.Remove {
		left, err := s.removeHome(args, u)
		if err != nil {
			return none, err
		}
		if !left { // the mail; it refuses that where another one's home is at the path
			argv = append(argv, "--remove")
		}
	}
	if args.Force {
		argv = append(argv, "--force")
	}
	return none, s.run(ctx, "", append(argv, args.Name)...)
}

// removeHome removes the home before the user: userdel does it the other way round, and
// with the user it is forgotten whose the rest of it is. It reports whether something of
// another one is left at the path.
func (s *shadow) removeHome(args DeleteArgs, u UserInfo) (left bool, err error) {
	if !args.Force {
		if err := idle("/proc", args.Root, u); err != nil {
			return false, err
		}
	}
	if err := removeHome(args.Root, u); err != nil {
		return false, err
	}
	_, err = os.Lstat(filepath.Join("/", args.Root, u.Home))
	return err == nil, nil
}

// rename returns virtual.ErrNotFound for a missing user.
// Files keep their owner, which is a number.
func (s *shadow) rename(ctx context.Context, args RenameArgs) (none virtual.Nothing, err error) {
	now, err := loadFor(args.Root, args.Name, args.NewName)
	if err != nil {
		return none, err
	}
	if _, ok := now.userNamed(args.Name); !ok {
		return none, virtual.ErrNotFound
	}
	return none, s.run(ctx, "", append(in(args.Root, "--root", "usermod"), "--login", args.NewName, args.Name)...)
}

// addGroup makes a group, or gives it the wanted number.
// A group that is right already costs no run of a tool.
func (s *shadow) addGroup(ctx context.Context, args AddGroupArgs) (none virtual.Nothing, err error) {
	now, err := loadFor(args.Root, args.Name)
	if err != nil {
		return none, err
	}
	if g, ok := now.groupNamed(args.Name); ok {
		if args.GID == nil || *args.GID == g.GID {
			return none, nil
		}
		return s.changeGroup(ctx, ChangeGroupArgs{args.Name, *args.GID, args.Unique, args.Where})
	}
	argv := in(args.Root, "--root", "groupadd")
	if args.System {
		argv = append(argv, "--system")
	}
	argv = append(argv, gidOptions(args.GID, args.Unique)...)
	return none, s.run(ctx, "", append(argv, args.Name)...)
}

// gidOptions returns the options for the number of a group; none where no number is given.
func gidOptions(gid *int, unique bool) (argv []string) {
	numberOption(&argv, "--gid", gid)
	if gid != nil && !unique {
		argv = append(argv, "--non-unique")
	}
	return argv
}

// changeGroup gives a group another number. A missing group is the error of groupmod.
func (s *shadow) changeGroup(ctx context.Context, args ChangeGroupArgs) (none virtual.Nothing, err error) {
	if err := CheckName(args.Name); err != nil {
		return none, err
	}
	argv := append(in(args.Root, "--root", "groupmod"), gidOptions(&args.GID, args.Unique)...)
	return none, s.run(ctx, "", append(argv, args.Name)...)
}

// removeGroup leaves it to groupdel to refuse the primary group of a user.
// A missing group is right, and then no tool runs.
func (s *shadow) removeGroup(ctx context.Context, args NameArgs) (none virtual.Nothing, err error) {
	now, err := loadFor(args.Root, args.Name)
	if err != nil {
		return none, err
	}
	if _, ok := now.groupNamed(args.Name); !ok {
		return none, nil
	}
	return none, s.run(ctx, "", append(in(args.Root, "--root", "groupdel"), args.Name)...)
}

// gpasswd changes who is in a group.
// It blocks for the lock of the databases, as long as gpasswd does.
func (s *shadow) gpasswd(ctx context.Context, root, group, option, users string) (virtual.Nothing, error) {
	return virtual.Nothing{}, s.run(ctx, "", append(in(root, "--root", "gpasswd"), option, users, group)...)
}

// inGroupOf reports whether a user is in a group that is there.
// It reads the files anew and takes no lock.
func inGroupOf(args MemberArgs) (bool, error) {
	now, err := loadFor(args.Root, args.Name, args.Username)
	if err != nil {
		return false, err
	}
	g, ok := now.groupNamed(args.Name)
	if !ok {
		return false, noGroup(args.Name)
	}
	return slices.Contains(g.Members, args.Username), nil
}

// addMember puts a user into a group. A member stays one, and then no tool runs.
func (s *shadow) addMember(ctx context.Context, args MemberArgs) (virtual.Nothing, error) {
	if is, err := inGroupOf(args); err != nil || is {
		return virtual.Nothing{}, err
	}
	return s.gpasswd(ctx, args.Root, args.Name, "--add", args.Username)
}

// removeMember takes a user out of a group. If the user is not in it, no tool runs.
func (s *shadow) removeMember(ctx context.Context, args MemberArgs) (virtual.Nothing, error) {
	if is, err := inGroupOf(args); err != nil || !is {
		return virtual.Nothing{}, err
	}
	return s.gpasswd(ctx, args.Root, args.Name, "--delete", args.Username)
}

// members sets the whole list by one call, so no moment has a part of it.
// All names are checked before the tool runs.
func (s *shadow) members(ctx context.Context, args MembersArgs) (virtual.Nothing, error) {
	if err := checkNames(append(args.Members, args.Name)...); err != nil {
		return virtual.Nothing{}, err
	}
	return s.gpasswd(ctx, args.Root, args.Name, "--members", strings.Join(args.Members, ","))
}
