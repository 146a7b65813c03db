package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"strconv"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/planning"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// ids remembers the numbers of users and groups for as long as the files
// that tell them do not change. The zero value is ready; a nil one remembers
// nothing.
type ids struct {
	idMu   sync.Mutex
	users  table
	groups table
}

type table struct {
	stat atomicfile.Stat
	ids  map[string]int
}

func (t *table) find(file, name string, look func(string) (int, error)) (int, error) {
	st, _ := atomicfile.Follow(file)
	if t.ids == nil || st != t.stat {
		t.stat, t.ids = st, map[string]int{}
	}
	if id, ok := t.ids[name]; ok {
		return id, nil
	}
	id, err := look(name)
	if err == nil {
		t.ids[name] = id
	}
	return id, err
}

func number(name string) (int, bool) {
	if name == "" {
		return -1, true
	}
	n, err := strconv.ParseUint(name, 10, 32)
	return int(n), err == nil && n < 1<<32-1
}

// Planned is the number of a user or a group that is not there yet, and that another resource of a plan makes. Nothing has it.
const Planned = 1<<32 - 2

// Owners returns the numbers of a user and of a group, by name or number; -1 for an empty name. s may be nil.
func (s *Shared) Owners(h engine.Host, owner, group string) (uid, gid int, err error) {
	uid, err = s.UID(owner)
	if err != nil && planning.Makes(h, "user", owner) {
		uid, err = Planned, nil
	}
	gid, gerr := s.GID(group)
	if gerr != nil && PlansGroup(h, group) {
		gid, gerr = Planned, nil
	}
	return uid, gid, errors.Join(err, gerr)
}

// PlansGroup reports whether another resource of a plan makes a group. A user may bring the group of its name.
func PlansGroup(h engine.Host, group string) bool {
	return planning.Makes(h, "group", group) || planning.Makes(h, "user", group)
}

func lookupUser(name string) (int, error) {
	u, err := user.Lookup(name)
	if _, ok := errors.AsType[user.UnknownUserError](err); ok {
		return -1, fmt.Errorf("the user %q does not exist", name)
	}
	if err != nil {
		return -1, fmt.Errorf("looking up the user %q: %w", name, err)
	}
	return strconv.Atoi(u.Uid)
}

func lookupGroup(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if _, ok := errors.AsType[user.UnknownGroupError](err); ok {
		return -1, fmt.Errorf("the group %q does not exist", name)
	}
	if err != nil {
		return -1, fmt.Errorf("looking up the group %q: %w", name, err)
	}
	return strconv.Atoi(g.Gid)
}

// UserName returns the name of a user, in the notation of like: a number if
// that is one, or if there is no name.
func UserName(id uint32, like string) string {
	num := strconv.FormatUint(uint64(id), 10)
	if _, ok := number(like); ok && like != "" {
		return num
	}
	if u, err := user.LookupId(num); err == nil {
		return u.Username
	}
	return num
}

// GroupName is UserName for groups.
func GroupName(id uint32, like string) string {
	num := strconv.FormatUint(uint64(id), 10)
	if _, ok := number(like); ok && like != "" {
		return num
	}
	if g, err := user.LookupGroupId(num); err == nil {
		return g.Name
	}
	return num
}

// Perm returns the permissions that a mode makes of old ones; -1 for the
// empty mode.
func Perm(m schema.Mode, old uint32, folder bool) (int, error) {
	if m == "" {
		return -1, nil
	}
	now, err := m.Apply(ToMode(old), folder)
	return int(FromMode(now)), err
}

var special = []struct {
	bit  uint32
	mode fs.FileMode
}{{0o4000, fs.ModeSetuid}, {0o2000, fs.ModeSetgid}, {0o1000, fs.ModeSticky}}

func ToMode(perm uint32) fs.FileMode {
	m := fs.FileMode(perm) & fs.ModePerm
	for _, s := range special {
		if perm&s.bit != 0 {
			m |= s.mode
		}
	}
	return m
}

func FromMode(m fs.FileMode) uint32 {
	perm := uint32(m.Perm())
	for _, s := range special {
		if m&s.mode != 0 {
			perm |= s.bit
		}
	}
	return perm
}

func Octal(perm uint32) string { return fmt.Sprintf("%04o", perm) }

// CopiedMode returns the mode that gives a copy the permissions of its original,
// and leaves alone the setgid bit that a folder gets from the one above.
func CopiedMode(st atomicfile.Stat) schema.Mode {
	if !st.IsDir() {
		return schema.Mode(Octal(st.Perm() & 0o777))
	}
	text := ToMode(st.Perm() & 0o777).String()[1:] // rwxr-xr-x
	letters := func(class string) string { return strings.ReplaceAll(class, "-", "") }
	return schema.Mode("u=" + letters(text[:3]) + ",g=" + letters(text[3:6]) + ",o=" + letters(text[6:]))
}
