package backends

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/textpart"
)

// The databases, in the order in which they are written: a reader in between finds no user without
// a group or a password.
const (
	inGroup = iota
	inGshadow
	inShadow
	inPasswd
	databases
)

// fileNames are the files of the databases, by their constants.
var fileNames = [databases]string{"group", "gshadow", "shadow", "passwd"}

// The fields of the databases.
const (
	passwdPassword, passwdUID, passwdGID, passwdComment, passwdHome, passwdShell, passwdFields = 1, 2, 3, 4, 5, 6, 7
	groupGID, groupMembers, groupFields                                                        = 2, 3, 4
	shadowHash, shadowChanged, shadowMin, shadowMax, shadowWarn, shadowExpires, shadowFields   = 1, 2, 3, 4, 5, 7, 9
)

// maxDatabase bounds a database that is read. In bytes; a larger file is an error,
// and is not read in part.
const maxDatabase = 256 << 20

// source is a database as it was read. The text is kept to find the changes at the end, and stat to see whether another program has written meanwhile.
type source struct {
	table *table
	text  string
	stat  *atomicfile.Stat // nil if there was no file
	err   error            // the reason why a file for root alone could not be read
}

// state is all databases of a system as they were read, or as they should be. It
// lives for one call, and belongs to that goroutine.
// Changes are made in its tables only; edit writes them, or drops them after an error.
type state struct {
	root  string
	files [databases]source
}

// folder is where the databases of a system are. The folder of an image is not a
// link, which could lead to the databases of this machine, and no other user can put
// another one in its place: so the tools may go by its path. It is looked at anew by
// each call, since an image can be exchanged.
func folder(root string) (string, error) {
	if root == "" || filepath.Clean(root) == "/" {
		return "/etc", nil
	}
	etc, err := safepath.System().SteadyName(filepath.Join("/", root, "etc"))
	if err != nil {
		return "", fmt.Errorf("root: %w", err)
	}
	st, err := os.Lstat(etc)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("%s is no folder", etc)
	}
	return etc, err
}

// load reads each database once. A shadow that may not be read is an error only for
// its readers. Lines that are damaged stay in the tables, and are left out of the
// answers.
func load(root string) (*state, error) {
	etc, err := folder(root)
	if err != nil {
		return nil, err
	}
	s := &state{root: root}
	for i, name := range fileNames {
		f := &s.files[i]
		f.text, f.stat, f.err = fileIn(atomicfile.At(etc), name, -1).Read()
		secret := i == inShadow || i == inGshadow
		if f.err != nil && (!secret || !errors.Is(f.err, os.ErrPermission)) {
			return nil, f.err
		}
		f.table = parseTable(f.text)
	}
	return s, nil
}

// fileIn is a file of the folder; a missing one is made with the mode. The owner is
// left to the system. A mode of -1 is for files that are only read.
// Its reading is bounded by maxDatabase.
func fileIn(dir atomicfile.Dir, name string, mode int) textpart.File {
	return textpart.File{Dir: dir, Name: name, Max: maxDatabase, Mode: mode, UID: -1, GID: -1}
}

// passwd, group and shadow are the tables by their names. They are the state's own.
func (s *state) passwd() *table { return s.files[inPasswd].table }
func (s *state) group() *table  { return s.files[inGroup].table }
func (s *state) shadow() *table { return s.files[inShadow].table }

// number reads a field; false if it is none. Numbers have 32 bits, as in the kernel.
// A sign or a blank makes the field no number.
func number(fields []string, i int) (int, bool) {
	if i >= len(fields) {
		return 0, false
	}
	n, err := strconv.ParseUint(fields[i], 10, 32)
	return int(n), err == nil
}

// optional is a field that may be empty.
// It is nil for an empty field, and for a damaged one.
func optional(fields []string, i int) *int {
	if n, ok := number(fields, i); ok {
		return &n
	}
	return nil
}

// groupInfo reads a line of group; false for a damaged one.
func groupInfo(fields []string) (GroupInfo, bool) {
	gid, ok := number(fields, groupGID)
	if !ok || len(fields) != groupFields {
		return GroupInfo{}, false
	}
	return GroupInfo{Name: fields[0], GID: gid, Members: sorted(list(fields[groupMembers]))}, true
}

// list takes names apart that are separated by commas.
// Empty names, as between two commas, are left out.
func list(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ","), func(n string) bool { return n == "" })
}

// sorted returns a sorted copy without repetitions. It is never nil, so that no list reads as unknown.
func sorted(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return slices.Compact(list)
}

// groups returns all groups.
// The order is that of the file. Damaged lines are left out.
func (s *state) groups() []GroupInfo {
	all := []GroupInfo{}
	for fields := range s.group().rows() {
		if g, ok := groupInfo(fields); ok {
			all = append(all, g)
		}
	}
	return all
}

// groupNamed returns a group; false if it is not there.
// A damaged line counts as no group.
func (s *state) groupNamed(name string) (GroupInfo, bool) { return groupInfo(s.group().get(name)) }

// memberships are the names of groups, by user.
type memberships struct {
	named map[int]string      // of the primary group, by its number
	of    map[string][]string // of the other groups, by the name of the user
}

