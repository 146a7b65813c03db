package host

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// A process is the first process of a command. It is not reaped before its end
// has been dealt with, so its number, which is also its group's, stays its own.
type process struct {
	*os.Process
	exited chan struct{} // closed when it has ended; it is a zombie then
	killed bool          // by KillAll; under commands.mu
	place  int           // in the ledger
	clock  clock.Clock
	fence  *enclosure // nil for none
}

func newProcess(p *os.Process, clock clock.Clock) *process {
	x := &process{Process: p, clock: clock, exited: make(chan struct{})}
	go func() {
		defer close(x.exited)
		for {
			err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return x
}

// over reports whether the process has ended.
func (p *process) over() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// end asks the process and its descendants by a signal to end, and kills the rest of them after the
// grace, or when hurry is closed.
func (p *process) end(sig syscall.Signal, grace time.Duration, hurry <-chan struct{}) {
	var known []proc
	if grace > 0 {
		known = p.descendants(nil)
		p.signal(known, sig)
		late := clock.NewTimer(p.clock, grace)
		defer late.Stop()
		p.await(known, late.C, hurry)
	}
	p.kill(known...)
}

// await waits until the process and its descendants have ended.
func (p *process) await(known []proc, late <-chan time.Time, hurry <-chan struct{}) {
	select {
	case <-p.exited:
	case <-late:
		return
	case <-hurry:
		return
	}
	look := clock.NewTicker(p.clock, 20*time.Millisecond)
	defer look.Stop()
	for len(p.descendants(known)) > 0 {
		select {
		case <-look.C:
		case <-late:
			return
		case <-hurry:
			return
		}
	}
}

// freezes is how often the descendants are stopped and counted before they are
// killed; usually the second time finds no new ones.
const freezes = 16

// kill kills the process, its group, and its descendants wherever they are. They
// are stopped first, so that none can start another meanwhile.
func (p *process) kill(known ...proc) {
	before := -1
	for range freezes {
		known = p.descendants(known)
		if len(known) == before {
			break
		}
		before = len(known)
		p.signal(known, unix.SIGSTOP)
	}
	p.signal(known, unix.SIGKILL)
}

// signal sends a signal to the group and to the descendants outside of it.
func (p *process) signal(known []proc, sig syscall.Signal) {
	_ = unix.Kill(-p.Pid, sig) // gone already
	for _, d := range known {
		if d.group != p.Pid {
			d.signal(sig)
		}
	}
}

// descendants returns the living processes that descend from p or from one of
// those known, are in a group or a session that one of them leads, or are in the enclosure, without p itself.
func (p *process) descendants(known []proc) []proc {
	all := processes()
	ours := map[int]bool{p.Pid: true}
	for _, k := range known {
		if now, ok := all[k.pid]; ok && now.start == k.start {
			ours[k.pid] = true
		}
	}
	for _, pid := range p.fence.members(all) {
		ours[pid] = true
	}
	return slices.DeleteFunc(grow(all, ours), func(x proc) bool { return x.pid == p.Pid })
}

// A proc is an entry of /proc.
type proc struct {
	pid, parent, group, session int

	start uint64 // tells it from a later process of the same number
	alive bool
}

// signal sends a signal to exactly this process.
func (d proc) signal(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(d.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readProc(d.pid); ok && now.start == d.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0) // gone already
	}
}

// processes lists all processes that can be seen.
func processes() map[int]proc {
	all := make(map[int]proc)
	f, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if x, ok := readProc(pid); ok {
			all[pid] = x
		}
	}
	return all
}

// readProc reads /proc/PID/stat: the name, which may hold anything, is in
// parentheses; then come the state, the parent, the group, the session and, as the
// 20th after the name, the time of the start.
func readProc(pid int) (x proc, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return x, false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 {
		return x, false
	}
	x.pid = pid
	x.alive = f[0][0] != 'Z' && f[0][0] != 'X'
	x.parent, _ = strconv.Atoi(string(f[1]))
	x.group, _ = strconv.Atoi(string(f[2]))
	x.session, _ = strconv.Atoi(string(f[3]))
	x.start, err = strconv.ParseUint(string(f[19]), 10, 64)
	return x, err == nil
}
