package resources

import (
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"strconv"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// fileIDs remembers the numbers of users and groups for as long as the files
// that tell them do not change. The zero value is ready; a nil one remembers
// nothing.
type fileIDs struct {
	idMu   sync.Mutex
	users  fileTable
	groups fileTable
}

type fileTable struct {
	stat atomicfile.Stat
	ids  map[string]int
}

func (t *fileTable) find(file, name string, look func(string) (int, error)) (int, error) {
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

// uid returns the number of a user by name or number; -1 for the empty name.
func (s *fileShared) uid(name string) (int, error) {
	if id, ok := fileNumber(name); ok {
		return id, nil
	}
	if s == nil {
		return fileLookupUser(name)
	}
	s.idMu.Lock()
	defer s.idMu.Unlock()
	return s.users.find("/etc/passwd", name, fileLookupUser)
}

// gid returns the number of a group by name or number; -1 for the empty name.
func (s *fileShared) gid(name string) (int, error) {
	if id, ok := fileNumber(name); ok {
		return id, nil
	}
	if s == nil {
		return fileLookupGroup(name)
	}
	s.idMu.Lock()
	defer s.idMu.Unlock()
	return s.groups.find("/etc/group", name, fileLookupGroup)
}

func fileNumber(name string) (int, bool) {
	if name == "" {
		return -1, true
	}
	n, err := strconv.ParseUint(name, 10, 32)
	return int(n), err == nil && n < 1<<32-1
}

func fileLookupUser(name string) (int, error) {
	u, err := user.Lookup(name)
	if _, ok := errors.AsType[user.UnknownUserError](err); ok {
		return -1, fmt.Errorf("the user %q does not exist", name)
	}
	if err != nil {
		return -1, fmt.Errorf("looking up the user %q: %w", name, err)
	}
	return strconv.Atoi(u.Uid)
}

func fileLookupGroup(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if _, ok := errors.AsType[user.UnknownGroupError](err); ok {
		return -1, fmt.Errorf("the group %q does not exist", name)
	}
	if err != nil {
		return -1, fmt.Errorf("looking up the group %q: %w", name, err)
	}
	return strconv.Atoi(g.Gid)
}

// fileUserName returns the name of a user, in the notation of like: a number if
// that is one, or if there is no name.
func fileUserName(id uint32, like string) string {
	num := strconv.FormatUint(uint64(id), 10)
	if _, ok := fileNumber(like); ok && like != "" {
		return num
	}
	if u, err := user.LookupId(num); err == nil {
		return u.Username
	}
	return num
}

// fileGroupName is fileUserName for groups.
func fileGroupName(id uint32, like string) string {
	num := strconv.FormatUint(uint64(id), 10)
	if _, ok := fileNumber(like); ok && like != "" {
		return num
	}
	if g, err := user.LookupGroupId(num); err == nil {
		return g.Name
	}
	return num
}

// filePerm returns the permissions that a mode makes of old ones; -1 for the
// empty mode.
func filePerm(m schema.Mode, old uint32, folder bool) (int, error) {
	if m == "" {
		return -1, nil
	}
	now, err := m.Apply(fileToMode(old), folder)
	return int(fileFromMode(now)), err
}

var fileSpecial = []struct {
	bit  uint32
	mode fs.FileMode
}{{0o4000, fs.ModeSetuid}, {0o2000, fs.ModeSetgid}, {0o1000, fs.ModeSticky}}

func fileToMode(perm uint32) fs.FileMode {
	m := fs.FileMode(perm) & fs.ModePerm
	for _, s := range fileSpecial {
		if perm&s.bit != 0 {
			m |= s.mode
		}
	}
	return m
}

func fileFromMode(m fs.FileMode) uint32 {
	perm := uint32(m.Perm())
	for _, s := range fileSpecial {
		if m&s.mode != 0 {
			perm |= s.bit
		}
	}
	return perm
}

func fileOctal(perm uint32) string { return fmt.Sprintf("%04o", perm) }

// fileCopied returns the mode that gives a copy the permissions of its original,
// and leaves alone the setgid bit that a folder gets from the one above.
func fileCopied(st atomicfile.Stat) schema.Mode {
	if !st.IsDir() {
		return schema.Mode(fileOctal(st.Perm() & 0o777))
	}
	text := fileToMode(st.Perm() & 0o777).String()[1:] // rwxr-xr-x
	letters := func(class string) string { return strings.ReplaceAll(class, "-", "") }
	return schema.Mode("u=" + letters(text[:3]) + ",g=" + letters(text[3:6]) + ",o=" + letters(text[6:]))
}

// What copy_mode can be beside a mode.
const (
	copySource = "source"
	copyNew    = "new"
)

// copyMode returns an error if copy_mode makes no sense.
func (r *FileRes) copyMode() error {
	switch {
	case r.CopyMode == "":
		return nil
	case r.Source == "" || !r.isFolder() || !r.Recurse:
		return errors.New("copy_mode is for what is copied: it needs a source folder and recurse: true")
	case r.CopyMode == copySource, r.CopyMode == copyNew:
		return nil
	}
	if err := schema.Mode(r.CopyMode).Validate(); err != nil {
		return fmt.Errorf("copy_mode: it is source, new or a mode: %w", err)
	}
	return nil
}

// copiedMode returns the mode of a copy.
func (c *fileRun) copiedMode(st atomicfile.Stat) schema.Mode {
	switch c.CopyMode {
	case "", copySource:
		return fileCopied(st)
	case copyNew:
		return ""
	}
	if bits, err := strconv.ParseUint(c.CopyMode, 8, 32); err == nil && st.IsDir() {
		return schema.Mode(fileOctal(uint32(bits | bits&0o444>>2)))
	}
	return schema.Mode(c.CopyMode)
}
