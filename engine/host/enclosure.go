package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
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
	name := "mgmt-" + strconv.Itoa(os.Getpid()) + "-" + rand.Text()
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

// makeGroup makes a control group below that of this process; nil where it may not, or where there are none.
func makeGroup(root, name string) *os.File {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		path := filepath.Join(root, own)
		if _, err := os.Stat(filepath.Join(path, "cgroup.procs")); err != nil {
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
	return nil
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
func (e *enclosure) close(clock engine.Clock) {
	if e == nil || e.dir == nil {
		return
	}
	defer e.dir.Close()
	for range removals {
		if err := os.Remove(e.dir.Name()); err == nil || os.IsNotExist(err) {
			return
		}
		_ = engine.Sleep(context.Background(), clock, removalWait)
	}
}
