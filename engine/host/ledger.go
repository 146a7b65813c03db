package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// A ledger is a file that names the commands that run. When a daemon was killed, the next daemon
// finds its commands there. The file has a head and an entry for each command, all of the same
// size. Each write is one call, and no write is synced: the commands die with the machine. A nil
// ledger keeps nothing.
type ledger struct {
	path string

	mu   sync.Mutex
	f    *os.File // nil after close
	free []int    // places of entries that are not used
	next int      // the first place that never was
}

const entrySize = 96

// noted is the entry of a command.
type noted struct {
	out    string // its output, which identifies the processes that have it open; there before it starts
	pid    int    // of its first process; 0 until that is known
	start  uint64
	signal syscall.Signal
	grace  time.Duration
	cost   bool // it is let finish
	place  int  // in the ledger; not in its text
}

func (e noted) text() []byte {
	s := fmt.Sprintf("%s %d %d %d %d %t", e.out, e.pid, e.start, e.signal, e.grace.Milliseconds(), e.cost)
	return fmt.Appendf(nil, "%-*s\n", entrySize-1, s)
}

// parseNoted reads the words of an entry. It does not use the functions of package fmt that scan: nothing else in the engine does,
// and they would add 40 KB to every program that embeds it.
func parseNoted(b []byte) (e noted, ok bool) {
	words := strings.Fields(string(b))
	if len(words) != 6 || !strings.Contains(words[0], ":") {
		return noted{}, false
	}
	var errs [5]error
	var signal, millis int64
	e.out = words[0]
	e.pid, errs[0] = strconv.Atoi(words[1])
	e.start, errs[1] = strconv.ParseUint(words[2], 10, 64)
	signal, errs[2] = strconv.ParseInt(words[3], 10, 32)
	millis, errs[3] = strconv.ParseInt(words[4], 10, 64)
	e.cost, errs[4] = strconv.ParseBool(words[5])
	e.signal, e.grace = syscall.Signal(signal), time.Duration(millis)*time.Millisecond
	return e, errors.Join(errs[:]...) == nil
}

// head tells this boot of this machine, or of this container, from every other one: numbers of
// processes mean nothing elsewhere. It ends with the control group, as a digest.
func head() []byte {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	first, _ := readProc(1)
	s := fmt.Sprintf("%s %d %s", bytes.TrimSpace(boot), first.start, groupOf("self"))
	return fmt.Appendf(nil, "%-*s\n", entrySize-1, s)
}

// groupOf returns a digest of the control group of a process.
func groupOf(pid string) string {
	b, _ := os.ReadFile("/proc/" + pid + "/cgroup")
	return fmt.Sprintf("%x", sha256.Sum256(b))[:16]
}

// openLedger opens the ledger and returns the commands that the Host before has left. The ledger
// begins anew; the commands that may finish stay in it.
func openLedger(path string) (l *ledger, left []noted, sameGroup bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, nil, false, err
	}
	old, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		f.Close()
		return nil, nil, false, err
	}
	now := head()
	boot := func(b []byte) string { return strings.Join(strings.Fields(string(b))[:2], " ") }
	if len(old) >= entrySize && len(strings.Fields(string(old[:entrySize]))) == 3 && boot(old[:entrySize]) == boot(now) {
		sameGroup = bytes.Equal(old[:entrySize], now)
		for place := 1; len(old) >= (place+1)*entrySize; place++ {
			if e, ok := parseNoted(old[place*entrySize : (place+1)*entrySize]); ok {
				e.place = place
				left = append(left, e)
			}
		}
	}
	return &ledger{path: path, f: f}, left, sameGroup, nil
}

// begin forgets all that was in it.
func (l *ledger) begin() error {
	return errors.Join(l.f.Truncate(0), l.write(0, head()))
}

func (l *ledger) write(place int, b []byte) error {
	if l.f == nil {
		return os.ErrClosed
	}
	_, err := l.f.WriteAt(b, int64(place)*entrySize)
	return err
}

// add makes an entry, and returns its place; 0 where there is none.
func (l *ledger) add(e noted) int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == 0 {
		l.next = 1
	}
	place := l.next
	if n := len(l.free); n > 0 {
		place, l.free = l.free[n-1], l.free[:n-1]
	} else {
		l.next++
	}
	_ = l.write(place, e.text()) // on a full disk a command runs without it
	return place
}

