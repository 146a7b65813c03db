package atomicfile

import (
	"errors"
	"hash/fnv"
	"os"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"
)

const (
	tempPrefix = ".mgmt-"
	tempSuffix = "~"
)

// temp is a temporary file that is being written.
type temp struct {
	dir  Dir
	fd   int    // -1 when it is not open
	name string // empty when it has none
}

// close closes the file, if it is open.
func (t *temp) close() error {
	if t.fd < 0 {
		return nil
	}
	fd := t.fd
	t.fd = -1
	return unix.Close(fd)
}

// drop closes the file, and removes it if it has a name.
func (t *temp) drop() {
	_ = t.close()
	if t.name != "" {
		_ = t.dir.unlink(t.name, 0)
		t.name = ""
	}
}

// IsTemp reports whether a name has the form of the temporary files of this package.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// tempName returns the name of the temporary file that name is written to. It is always the same
// one, so that the file of a killed process is found again.
func tempName(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return tempPrefix + strconv.FormatUint(h.Sum64(), 16) + tempSuffix
}

// IsTempOf reports whether temp is where name is written to before it is complete.
func IsTempOf(temp, name string) bool { return temp == tempName(name) }

// Temps is a look at all temporary files in a folder.
type Temps map[string]struct{}

// Temps returns the temporary files in the folder. It is an error if there are more
// names than most, about.
func (d Dir) Temps(most int) (Temps, error) {
	d, release, err := d.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	fd, err := d.open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, d.failed("open", "", err)
	}
	defer unix.Close(fd)
	found, buf := Temps{}, make([]byte, 16<<10)
	for {
		var n int
		err := retry(func() (err error) { n, err = unix.ReadDirent(fd, buf); return err })
		if err != nil || n <= 0 {
			return found, d.failed("readdir", "", err)
		}
		_, count, names := unix.ParseDirent(buf[:n], -1, nil)
		if most -= count; most < 0 {
			return nil, d.failed("readdir", "", unix.E2BIG)
		}
		for _, name := range names {
			if IsTemp(name) {
				found[name] = struct{}{}
			}
		}
	}
}

// Of reports whether there was a temporary file of a name.
func (t Temps) Of(name string) bool {
	if len(t) == 0 {
		return false
	}
	_, ok := t[tempName(name)]
	return ok
}

// makeTemp makes a file, link or other thing in the folder of name, under a free name. The leftover
// of a killed process is removed; where something is in the way that is not ours to remove, another
// name is taken. An error names the wanted path.
func (d Dir) makeTemp(name string, make func(name string) error) (temp string, err error) {
	temp = tempName(name)
	for range 4 {
		if err = make(temp); !errors.Is(err, unix.EEXIST) {
			return temp, d.failed("create", name, err)
		}
		if !d.Stale(temp) || d.unlink(temp, 0) != nil {
			temp = strings.TrimSuffix(temp, tempSuffix) + "-" + unix.RandomText()[:8] + tempSuffix
		}
	}
	return temp, d.failed("create", name, err)
}

// Stale reports whether a temporary file is ours and no process has it open any
// more. A file system that can't tell says no.
func (d Dir) Stale(temp string) bool {
	d, release, err := d.hold()
	if err != nil {
		return false
	}
	defer release()
	st, err := d.Lstat(temp)
	if err != nil || int(st.UID) != d.uid() {
		return false
	}
	if !st.IsRegular() {
		return st.IsLink() // a link is never open; it is renamed at once
	}
	fd, err := d.open(temp, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	// A lease for writing is given only if no other process has the file open.
	return d.do(func() error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
		return err
	}) == nil
}

// uid is the user who makes and owns the new files of the folder.
func (d Dir) uid() int {
	if d.as != nil {
		return d.as.UID
	}
	return os.Geteuid()
}

// Made reports whether a thing belongs to whom a thing that was just made here belongs.
func (d Dir) Made(st Stat) bool {
	d, release, err := d.hold()
	if err != nil {
		return false
	}
	defer release()
	return int(st.UID) == d.uid()
}

func (d Dir) unlink(name string, flags int) error {
	err := d.do(func() error { return unix.Unlinkat(d.fd, name, flags) })
	return d.failed("remove", name, err)
}
