package backends

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// editor edits the databases itself, with their lock held, by a clock.
// It has no other state, so any number of goroutines may use it; the lock of the databases lets one
// of them in at a time.
type editor struct{ clock clock.Clock }

// today returns the number of days since 1970, as the databases count them.
func (e editor) today() int { return int(e.clock.Now().Unix() / int64(dayLong/time.Second)) }

// edit changes the databases of a system, all or none but for a crash: what change
// makes is written only if it returns no error. It blocks for the lock, up to
// lockWait, and ends early with ctx. change gets a state that was read under the
// lock, and may also alter homes. A crash between two files leaves an order that
// readers can bear.
func (e editor) edit(ctx context.Context, root string, change func(*state) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	etc, err := folder(root)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, e.clock, etc)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := load(root)
	if err != nil {
		return err
	}
	if err := change(s); err != nil {
		return err
	}
	return s.write(atomicfile.At(etc))
}

// modes are the modes of new databases. A present database keeps its own.
var modes = [databases]int{0o644, 0o640, 0o640, 0o644}

// write writes the databases that have changed, each by a rename. A shadow that
// could not be read is an error only if it would have to be written.
func (s *state) write(dir atomicfile.Dir) error {
	for i, f := range s.files {
		text := f.table.String()
		if text == f.text {
			continue
		}
		if f.err != nil {
			return f.err
		}
		if err := fileIn(dir, fileNames[i], modes[i]).Write(text, f.stat); err != nil {
			return err
		}
	}
	return nil
}

// addUser makes a user. Attributes that are not given get the system's defaults. The
// user cannot log in until a password is given. It fails for a damaged line of that
// name, which a person has to look at.
func (e editor) addUser(s *state, args AddArgs) error {
	if s.passwd().get(args.Name) != nil {
		return fmt.Errorf("there is a line of %s in passwd, and it is damaged", args.Name)
	}
	uid, err := s.freeUID(args)
	if err != nil {
		return err
	}
	gid, err := s.primary(args, uid)
	if err != nil {
		return err
	}
	shell := args.Shell
	if shell == nil {
		shell = new("/bin/sh")
	}
	s.passwd().put([]string{args.Name, "x", strconv.Itoa(uid), strconv.Itoa(gid), "", homeOf(args.Name, args.Attributes), *shell})
	s.shadow().put(e.newShadow(s, args))
	a := args.Attributes
	a.UID, a.GID, a.Group, a.Home, a.Shell = nil, nil, nil, nil, nil
	return e.setUser(s, args.Name, a)
}

// newShadow is the line of a user without any login. Accounts of the system get no
// ageing of passwords, as the tools do it.
func (e editor) newShadow(s *state, args AddArgs) []string {
	row := make([]string, shadowFields)
	row[0], row[shadowHash], row[shadowChanged] = args.Name, "!", strconv.Itoa(e.today())
	if !args.System {
		d := readDefs(s.root)
		row[shadowMin], row[shadowMax], row[shadowWarn] = d["PASS_MIN_DAYS"], d["PASS_MAX_DAYS"], d["PASS_WARN_AGE"]
	}
	return row
}

// primary returns the number of the primary group of a new user, and makes a group
// of its name if there is to be one. The group has the number of the user if that is
// free among groups. Without a group of his own, and without any that was given, the
// number is 100, as useradd has it.
func (s *state) primary(args AddArgs, uid int) (int, error) {
	if args.Group == nil && args.GID == nil && args.UserGroup {
		if _, ok := s.groupNamed(args.Name); !ok {
			gid := uid
			if s.hasGID(gid) {
				var err error
				if gid, err = s.freeGID(AddGroupArgs{System: args.System}); err != nil {
					return 0, err
				}
			}
			s.putGroup(args.Name, gid)
			return gid, nil
		}
		args.Group = &args.Name
	}
	return s.gidOf(args.Attributes, 100)
}