// set replaces an entry.
func (l *ledger) set(place int, e noted) {
	if l != nil && place > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = l.write(place, e.text())
	}
}

// remove takes an entry away.
func (l *ledger) remove(place int) {
	if l == nil || place == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.write(place, fmt.Appendf(nil, "%-*s\n", entrySize-1, ""))
	l.free = append(l.free, place)
}

// renew writes the file again, which somebody has removed. Its entries are still in the file without a name.
func (l *ledger) renew() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	fresh := l.path + ".new"
	f, err := os.OpenFile(fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.NewSectionReader(l.f, 0, int64(l.next+1)*entrySize))
	if err == nil {
		err = os.Rename(fresh, l.path)
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(fresh))
	}
	_ = l.f.Close()
	l.f = f
	return nil
}

// RenewLedger writes the file with the commands that run again, where somebody has removed it.
func (h *Host) RenewLedger() error { return h.ledger.renew() }

func (l *ledger) close() {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = l.f.Close()
		l.f = nil
	}
}

// outputID names an open file, so that another process that has it open is known by it.
func outputID(f *os.File) string {
	st, err := f.Stat()
	if err != nil {
		return "0:0"
	}
	return outputOf(st)
}

func outputOf(st os.FileInfo) string {
	s, ok := st.Sys().(*unix.FileStat)
	if !ok {
		return "0:0"
	}
	return strconv.FormatUint(s.Dev, 10) + ":" + strconv.FormatUint(s.Ino, 10)
}

// newNoted is the noted of a command that has not started yet.
func newNoted(c *engine.Command, stdout *os.File) noted {
	return noted{out: outputID(stdout), signal: unix.SignalNum(c.Signal), grace: c.Grace, cost: c.Cost != ""}
}

// alive returns the processes that are left of a command: its first one, its session, the holders
// of its output, and all descendants of these. Where the session has lost its first process its
// number may have another meaning, so it counts in our control group only.
func (e noted) alive(all map[int]proc, holders map[string][]int, sameGroup bool) []proc {
	ours := map[int]bool{}
	if x, ok := all[e.pid]; ok && x.start == e.start {
		ours[e.pid] = true
	} else if _, taken := all[e.pid]; !taken && e.pid > 0 && sameGroup {
		for _, x := range all {
			if x.session == e.pid && x.start >= e.start && groupOf(strconv.Itoa(x.pid)) == groupOf("self") {
				ours[x.pid] = true
			}
		}
	}
	for _, pid := range holders[e.out] { // of "0:0" there are none
		ours[pid] = true
	}
	delete(ours, os.Getpid())
	return grow(all, ours)
}

// grow adds the descendants of processes, and the members of groups and sessions that one of them
// leads. It returns the living ones.
func grow(all map[int]proc, ours map[int]bool) (found []proc) {
	for grown := true; grown; {
		grown = false
		for _, x := range all {
			if !ours[x.pid] && (ours[x.parent] || ours[x.group] || ours[x.session]) {
				ours[x.pid], grown = true, true
			}
		}
	}
	for pid := range ours {
		if x := all[pid]; x.alive {
			found = append(found, x)
		}
	}
	return found
}

// holders returns, by file, the processes whose output it is.
func holders(all map[int]proc) map[string][]int {
	found := map[string][]int{}
	for pid := range all {
		var last string
		for _, fd := range []string{"1", "2"} {
			st, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "fd", fd))
			if err != nil {
				continue
			}
			if id := outputOf(st); id != last {
				found[id], last = append(found[id], pid), id
			}
		}
	}
	return found
}

// leftovers are the commands of a daemon that has died.
type leftovers struct {
	list      []noted
	sameGroup bool
	clock     clock.Clock
}

// living returns those of which something lives, with what that is.
func (l leftovers) living(want func(noted) bool) (entries []noted, procs []proc) {
	if len(l.list) == 0 {
		return nil, nil
	}
	all := processes()
	open := holders(all)
	for _, e := range l.list {
		if !want(e) {
			continue
		}
		if found := e.alive(all, open, l.sameGroup); len(found) > 0 {
			entries, procs = append(entries, e), append(procs, found...)
		}
	}
	return entries, procs
}

