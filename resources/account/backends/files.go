package backends

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

const filesDoc = "The files of the databases themselves, which need no tool: of an image, or of a machine that has none."

// filesUsers is the backend of users. Its priority is the lowest, so it is chosen
// where no tools are, or by name.
func filesUsers() *virtual.Backend {
	b := virtual.Native("files", newFiles, slices.Concat(userQuestions[*files](), []virtual.Method[*files]{
		virtual.Func("add", (*files).add),
		virtual.Func("change", (*files).change),
		virtual.Func("delete", (*files).remove),
		virtual.Func("rename", (*files).rename),
	})...)
	b.Module, b.Doc, b.Watch, b.Priority = "user", filesDoc, virtual.WatchFiles, -100
	return b
}

// filesGroups is the backend of groups, with the same priority.
func filesGroups() *virtual.Backend {
	b := virtual.Native("files", newFiles, slices.Concat(groupQuestions[*files](), []virtual.Method[*files]{
		virtual.Func("add", (*files).addGroup),
		virtual.Func("change", (*files).changeGroup),
		virtual.Func("delete", (*files).removeGroup),
		virtual.Func("adduser", (*files).addMember),
		virtual.Func("deluser", (*files).removeMember),
		virtual.Func("members", (*files).members),
	})...)
	b.Module, b.Doc, b.Watch, b.Priority = "group", filesDoc, virtual.WatchFiles, -100
	return b
}

// files edits the databases itself. It works on images of any system, as it runs
// nothing of them.
type files struct {
	reader
	editor
	proc string // where processes are looked for
}

// newFiles reads nothing: each call reads the files anew, so no answer is older than its question.
func newFiles(_ context.Context, env virtual.Env) (*files, error) {
	return &files{reader{env.Host}, editor{engine.ClockOf(env.Host)}, "/proc"}, nil
}

// asks is the reader behind the functions that only ask.
func (f *files) asks() reader { return f.reader }

// userQuestions are the functions of a backend of users that only ask.
func userQuestions[B interface{ asks() reader }]() []virtual.Method[B] {
	return []virtual.Method[B]{
		question[B]("info", reader.info),
		question[B]("getent", reader.getent),
		question[B]("list_users", reader.listUsers),
		question[B]("list_groups", reader.listGroups),
	}
}

// groupQuestions are the functions of a backend of groups that only ask.
func groupQuestions[B interface{ asks() reader }]() []virtual.Method[B] {
	return []virtual.Method[B]{
		question[B]("info", reader.groupInfo),
		question[B]("getent", reader.getentGroups),
	}
}

// question makes a function of a method of reader.
// It lets three backends share one reader without a copy of each function.
func question[B interface{ asks() reader }, A, R any](name string, f func(reader, context.Context, A) (R, error)) virtual.Method[B] {
	return virtual.Func(name, func(b B, ctx context.Context, args A) (R, error) { return f(b.asks(), ctx, args) })
}

// add makes a user, or changes a user who is there. The home is made after the
// entries: if that fails, the next call of change makes it.
func (f *files) add(ctx context.Context, args AddArgs) (none virtual.Nothing, err error) {
	if err := checkAttributes(args.Name, args.Attributes); err != nil {
		return none, err
	}
	var made *UserInfo
	err = f.edit(ctx, args.Root, func(s *state) error {
		if _, ok := s.userNamed(args.Name); ok {
			return f.setUser(s, args.Name, args.Attributes)
		}
		if err := f.addUser(s, args); err != nil {
			return err
		}
		u, _ := s.userNamed(args.Name)
		made = &u
		return nil
	})
	if err == nil && made != nil && args.CreateHome {
		err = makeHome(args.Root, *made)
	}
	return none, err
}

// change alters a user under the lock. The home is moved and given before the
// entries are written. After a crash the entries still have the old numbers, so the
// rest of the work is found.
func (f *files) change(ctx context.Context, args ChangeArgs) (none virtual.Nothing, err error) {
	if err := checkAttributes(args.Name, args.Attributes); err != nil {
		return none, err
	}
	var after UserInfo
	err = f.edit(ctx, args.Root, func(s *state) error {
		was, _ := s.userNamed(args.Name)
		if err := f.setUser(s, args.Name, args.Attributes); err != nil {
			return err
		}
		after, _ = s.userNamed(args.Name)
		if after.UID != was.UID || after.Home != was.Home {
			if err := f.idle(args.Root, was); err != nil {
				return err
			}
		}
		if args.MoveHome && after.Home != was.Home && s.movable(was, after.Home) {
			if err := moveHome(args.Root, was.Home, after.Home); err != nil {
				return err
			}
		}
		return giveHome(args.Root, was, after)
	})
	if err == nil && args.CreateHome {
		err = makeHome(args.Root, after)
	}
	return none, err
}

// remove removes the home and then the entries, under the lock. A missing user is
// not an error.
func (f *files) remove(ctx context.Context, args DeleteArgs) (none virtual.Nothing, err error) {
	if err := CheckName(args.Name); err != nil {
		return none, err
	}
	return none, f.edit(ctx, args.Root, func(s *state) error {
		u, ok := s.userNamed(args.Name)
		if !ok {
			return nil
		}
		if !args.Force {
			if err := f.idle(args.Root, u); err != nil {
				return err
			}
		}
		if args.Remove {
			if err := removeHome(args.Root, u); err != nil {
				return err
			}
		}
		s.removeUser(u)
		return nil
	})
}