// gidOf returns the number of the primary group that is wanted. Without a group in
// the attributes it is otherwise. A group that is not there is an error, and is
// never made here.
func (s *state) gidOf(a Attributes, otherwise int) (int, error) {
	switch {
	case a.Group != nil:
		g, ok := s.groupNamed(*a.Group)
		if !ok {
			return 0, noGroup(*a.Group)
		}
		return g.GID, nil
	case a.GID != nil && !s.hasGID(*a.GID):
		return 0, fmt.Errorf("there is no group of the number %d", *a.GID)
	case a.GID != nil:
		return *a.GID, nil
	}
	return otherwise, nil
}

// noGroup is the error of a missing group, in the same words from each backend.
func noGroup(name string) error { return fmt.Errorf("there is no group %s", name) }

// setUser sets the given attributes of a user, and leaves all others.
// It checks the numbers and groups before it changes the tables. A user that is not there is an error.
func (e editor) setUser(s *state, name string, a Attributes) error {
	fields := s.passwd().get(name)
	u, ok := s.userNamed(name)
	if !ok {
		return fmt.Errorf("there is no user %s", name)
	}
	if a.UID != nil && *a.UID != u.UID {
		if a.Unique && s.hasUID(*a.UID) {
			return fmt.Errorf("the number %d is that of another user", *a.UID)
		}
		fields[passwdUID] = strconv.Itoa(*a.UID)
	}
	gid, err := s.gidOf(a, u.GID)
	if err != nil {
		return err
	}
	fields[passwdGID] = strconv.Itoa(gid)
	set(fields, passwdHome, a.Home)
	set(fields, passwdShell, a.Shell)
	set(fields, passwdComment, a.Comment)
	if a.Groups != nil {
		if err := s.setGroups(name, *a.Groups, a.Append); err != nil {
			return err
		}
	}
	if err := e.setShadow(s, fields, a); err != nil {
		return err
	}
	if !slices.Equal(fields, s.passwd().get(name)) {
		s.passwd().put(fields)
	}
	return nil
}

// set sets a field, unless nothing is given for it.
// The caller has checked the text.
func set(fields []string, i int, to *string) {
	if to != nil {
		fields[i] = *to
	}
}

// setNumber sets a field to a number, unless nothing is given for it.
func setNumber(fields []string, i int, to *int) {
	if to != nil {
		fields[i] = strconv.Itoa(*to)
	}
}

// setShadow changes what shadow has of a user. A user without a line there gets one,
// and his password leaves passwd. The day of the last change is set with a new hash
// only, since an age counts from it.
func (e editor) setShadow(s *state, fields []string, a Attributes) error {
	if a.Password == nil && a.Expires == nil && a.MinAge == nil && a.MaxAge == nil && a.WarnDays == nil {
		return nil
	}
	old := s.shadow().get(fields[0])
	row := append(slices.Clone(old), make([]string, max(0, shadowFields-len(old)))...)
	if old == nil {
		row[0], row[shadowHash], fields[passwdPassword] = fields[0], fields[passwdPassword], "x"
	}
	if a.Password != nil && row[shadowHash] != a.Password.Reveal() {
		row[shadowHash], row[shadowChanged] = a.Password.Reveal(), strconv.Itoa(e.today())
	}
	if a.Expires != nil {
		row[shadowExpires] = ""
		if *a.Expires != "" {
			day, err := dayOf(*a.Expires)
			if err != nil {
				return err
			}
			row[shadowExpires] = strconv.Itoa(day)
		}
	}
	setNumber(row, shadowMin, a.MinAge)
	setNumber(row, shadowMax, a.MaxAge)
	setNumber(row, shadowWarn, a.WarnDays)
	if !slices.Equal(row, old) {
		s.shadow().put(row)
	}
	return nil
}

// setGroups puts a user into groups, and out of all others unless they are kept. All
// names are checked before the first group is changed.
func (s *state) setGroups(user string, want []string, keep bool) error {
	for _, name := range want {
		if _, ok := s.groupNamed(name); !ok {
			return noGroup(name)
		}
	}
	for _, g := range s.groups() {
		is, should := slices.Contains(g.Members, user), slices.Contains(want, g.Name)
		if is != should && (should || !keep) {
			s.setMember(g.Name, user, should)
		}
	}
	return nil
}

