package host

import (
	"bytes"
	"context"

	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// An enclosure finds the processes of a command that leaves nothing behind, also those that have begun a session of
// their own and whose parent has ended. A control group holds them, where this process may make one: no process gets out of
// it by itself. Elsewhere a variable of the environment, which processes inherit, marks them.
type enclosure struct {
	dir  *os.File // of the control group; nil for none
	mark []byte   // an entry of the environment; nil for none
}

// The roots of the second version of control groups.
var groupRoots = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}

// enclose makes an enclosure and has the attributes start a process in it.
func enclose(roots []string, attr *os.ProcAttr) *enclosure {
	name := "mgmt-" + strconv.Itoa(os.Getpid()) + "-" + unix.RandomText()
	for _, root := range roots {
		if dir := makeGroup(root, name); dir != nil {
			unix.StartIn(attr.Sys, int(dir.Fd()))
			return &enclosure{dir: dir}
		}
	}
	mark := "MGMT_COMMAND=" + name
	attr.Env = append(attr.Env[:len(attr.Env):len(attr.Env)], mark)
	return &enclosure{mark: []byte(mark)}
}

// ownGroup returns the folder of the control group of this process; empty where there is none below a root.
func ownGroup(root string) string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		path := filepath.Join(root, own)
		if _, err := os.Stat(filepath.Join(path, "cgroup.procs")); err != nil {
			return ""
		}
		return path
	}
	return ""
}

// makeGroup makes a control group below that of this process; nil where it may not, or where there are none.
func makeGroup(root, name string) *os.File {
	path := ownGroup(root)
	if path == "" {
		return nil
	}
	path = filepath.Join(path, name)
	if os.Mkdir(path, 0o700) != nil {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		_ = os.Remove(path)
		return nil
	}
	return dir
}

// groupAge is how old an empty control group has to be before sweepGroups removes it. A process of another namespace has a number that
// can't be asked for here, and starts a command in its new group within moments.
const groupAge = time.Minute

// sweepGroups removes the empty control groups of killed daemons. They have no process, but a name in the folder. The kernel refuses to
// remove a group that has a process, so no command is hurt.
func sweepGroups(folder string, now time.Time) {
	entries, _ := os.ReadDir(folder) // where it can't be read, nothing can be removed
	for _, e := range entries {
		name, ours := strings.CutPrefix(e.Name(), "mgmt-")
		number, _, _ := strings.Cut(name, "-")
		pid, err := strconv.Atoi(number)
		if !ours || err != nil || pid <= 0 || unix.Kill(pid, 0) != unix.ESRCH {
			continue
		}
		if info, err := e.Info(); err == nil && info.IsDir() && now.Sub(info.ModTime()) > groupAge {
			_ = os.Remove(filepath.Join(folder, e.Name())) // another daemon may have been faster
		}
	}
}

// members returns the processes in the enclosure, as far as they can be seen.
func (e *enclosure) members(all map[int]proc) (pids []int) {
	if e == nil {
		return nil
	}
	if e.dir != nil {
		text, _ := os.ReadFile(filepath.Join(e.dir.Name(), "cgroup.procs"))
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 { // 0 is of another namespace
				pids = append(pids, pid)
			}
		}
		return pids
	}
	for pid := range all {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		for entry := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(entry, e.mark) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// removals is how often the removal of a control group is tried, since killed processes take a moment to end, and
// removalWait is the time between.
const (
	removals    = 100
	removalWait = 10 * time.Millisecond
)

// close removes the control group of the enclosure. Its processes have been killed.
func (e *enclosure) close(c clock.Clock) {
	if e == nil || e.dir == nil {
		return
	}
	defer e.dir.Close()
	for range removals {
		if err := os.Remove(e.dir.Name()); err == nil || os.IsNotExist(err) {
			return
		}
		_ = clock.Sleep(context.Background(), c, removalWait)
	}
}
