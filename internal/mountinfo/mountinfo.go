// Package mountinfo reads the notation of the kernel's tables of mounts, which fstab shares.
package mountinfo

import (
	"strconv"
	"strings"
)

// Unescape undoes how a table writes blanks and backslashes: \040.
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

// Place is a mount: its numbers, and where it is. Two mounts that differ have different places.
type Place struct {
	ID, Parent int
	Device     string // its numbers, such as 8:1
	Root       string // the folder of the file system that is mounted
	Point      string // the folder that it is mounted on
}

// Line is one line of /proc/self/mountinfo.
type Line struct {
	Place
	Options string   // of the mount, with commas
	Tags    []string // shared:1, master:2 and the like
	Type    string
	Source  string
	Super   string // the options of the file system, with commas
}

// Parse reads a line. The parts are the numbers of the mount and of its parent, device, root, point, options, any
// number of tags, a dash, type, source and the options of the file system. It reports whether the line is one.
// The format is that of proc(5); optional fields before the dash are skipped, however many
// there are.
func Parse(line string) (l Line, ok bool) {
	left, right, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
	a, b := strings.Split(left, " "), strings.Split(right, " ")
	if !ok || len(a) < 6 || len(b) < 3 {
		return Line{}, false
	}
	id, err := strconv.Atoi(a[0])
	parent, perr := strconv.Atoi(a[1])
	if err != nil || perr != nil {
		return Line{}, false
	}
	return Line{
		Place:   Place{ID: id, Parent: parent, Device: a[2], Root: Unescape(a[3]), Point: Unescape(a[4])},
		Options: a[5], Tags: a[6:], Type: Unescape(b[0]), Source: Unescape(b[1]), Super: Unescape(b[2]),
	}, true
}