// setMember puts a user into a group or out of it. Where the group has a line in
// gshadow, that has the same. The order of the other members stays.
func (s *state) setMember(group, user string, in bool) {
	for _, i := range []int{inGroup, inGshadow} {
		t := s.files[i].table
		fields := t.get(group)
		if len(fields) != groupFields {
			continue
		}
		members := slices.DeleteFunc(list(fields[groupMembers]), func(m string) bool { return m == user })
		if in {
			members = append(members, user)
		}
		if text := strings.Join(members, ","); text != fields[groupMembers] {
			fields[groupMembers] = text
			t.put(fields)
		}
	}
}

// removeUser removes a user from everywhere, and the group of his name if no other
// user has it. That is what userdel does under USERGROUPS_ENAB. The home is not
// touched here.
func (s *state) removeUser(u UserInfo) {
	s.passwd().remove(u.Name)
	s.shadow().remove(u.Name)
	for _, g := range s.groups() {
		if slices.Contains(g.Members, u.Name) {
			s.setMember(g.Name, u.Name, false)
		}
	}
	g, ok := s.groupNamed(u.Name)
	if ok && g.GID == u.GID && len(g.Members) == 0 && s.primaryOf(g.GID) == "" {
		s.removeGroup(g.Name)
	}
}

// primaryOf returns a user whose primary group has this number, or nothing.
// It reads all lines of passwd, since no index has them by group.
func (s *state) primaryOf(gid int) string {
	for fields := range s.passwd().rows() {
		if n, ok := number(fields, passwdGID); ok && n == gid {
			return fields[0]
		}
	}
	return ""
}

// renameUser gives a user another name in all databases. The home and the user's own
// group keep theirs.
// A user of the new name is an error, and then nothing has changed.
func (s *state) renameUser(name, to string) error {
	if s.passwd().get(to) != nil {
		return fmt.Errorf("there is a user %s", to)
	}
	for _, g := range s.groups() {
		if slices.Contains(g.Members, name) {
			s.setMember(g.Name, name, false)
			s.setMember(g.Name, to, true)
		}
	}
	s.passwd().rename(name, to)
	s.shadow().rename(name, to)
	return nil
}

// putGroup makes a group. A line in gshadow is made only where that file is there.
func (s *state) putGroup(name string, gid int) {
	s.group().put([]string{name, "x", strconv.Itoa(gid), ""})
	if s.files[inGshadow].stat != nil {
		s.files[inGshadow].table.put([]string{name, "!", "", ""})
	}
}

// removeGroup removes a group from both files. Whether it is in use, the caller has
// checked.
// A missing line in one of them is right.
func (s *state) removeGroup(name string) {
	s.group().remove(name)
	s.files[inGshadow].table.remove(name)
}

// addGroup makes a group that is not there. A damaged line of that name is an error,
// since it would become a second one.
func (s *state) addGroup(args AddGroupArgs) error {
	if s.group().get(args.Name) != nil {
		return fmt.Errorf("there is a line of %s in group, and it is damaged", args.Name)
	}
	gid, err := s.freeGID(args)
	if err == nil {
		s.putGroup(args.Name, gid)
	}
	return err
}

// setGID gives a group another number. Users with it as their primary group follow,
// while files keep the old number.
func (s *state) setGID(args ChangeGroupArgs) error {
	if args.Unique && s.hasGID(args.GID) {
		return fmt.Errorf("the number %d is that of another group", args.GID)
	}
	fields := s.group().get(args.Name)
	old := fields[groupGID]
	fields[groupGID] = strconv.Itoa(args.GID)
	s.group().put(fields)
	for row := range s.passwd().rows() { // users with it as their primary group keep it
		if len(row) == passwdFields && row[passwdGID] == old {
			row[passwdGID] = fields[groupGID]
			s.passwd().put(row)
		}
	}
	return nil
}
