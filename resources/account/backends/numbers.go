package backends

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// hasUID and hasGID report whether a number is taken, by a damaged line too as far
// as its field can be read.
// They read the whole table at each call.
func (s *state) hasUID(uid int) bool { return numbers(s.passwd(), passwdUID)[uid] }
func (s *state) hasGID(gid int) bool { return numbers(s.group(), groupGID)[gid] }

// freeUID returns the number of a new user. A number that is given is only checked.
// For a user with a group of his own it is free among groups too, so that both can
// be alike.
func (s *state) freeUID(args AddArgs) (int, error) {
	if args.UID != nil {
		if args.Unique && s.hasUID(*args.UID) {
			return 0, fmt.Errorf("the number %d is that of another user", *args.UID)
		}
		return *args.UID, nil
	}
	taken := numbers(s.passwd(), passwdUID)
	if args.UserGroup && args.GID == nil && args.Group == nil {
		maps.Copy(taken, numbers(s.group(), groupGID))
	}
	return s.free("UID", args.System, taken)
}

// numbers are those of a database.
// Fields that are no number are left out.
func numbers(t *table, field int) map[int]bool {
	all := map[int]bool{}
	for fields := range t.rows() {
		if n, ok := number(fields, field); ok {
			all[n] = true
		}
	}
	return all
}

// freeGID returns the number of a new group. A number that is given is only checked.
// It changes nothing; the caller puts the group.
func (s *state) freeGID(args AddGroupArgs) (int, error) {
	if args.GID != nil {
		if args.Unique && s.hasGID(*args.GID) {
			return 0, fmt.Errorf("the number %d is that of another group", *args.GID)
		}
		return *args.GID, nil
	}
	return s.free("GID", args.System, numbers(s.group(), groupGID))
}

// free returns a number that is not taken: the one after the last, so that no user
// gets the files of a removed user; for the system the one before the first. If
// there is none any one will do. UID or GID selects the settings in login.defs that bound the range.
func (s *state) free(what string, system bool, taken map[int]bool) (int, error) {
	d := readDefs(s.root)
	low, high, step := d.number(what+"_MIN", 1000), d.number(what+"_MAX", 60000), 1
	if system {
		low, high, step = d.number("SYS_"+what+"_MIN", 100), d.number("SYS_"+what+"_MAX", 999), -1
	}
	within := func(n int) bool { return n >= low && n <= high }
	next := low
	if system {
		next = high
	}
	first := next
	for n := range taken {
		if within(n) && (n-next)*step >= 0 {
			next = n + step
		}
	}
	for n := first; !within(next) && within(n); n += step {
		if !taken[n] {
			next = n
		}
	}
	if !within(next) {
		return 0, fmt.Errorf("all numbers from %d to %d are taken", low, high)
	}
	return next, nil
}

// defs are the settings in login.defs.
// They are read for each call, as the administrator may change them while the daemon runs.
type defs map[string]string

// A missing or unreadable file has no settings, and so the defaults of the callers.
func readDefs(root string) defs {
	d := defs{}
	etc, err := folder(root)
	if err != nil {
		return d
	}
	text, _, err := fileIn(atomicfile.At(etc), "login.defs", -1).Read()
	if err != nil {
		return d // the defaults are as good
	}
	for line := range strings.Lines(text) {
		if w := strings.Fields(line); len(w) > 1 && !strings.HasPrefix(w[0], "#") {
			d[w[0]] = w[1]
		}
	}
	return d
}

// number reads a setting as C does, also in octal and hexadecimal.
func (d defs) number(key string, otherwise int) int {
	n, err := strconv.ParseUint(d[key], 0, 31)
	if err != nil {
		return otherwise
	}
	return int(n)
}
