package attack_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/internal/await"
)

// pathCalls are the system calls that take a path, and where among their arguments it is. A descriptor of a folder is in front of it.
var pathCalls = map[uint32]int{
	unix.SYS_OPENAT: 1, unix.SYS_OPENAT2: 1, unix.SYS_FCHOWNAT: 1, unix.SYS_FCHMODAT: 1, unix.SYS_FCHMODAT2: 1, unix.SYS_MKDIRAT: 1,
	unix.SYS_UNLINKAT: 1, unix.SYS_LINKAT: 1, unix.SYS_RENAMEAT: 1, unix.SYS_RENAMEAT2: 1, unix.SYS_SYMLINKAT: 2, unix.SYS_READLINKAT: 1,
	unix.SYS_UTIMENSAT: 1, unix.SYS_STATX: 1, unix.SYS_NEWFSTATAT: 1,
}

// listenerFD is the descriptor by which the daemon's system calls are told.
const listenerFD = 200

// beStepped becomes mgmt, each of whose system calls with a path waits until it is let go on.
func beStepped(base string, argv []string) error {
	runtime.LockOSThread() // the filter is that of the thread that becomes mgmt
	var filter []unix.SockFilter
	filter = append(filter, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}) // the number of the call
	for nr := range pathCalls {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: nr},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	if err := privateMounts(base); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, no := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if no != 0 {
		return fmt.Errorf("a filter of system calls: %w", no)
	}
	if err := unix.Dup3(int(fd), listenerFD, 0); err != nil {
		return err
	}
	return becomeMgmt(argv)
}

// call is what the kernel tells of a system call, see seccomp_unotify(2).
type call struct {
	ID    uint64
	PID   uint32
	Flags uint32
	Nr    uint32
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

// answer lets a system call go on.
type answer struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

// stepper lets the daemon go on, step by step, with a move of the attacker in front of some steps.
type stepper struct {
	listener int
	say      io.Writer     // to the attacker
	hear     *bufio.Reader // from the attacker
}

// attach gets the descriptor of a daemon that has just been started.
func attach(t *testing.T, d *daemon) int {
	t.Helper()
	pid, err := unix.PidfdOpen(d.cmd.Process.Pid, 0)
	d.must(err)
	defer unix.Close(pid)
	fd := -1
	await.Until(t, "the filter of the daemon", func() bool { fd, err = unix.PidfdGetfd(pid, listenerFD, 0); return err == nil })
	return fd
}

var placeID = regexp.MustCompile(`/(p\d{3})(/|$)`)

// place returns the id of the place that a system call is about, empty for none.
func (c *call) place() string {
	at := pathCalls[c.Nr]
	buf := make([]byte, 512)
	n, err := unix.ProcessVMReadv(int(c.PID), []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}},
		[]unix.RemoteIovec{{Base: uintptr(c.Args[at]), Len: len(buf)}}, 0)
	if err != nil {
		return ""
	}
	path, _, _ := bytes.Cut(buf[:n], []byte{0})
	if len(path) == 0 || path[0] != '/' {
		dir, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.PID, int32(c.Args[at-1])))
		if err != nil {
			return ""
		}
		path = []byte(dir)
	}
	if m := placeID.FindSubmatch(path); m != nil {
		return string(m[1])
	}
	return ""
}

// run lets the daemon go on until it has ended. full is called once the attacker has seen enough.
func (s *stepper) run(full func()) error {
	for {
		var c call
		_, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&c)))
		switch {
		case no == unix.EINTR:
			continue
		case no == unix.ENOENT: // a call that was interrupted, or all have ended
			polled := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}}
			if _, err := unix.Poll(polled, 0); err == nil && polled[0].Revents&unix.POLLHUP != 0 {
				return nil
			}
			continue
		case no != 0:
			return no
		}
		if id := c.place(); id != "" && rand.IntN(2) == 0 {
			enough, err := s.move(id)
			if err != nil {
				return err
			}
			if enough && full != nil {
				full()
				full = nil
			}
		}
		// A call whose process has been killed meanwhile has no id any more.
		a := answer{ID: c.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a))); no != 0 && no != unix.ENOENT {
			return no
		}
	}
}

// move has the attacker exchange what is at a place, and returns when she has.
func (s *stepper) move(id string) (enough bool, err error) {
	if _, err := fmt.Fprintln(s.say, id); err != nil {
		return false, err
	}
	line, err := s.hear.ReadString('\n')
	return line == "true\n", err
}

// stepAll exchanges what is at a place for each line of its standard input. Its answer is whether each place has shown what it can; at
// the end it tells what came of all.
func stepAll(root string, exchanges int, in io.Reader, out io.Writer) error {
	unix.Umask(0o022)
	all := map[string]*racing{}
	for _, p := range places(root, true) {
		all[p.id] = newRacing(p)
	}
	enough := false
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		r := all[lines.Text()]
		r.exchange()
		if n%20 == 0 {
			r.look()
		}
		if n%1000 == 0 {
			for _, r := range all {
				r.look()
			}
			enough = shown(all, exchanges)
		}
		if _, err := fmt.Fprintln(out, enough); err != nil {
			return err
		}
	}
	for _, r := range all {
		r.look()
	}
	return errors.Join(lines.Err(), json.NewEncoder(out).Encode(all))
}

// TestFindingA1A2A3A6Stepped: the same, while she exchanges what is there between two steps of the daemon: each of its system calls that
// takes a path waits until she has moved.
func TestFindingA1A2A3A6Stepped(t *testing.T) {
	if testing.Short() {
		t.Skip("make check runs it")
	}
	w := newWorld(t, true)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if out, err := w.role(ctx, "prepare").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	attacker := w.role(ctx, "step", "-attack.steps", fmt.Sprint(*stepCount))
	attacker.Stderr = os.Stderr
	say, err := attacker.StdinPipe()
	w.must(err)
	hear, err := attacker.StdoutPipe()
	w.must(err)
	w.must(attacker.Start())
	d := w.daemonAs(ctx, "stepped", "{poll: 100ms}", "--flapping", "off")
	s := &stepper{attach(t, d), say, bufio.NewReader(hear)}
	enough, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.run(func() { close(enough) }) }()
	late, cancel := context.WithTimeout(ctx, await.Left())
	defer cancel()
	select {
	case <-enough:
	case err := <-ended:
		t.Fatalf("%v\n%s", err, d.log())
	case <-late.Done():
	}
	mounts, log := d.stop()
	w.must(<-ended)
	w.must(say.Close())
	var told map[string]*racing
	w.must(json.NewDecoder(s.hear).Decode(&told))
	w.must(attacker.Wait())
	lost := w.judge(mounts, log)
	for _, p := range w.places {
		r := told[p.id]
		lost[p.id] = append(lost[p.id], r.Won...)
		t.Logf("%s: %d exchanges, acted upon %d times", p, r.Exchanges, r.Acted)
		r.place = p
	}
	if !shown(told, *stepCount) {
		t.Error("too little to show anything")
	}
	w.tell(lost)
	if t.Failed() {
		t.Logf("the end of the log:\n%s", log[max(0, len(log)-20000):])
	}
}
