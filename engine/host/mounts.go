package host

import (
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"

	"github.com/reactivegraph/mgmt/internal/mountinfo"
)

// mountTable is the kernel's table of mounts. A poll for its readability wakes whenever the table
// changes.
const mountTable = "/proc/self/mountinfo"

// mountPause is how long after a look at the table the next one comes at the
// earliest: starting a container alters it many times, and it may be long.
const mountPause = 20 * time.Millisecond

// A mountFollower waits for changes of the table of mounts on its goroutine. The
// zero value follows nothing.
type mountFollower struct {
	file  *os.File
	stop  <-chan struct{}
	tell  func(points []string)
	clock clock.Clock
	last  map[mountinfo.Place]bool
}

// followMounts sends the points at which a mount came or went, until stop is closed and close
// called. The present mounts are known when it returns. The kernel drops the watches of an
// unmounted file system without an event that the watcher would pass on. Of a mount on a watched
// directory it tells nothing at all.
func (h *hub) followMounts() error {
	f, err := os.Open(mountTable)
	if err != nil {
		return err
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	m := &mountFollower{file: f, stop: h.stop, tell: h.remounted, clock: h.clock}
	if m.last, err = readMounts(); err != nil {
		_ = f.Close()
		return err
	}
	h.mounts = m
	h.carriers.Go(func() { m.run(conn) })
	return nil
}

func (m *mountFollower) run(conn syscall.RawConn) {
	_ = conn.Read(func(uintptr) (done bool) {
		m.look()
		select {
		case <-m.stop:
			return true
		case <-clock.NewTimer(m.clock, mountPause).C:
			return false // until there is something to read
		}
	})
}

// close ends the waiting. stop must be closed.
func (m *mountFollower) close() {
	if m != nil {
		_ = m.file.Close()
	}
}

func (m *mountFollower) look() {
	now, err := readMounts()
	if err != nil {
		return // the next change will tell
	}
	if points := mountPoints(m.last, now); len(points) > 0 {
		m.tell(points)
	}
	m.last = now
}

// readMounts returns the mounts of the table.
func readMounts() (map[mountinfo.Place]bool, error) {
	data, err := os.ReadFile(mountTable)
	if err != nil {
		return nil, err
	}
	mounts := map[mountinfo.Place]bool{}
	for line := range strings.Lines(string(data)) {
		if l, ok := mountinfo.Parse(line); ok {
			mounts[l.Place] = true
		}
	}
	return mounts, nil
}

// mountPoints returns the mount points of the mounts that are in only one of two tables.
func mountPoints(a, b map[mountinfo.Place]bool) []string {
	var points []string
	for _, pair := range [][2]map[mountinfo.Place]bool{{a, b}, {b, a}} {
		for mount := range pair[0] {
			if !pair[1][mount] {
				points = append(points, mount.Point)
			}
		}
	}
	return points
}

// remounted notes mount points at which something has changed, for the hub's
// goroutine. Should there be too many, everything is looked at.
func (h *hub) remounted(points []string) {
	h.in.mu.Lock()
	if len(h.in.remounts)+len(points) > maxTodo {
		h.in.remounts, h.in.overflow = nil, true
	} else {
		h.in.remounts = append(h.in.remounts, points...)
	}
	h.in.mu.Unlock()
	h.wakeUp()
}

// remount has everything below a mount point looked at again, as if it had been made anew.
func (h *hub) remount(point string) {
	if point == "/" {
		h.push(h.root, markStale|markLoud)
		return
	}
	at, name := split(point)
	if d := h.byPath[at]; d != nil {
		h.inside(d, event{dir: at, name: name, op: opCreated | opFolder}, change{source: sourceMount, path: point})
	}
}