// learn fills in the first processes of commands that were started in the moment in which the
// daemon died: those lead a session, and have the output of the command. It writes that down before
// anything is killed, because nothing else may lead to their descendants afterwards.
func (l leftovers) learn(ledger *ledger) {
	all := processes()
	open := holders(all)
	for i := range l.list {
		e := &l.list[i]
		for _, pid := range open[e.out] {
			if x := all[pid]; e.pid == 0 && x.session == pid {
				e.pid, e.start = pid, x.start
				ledger.set(e.place, *e)
			}
		}
	}
}

const (
	leftGrace = 10 * time.Second // the longest that commands which were left get to end by themselves
	leftLook  = 20 * time.Millisecond
)

// end ends the commands that need not finish, as the end of their context would have: by their
// signal, and after their grace by SIGKILL. It returns how many there were, and whether all of
// them have ended.
func (l leftovers) end() (n int, ended bool) {
	cut := func(e noted) bool { return !e.cost }
	entries, _ := l.living(cut)
	began := l.clock.Now()
	for _, e := range entries {
		if e.grace > 0 {
			procs := leftovers{[]noted{e}, l.sameGroup, l.clock}.freeze(cut)
			signalAll(procs, e.signal)
			signalAll(procs, unix.SIGCONT)
		}
	}
	late := func(e noted) bool { return cut(e) && clock.Since(l.clock, began) >= min(e.grace, leftGrace) }
	for end := began.Add(leftGrace + 5*time.Second); l.clock.Now().Before(end); _ = clock.Sleep(context.Background(), l.clock, leftLook) {
		l.kill(late)
		if _, procs := l.living(cut); len(procs) == 0 {
			return len(entries), true
		}
	}
	return len(entries), false
}

// kill kills the living processes of some commands.
func (l leftovers) kill(want func(noted) bool) { signalAll(l.freeze(want), unix.SIGKILL) }

// freeze stops the living processes of some commands until there are no new ones, and returns them. A signal then reaches all of them
// before one acts on it: else a shell whose child is ended first goes on with the next step of its script.
func (l leftovers) freeze(want func(noted) bool) (procs []proc) {
	before := -1
	for range freezes {
		if _, procs = l.living(want); len(procs) == before {
			break
		}
		before = len(procs)
		signalAll(procs, unix.SIGSTOP)
	}
	return procs
}

func signalAll(list []proc, sig syscall.Signal) {
	for _, p := range list {
		p.signal(sig)
	}
}

// adopt opens the ledger, and deals with its commands. It ends those with no cost before anything
// starts, and keeps the others for wait.
func (h *Host) adopt(path string) {
	l, left, sameGroup, err := openLedger(path)
	if err != nil {
		h.log.Debug("the commands that run are not written down", slog.Any("error", err))
		return
	}
	h.left = leftovers{left, sameGroup, h.clock}
	if len(left) > 0 {
		h.left.learn(l)
	}
	if n, ended := h.left.end(); n > 0 {
		h.log.Warn("commands of a daemon that died were still running, and were ended", slog.Int("commands", n), slog.Bool("all have ended", ended))
	}
	finishing, _ := h.left.living(func(e noted) bool { return e.cost })
	h.left.list = finishing
	if err := l.begin(); err != nil {
		h.log.Debug("the commands that run are not written down", slog.Any("error", err))
		l.close()
		return
	}
	h.ledger = l
	for _, e := range finishing {
		l.add(e) // for good: a later look finds that it has ended
	}
}

// waitForLeft waits for the commands that a daemon which died has left, and that are to finish: of
// two that write one database the second one would fail, or do harm.
func (h *Host) waitForLeft(ctx context.Context) error {
	h.leftMu.Lock()
	list := slices.Clone(h.left.list)
	h.leftMu.Unlock()
	if len(list) == 0 {
		return nil
	}
	left := leftovers{list, h.left.sameGroup, h.clock}
	look := clock.NewTicker(h.clock, 5*leftLook)
	defer look.Stop()
	for told := false; ; told = true {
		entries, _ := left.living(func(noted) bool { return true })
		if len(entries) == 0 {
			h.leftMu.Lock()
			h.left.list = nil
			h.leftMu.Unlock()
			return nil
		}
		if !told {
			h.log.Info("a command that an earlier daemon has started is let finish first", slog.Int("pid", entries[0].pid))
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-h.ctx.Done():
			return ErrClosed
		}
	}
}