// It is made once for many users, as a search for each would cost the product of
// both tables. The first group of a number counts.
func (s *state) memberships() memberships {
	m := memberships{map[int]string{}, map[string][]string{}}
	for _, g := range s.groups() {
		if _, twice := m.named[g.GID]; !twice {
			m.named[g.GID] = g.Name
		}
		for _, user := range g.Members {
			m.of[user] = append(m.of[user], g.Name)
		}
	}
	return m
}

// users returns all users.
// The order is that of the file. Damaged lines are left out.
func (s *state) users() []UserInfo {
	all, in := []UserInfo{}, s.memberships()
	for fields := range s.passwd().rows() {
		if u, ok := s.userInfo(fields, in); ok {
			all = append(all, u)
		}
	}
	return all
}

// userNamed returns a user; false if it is not there.
// For many users users is cheaper: each call here goes over all groups.
func (s *state) userNamed(name string) (UserInfo, bool) {
	return s.userInfo(s.passwd().get(name), s.memberships())
}

// userInfo reads a line of passwd, and its line of shadow; false for a damaged one.
// in has the groups of all users.
func (s *state) userInfo(fields []string, in memberships) (UserInfo, bool) {
	uid, ok := number(fields, passwdUID)
	gid, ok2 := number(fields, passwdGID)
	if !ok || !ok2 || len(fields) != passwdFields {
		return UserInfo{}, false
	}
	u := UserInfo{
		Name: fields[0], UID: uid, GID: gid, Groups: sorted(in.of[fields[0]]),
		Home: fields[passwdHome], Shell: fields[passwdShell], Comment: fields[passwdComment],
	}
	if name, ok := in.named[gid]; ok {
		u.Group = &name
	}
	s.addSecrets(&u, fields)
	return u, true
}

// addSecrets adds what shadow says, if it can be read; without a line there the
// password is in passwd. Without rights to read shadow the fields stay nil, which
// means unknown.
func (s *state) addSecrets(u *UserInfo, fields []string) {
	if s.files[inShadow].err != nil {
		return
	}
	row := s.shadow().get(u.Name)
	if row == nil {
		u.Password, u.Expires = new(schema.NewSecret(fields[passwdPassword])), new("")
		return
	}
	row = append(row, make([]string, max(0, shadowFields-len(row)))...)
	u.Password, u.Expires = new(schema.NewSecret(row[shadowHash])), new("")
	if n, ok := number(row, shadowExpires); ok {
		*u.Expires = dayText(n)
	}
	u.MinAge, u.MaxAge, u.WarnDays = optional(row, shadowMin), optional(row, shadowMax), optional(row, shadowWarn)
}

// reader has the functions of a backend that only ask. All backends read the same
// files, by Go and not by tools, so they cannot differ in their answers.
type reader struct{ host engine.Host }

// info returns one user, or virtual.ErrNotFound.
// A damaged line counts as no user.
func (reader) info(_ context.Context, args NameArgs) (UserInfo, error) {
	s, err := loadFor(args.Root, args.Name)
	if err != nil {
		return UserInfo{}, err
	}
	u, ok := s.userNamed(args.Name)
	if !ok {
		return u, virtual.ErrNotFound
	}
	return u, nil
}

// loadFor is load for a question about names.
func loadFor(root string, names ...string) (*state, error) {
	if err := checkNames(names...); err != nil {
		return nil, err
	}
	return load(root)
}

// getent returns all users of the files. Users of a directory service are not among
// them.
func (reader) getent(_ context.Context, args AllArgs) ([]UserInfo, error) {
	s, err := load(args.Root)
	if err != nil {
		return nil, err
	}
	return s.users(), nil
}

// listUsers returns the names of all users, sorted.
func (reader) listUsers(_ context.Context, args AllArgs) ([]string, error) {
	s, err := load(args.Root)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, u := range s.users() {
		names = append(names, u.Name)
	}
	return sorted(names), nil
}

// listGroups returns the groups of a user, the primary one included, sorted.
func (r reader) listGroups(ctx context.Context, args NameArgs) ([]string, error) {
	u, err := r.info(ctx, args)
	if err != nil {
		return nil, err
	}
	if u.Group != nil {
		u.Groups = append(u.Groups, *u.Group)
	}
	return sorted(u.Groups), nil
}

// groupInfo returns one group, or virtual.ErrNotFound.
func (reader) groupInfo(_ context.Context, args NameArgs) (GroupInfo, error) {
	s, err := loadFor(args.Root, args.Name)
	if err != nil {
		return GroupInfo{}, err
	}
	g, ok := s.groupNamed(args.Name)
	if !ok {
		return g, virtual.ErrNotFound
	}
	return g, nil
}

// getentGroups returns all groups of the files, in their order.
func (reader) getentGroups(_ context.Context, args AllArgs) ([]GroupInfo, error) {
	s, err := load(args.Root)
	if err != nil {
		return nil, err
	}
	return s.groups(), nil
}

// Watch subscribes to changes of the databases. The names are those of the folders
// of the systems; none for this machine. Tools write a new file and rename it, so
// the paths are watched and not the files.
func (r reader) Watch(ctx context.Context, roots []string) (events.Subscription, error) {
	if len(roots) == 0 {
		roots = []string{""}
	}
	var paths []string
	for _, root := range roots {
		for _, name := range fileNames {
			paths = append(paths, filepath.Join("/", root, "etc", name))
		}
	}
	return r.host.Watch(ctx, paths, events.Options{})
}
