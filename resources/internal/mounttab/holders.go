package mounttab

import (
	"bufio"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Holder is a process that uses something that is mounted.
type Holder struct {
	PID     int
	Command string
	Where   string // it uses a copy of the mount; empty for the mount itself
}

// String names the command and the process.
func (h Holder) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s (process %d) %s", h.Command, h.PID, h.Where))
}

// Holders returns the processes that use a mount, or one of its copies: as the folder that they
// work in, as their root or program, or by a file that is open or mapped. proc is /proc. A process
// that ends meanwhile, or that we may not look at, is left out.
func Holders(proc string, m Mount, copies ...Mount) (all []Holder) {
	for pid, dir := range processes(proc) {
		comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
		h := Holder{PID: pid, Command: strings.TrimSpace(string(comm))}
		is := func(m Mount) bool { return holds(dir, m) }
		if at := slices.IndexFunc(copies, is); is(m) {
			all = append(all, h)
		} else if at >= 0 {
			if h.Where = "at " + copies[at].Point; copies[at].Point == m.Point {
				h.Where = "in a mount namespace of its own"
			}
			all = append(all, h)
		}
	}
	return all
}

// processes yields the numbers and folders of all processes.
func processes(proc string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		entries, _ := os.ReadDir(proc)
		for _, e := range entries {
			if pid, err := strconv.Atoi(e.Name()); err == nil && !yield(pid, filepath.Join(proc, e.Name())) {
				return
			}
		}
	}
}

// Copies returns the copies of a mount in shared subtrees, also in the namespaces of other
// processes: a mount on one place of such a tree is in all, and can be unmounted only if no process
// uses any of them. all are the mounts of our namespace.
func Copies(proc string, all []Mount, m Mount) (copies []Mount) {
	on := byID(all, m.Parent)
	if on == nil || on.Group == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, dir := range processes(proc) {
		ns, err := os.Readlink(filepath.Join(dir, "ns/mnt"))
		if err != nil || seen[ns] {
			continue
		}
		seen[ns] = true
		text, _ := os.ReadFile(filepath.Join(dir, "mountinfo"))
		theirs, _ := ParseMounts(string(text))
		for _, c := range theirs {
			if c.ID != m.ID && c.Device == m.Device && c.Root == m.Root && along(*on, m, byID(theirs, c.Parent), c) {
				copies = append(copies, c)
			}
		}
	}
	return copies
}

// along reports whether a mount on one member of a group is also on another member, and both are at
// the same place there.
func along(on, m Mount, other *Mount, c Mount) bool {
	return other != nil && (other.Group == on.Group || other.Master == on.Group) && m.place(on) == c.place(*other)
}

// place is the folder in the file system of the mount that it is mounted on.
func (m Mount) place(on Mount) string {
	return path.Join(on.Root, strings.TrimPrefix(m.Point, strings.TrimSuffix(on.Point, "/")))
}

func byID(all []Mount, id int) *Mount {
	for i := range all {
		if all[i].ID == id {
			return &all[i]
		}
	}
	return nil
}

func holds(dir string, m Mount) bool {
	for _, link := range []string{"cwd", "root", "exe"} {
		if leadsTo(filepath.Join(dir, link), m.ID) {
			return true
		}
	}
	open, _ := os.ReadDir(filepath.Join(dir, "fd"))
	return slices.ContainsFunc(open, func(e os.DirEntry) bool { return leadsTo(filepath.Join(dir, "fd", e.Name()), m.ID) }) || mapped(dir, m)
}

// leadsTo reports whether a link of /proc leads to something of a mount.
func leadsTo(link string, id int) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, link, unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	return err == nil && st.Mask&unix.STATX_MNT_ID != 0 && st.Mnt_id == uint64(id)
}

// mapped reports whether a process has mapped a file of a mount: the lines have addresses,
// rights, offset, device, inode and path.
func mapped(dir string, m Mount) bool {
	f, err := os.Open(filepath.Join(dir, "maps"))
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) > 5 && decimal(w[3]) == m.Device && strings.HasPrefix(w[5], strings.TrimSuffix(m.Point, "/")+"/") {
			return true
		}
	}
	return false
}

// decimal is the number of a device, as it is in maps, in the notation of mountinfo.
func decimal(device string) string {
	var major, minor uint32
	if _, err := fmt.Sscanf(device, "%x:%x", &major, &minor); err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", major, minor)
}
