package mounttab

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Holder is a process that uses something that is mounted.
type Holder struct {
	PID     int
	Command string
}

// String names the command and the process.
func (h Holder) String() string { return fmt.Sprintf("%s (process %d)", h.Command, h.PID) }

// Holders returns the processes that use a mount: as the folder that they work in, as
// their root or program, or by a file that is open or mapped. proc is /proc. Who ends
// meanwhile, and whom we may not look at, is left out.
func Holders(proc string, m Mount) (all []Holder) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join(proc, e.Name())
		if holds(dir, m) {
			comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
			all = append(all, Holder{pid, strings.TrimSpace(string(comm))})
		}
	}
	return all
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
