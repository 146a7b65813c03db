package hosts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/internal/mountinfo"
)

const cgroupPrefix = "mgmt-machine-"

var cgroupCount atomic.Int64

// cgroups are the groups of one machine: one in each hierarchy that a systemd keeps
// its units in, below the one of this process.
type cgroups []string

// newCgroups makes groups for a machine, and removes those whose test is gone.
func newCgroups() (cgroups, error) {
	parents, err := ownCgroups()
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s%d-%d", cgroupPrefix, os.Getpid(), cgroupCount.Add(1))
	var made cgroups
	for _, parent := range parents {
		sweepCgroups(parent)
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, errors.Join(err, made.remove())
		}
		made = append(made, dir)
	}
	return made, nil
}

func (c cgroups) procs() []string {
	var files []string
	for _, dir := range c {
		files = append(files, filepath.Join(dir, "cgroup.procs"))
	}
	return files
}

// remove removes the groups. A process that has just been killed is in its group for
// a moment more.
func (c cgroups) remove() error {
	var err error
	for _, dir := range c {
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if err = removeGroup(dir); err == nil || time.Now().After(end) {
				break
			}
		}
	}
	return err
}

// removeGroup removes a group and those in it, the inner ones first.
func removeGroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeGroup(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, syscall.Rmdir(dir))
}

// sweepCgroups removes the groups of tests that were killed.
func sweepCgroups(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*"))
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), cgroupPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && syscall.Kill(n, 0) == syscall.ESRCH {
			_ = removeGroup(dir) // if it is busy, the next one does it
		}
	}
}

// ownCgroups returns the folders of the groups of this process in which a systemd keeps
// its units: the one of cgroup v2, and that of its name in cgroup v1.
func ownCgroups() ([]string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(f) == 3 && (f[1] == "" || f[1] == "name=systemd") {
			if at, ok := cgroupMount(string(mounts), f[1]); ok {
				dirs = append(dirs, filepath.Join(at, f[2]))
			}
		}
	}
	if len(dirs) == 0 {
		return nil, errors.New("neither cgroup v2 nor the hierarchy of systemd is mounted")
	}
	return dirs, nil
}

// cgroupMount returns where a hierarchy is mounted: that of v1 with these controllers, or
// of v2 without any.
func cgroupMount(mounts, controllers string) (string, bool) {
	for line := range strings.Lines(mounts) {
		m, ok := mountinfo.Parse(line)
		if ok && (m.Type == "cgroup2" && controllers == "" ||
			m.Type == "cgroup" && controllers != "" && strings.Contains(","+m.Super+",", ","+controllers+",")) {
			return m.Point, true
		}
	}
	return "", false
}
