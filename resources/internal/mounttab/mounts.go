package mounttab

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// MountInfo is where the kernel says what is mounted in our namespace.
const MountInfo = "/proc/self/mountinfo"

// Mount is something that is mounted.
type Mount struct {
	ID      int
	Device  string // major:minor
	Root    string // the folder of the file system that is mounted
	Point   string
	Type    string
	Source  string   // what was named as the device
	Options []string // those of the mount
	Super   []string // those of the file system, which all its mounts share
}

// ReadMounts returns all that is mounted, the later ones after the earlier ones.
func ReadMounts() ([]Mount, error) {
	data, err := os.ReadFile(MountInfo)
	if err != nil {
		return nil, err
	}
	return ParseMounts(string(data))
}

// ParseMounts reads a text as that of MountInfo.
func ParseMounts(text string) ([]Mount, error) {
	var all []Mount
	for line := range strings.Lines(text) {
		m, ok := parseMount(strings.TrimSuffix(line, "\n"))
		if !ok {
			return nil, fmt.Errorf("%s has a line that is not understood: %q", MountInfo, line)
		}
		all = append(all, m)
	}
	return all, nil
}

// parseMount reads one line: numbers of its own and of its parent, device, root,
// point, options, any number of tags, a dash, type, source and the options of the
// file system.
func parseMount(line string) (Mount, bool) {
	left, right, ok := strings.Cut(line, " - ")
	a, b := strings.Split(left, " "), strings.Split(right, " ")
	if !ok || len(a) < 6 || len(b) < 3 {
		return Mount{}, false
	}
	id, err := strconv.Atoi(a[0])
	return Mount{
		ID: id, Device: a[2], Root: Unescape(a[3]), Point: Unescape(a[4]), Options: SplitOptions(a[5]),
		Type: Unescape(b[0]), Source: Unescape(b[1]), Super: SplitOptions(Unescape(b[2])),
	}, err == nil
}

// At returns what is mounted at a point: what was mounted there last hides the others.
// Nil for nothing.
func At(all []Mount, point string) *Mount {
	for i := range slices.Backward(all) {
		if all[i].Point == point {
			return &all[i]
		}
	}
	return nil
}

// Unescape undoes \040 and the like.
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
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