// idle refuses a user of this machine that has processes.
func (f *files) idle(root string, u UserInfo) error { return idle(f.proc, root, u) }

// Of an image nothing is asked: its numbers mean other users here.
// The error names a process, so that a person can end it.
func idle(proc, root string, u UserInfo) error {
	if root != "" {
		return nil
	}
	pid, err := processOf(proc, u.UID)
	if err == nil && pid != 0 {
		err = fmt.Errorf("the user %s is in use: process %d runs as %d", u.Name, pid, u.UID)
	}
	return err
}

// rename returns virtual.ErrNotFound for a missing user.
// It holds the lock of the databases while it reads and writes.
func (f *files) rename(ctx context.Context, args RenameArgs) (none virtual.Nothing, err error) {
	if err := checkNames(args.Name, args.NewName); err != nil {
		return none, err
	}
	return none, f.edit(ctx, args.Root, func(s *state) error {
		if _, ok := s.userNamed(args.Name); !ok {
			return virtual.ErrNotFound
		}
		return s.renameUser(args.Name, args.NewName)
	})
}

// addGroup makes a group, or gives it the wanted number.
// It holds the lock of the databases while it reads and writes.
func (f *files) addGroup(ctx context.Context, args AddGroupArgs) (none virtual.Nothing, err error) {
	if err := CheckName(args.Name); err != nil {
		return none, err
	}
	return none, f.edit(ctx, args.Root, func(s *state) error {
		g, ok := s.groupNamed(args.Name)
		switch {
		case !ok:
			return s.addGroup(args)
		case args.GID != nil && *args.GID != g.GID:
			return s.setGID(ChangeGroupArgs{Name: args.Name, GID: *args.GID, Unique: args.Unique})
		}
		return nil
	})
}

// onGroup changes a group that is there.
// A missing group is an error, and change is not called.
func (f *files) onGroup(ctx context.Context, root, name string, change func(*state, GroupInfo) error) (virtual.Nothing, error) {
	if err := CheckName(name); err != nil {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, f.edit(ctx, root, func(s *state) error {
		g, ok := s.groupNamed(name)
		if !ok {
			return noGroup(name)
		}
		return change(s, g)
	})
}

// changeGroup gives a group another number; the same number is nothing to do.
func (f *files) changeGroup(ctx context.Context, args ChangeGroupArgs) (virtual.Nothing, error) {
	return f.onGroup(ctx, args.Root, args.Name, func(s *state, g GroupInfo) error {
		if g.GID == args.GID {
			return nil
		}
		return s.setGID(args)
	})
}

// removeGroup refuses the primary group of a user, and names one of them.
func (f *files) removeGroup(ctx context.Context, args NameArgs) (none virtual.Nothing, err error) {
	if err := CheckName(args.Name); err != nil {
		return none, err
	}
	return none, f.edit(ctx, args.Root, func(s *state) error {
		g, ok := s.groupNamed(args.Name)
		if !ok {
			return nil
		}
		if user := s.primaryOf(g.GID); user != "" {
			return fmt.Errorf("the group %s is in use: it is the primary group of %s", g.Name, user)
		}
		s.removeGroup(args.Name)
		return nil
	})
}

// addMember puts a user into a group and keeps the others.
func (f *files) addMember(ctx context.Context, args MemberArgs) (none virtual.Nothing, err error) {
	return f.onMembers(ctx, args.Root, args.Name, []string{args.Username}, true)
}

// removeMember takes a user out of a group. The user need not exist any more.
func (f *files) removeMember(ctx context.Context, args MemberArgs) (none virtual.Nothing, err error) {
	if err := CheckName(args.Username); err != nil {
		return none, err
	}
	return f.onGroup(ctx, args.Root, args.Name, func(s *state, _ GroupInfo) error {
		s.setMember(args.Name, args.Username, false)
		return nil
	})
}

// members makes these users, and no others, the members of a group.
func (f *files) members(ctx context.Context, args MembersArgs) (virtual.Nothing, error) {
	return f.onMembers(ctx, args.Root, args.Name, args.Members, false)
}

// onMembers puts users into a group, and all others out of it unless they are kept.
// All users that are wanted have to be there; the error names each missing one.
// Users who leave the group need not be.
func (f *files) onMembers(ctx context.Context, root, name string, want []string, keep bool) (virtual.Nothing, error) {
	if err := checkNames(want...); err != nil {
		return virtual.Nothing{}, err
	}
	return f.onGroup(ctx, root, name, func(s *state, g GroupInfo) error {
		var errs []error
		for _, user := range want {
			if s.passwd().get(user) == nil {
				errs = append(errs, fmt.Errorf("there is no user %s", user))
			}
		}
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
		for _, user := range g.Members {
			if !keep && !slices.Contains(want, user) {
				s.setMember(name, user, false)
			}
		}
		for _, user := range want {
			if !slices.Contains(g.Members, user) {
				s.setMember(name, user, true)
			}
		}
		return nil
	})
}
