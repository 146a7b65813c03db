package mounttab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/mountinfo"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// MountInfo is where the kernel says what is mounted in our namespace.
const MountInfo = "/proc/self/mountinfo"

// Mount is something that is mounted.
type Mount struct {
	ID      int
	Parent  int    // what it is mounted on
	Device  string // major:minor
	Root    string // the folder of the file system that is mounted
	Point   string
	Type    string
	Source  string   // what was named as the device
	Options []string // those of the mount
	Super   []string // those of the file system, which all its mounts share

	// Group and Master are of shared subtrees: a mount on one member of a group is on all of it,
	// and on all whose master the group is. 0 for none.
	Group, Master int
}

// Reader reads the table of mounts, and knows whether the table has changed since. It is made by
// Open, and is for one goroutine.
type Reader struct{ file *os.File }

// Open begins to follow what is mounted.
func Open() (*Reader, error) {
	// Not by os.Open, which has Go's poller wait for the file too: the first that hears of a change
	// takes it from the other.
	fd, err := unix.Open(MountInfo, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: MountInfo, Err: err}
	}
	return &Reader{os.NewFile(uintptr(fd), MountInfo)}, nil
}

// Close ends it.
func (r *Reader) Close() error { return r.file.Close() }

// readTries is how often it is read at most, where something is mounted all the time.
const readTries = 10

// Read returns all that is mounted at one moment, the later ones after the earlier ones.
// The kernel gives the list in parts, between which it may change: then it is read anew.
// Changed is about the time since.
func (r *Reader) Read() ([]Mount, error) {
	for tries := 1; ; tries++ {
		if _, err := r.file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r.file)
		if err != nil {
			return nil, err
		}
		if changed, err := r.Changed(); err != nil {
			return nil, err
		} else if !changed || tries == readTries {
			return ParseMounts(string(data))
		}
	}
}

// Changed reports whether something was mounted, unmounted or remounted since it was last
// asked, or since Open.
func (r *Reader) Changed() (bool, error) {
	poll := []unix.PollFd{{Fd: int32(r.file.Fd()), Events: unix.POLLPRI}}
	for {
		if _, err := unix.Poll(poll, 0); !errors.Is(err, unix.EINTR) {
			return poll[0].Revents&(unix.POLLPRI|unix.POLLERR) != 0, err
		}
	}
}

// ReadMounts returns all that is mounted at one moment.
func ReadMounts() ([]Mount, error) {
	r, err := Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Read()
}

// ParseMounts reads a text as that of MountInfo.
func ParseMounts(text string) ([]Mount, error) {
	var all []Mount
	for line := range strings.Lines(text) {
		l, ok := mountinfo.Parse(line)
		if !ok {
			return nil, fmt.Errorf("%s has a line that is not understood: %q", MountInfo, line)
		}
		all = append(all, mountOf(l))
	}
	return all, nil
}

// mountOf is a line as a mount.
func mountOf(l mountinfo.Line) Mount {
	m := Mount{
		ID: l.ID, Parent: l.Parent, Device: l.Device, Root: l.Root, Point: l.Point, Options: SplitOptions(l.Options),
		Type: l.Type, Source: l.Source, Super: SplitOptions(l.Super),
	}
	for _, tag := range l.Tags {
		name, n, _ := strings.Cut(tag, ":")
		switch name {
		case "shared":
			m.Group, _ = strconv.Atoi(n)
		case "master":
			m.Master, _ = strconv.Atoi(n)
		}
	}
	return m
}

// Below returns the points of all that is mounted below a point, which cannot be
// unmounted before them.
func Below(all []Mount, point string) (points []string) {
	for _, m := range all {
		if strings.HasPrefix(m.Point, strings.TrimSuffix(point, "/")+"/") && m.Point != point {
			points = append(points, m.Point)
		}
	}
	return points
}

// At returns the visible mount at a point: the last mount there hides the others. Nil for none.
func At(all []Mount, point string) *Mount {
	for i := range slices.Backward(all) {
		if all[i].Point == point {
			return &all[i]
		}
	}
	return nil
}

// escape makes a name one field of a table. A number sign would begin a comment.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r', '\\', '#':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
