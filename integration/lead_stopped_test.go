//go:build linux

package integration_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/schedule"
	"github.com/reactivegraph/mgmt/traits"
)

// The environment of a host that TestFindingR1Stopped runs in a process of its own.
const (
	stoppedHost  = "MGMT_TEST_STOPPED_HOST"
	stoppedStore = "MGMT_TEST_STOPPED_STORE"
	stoppedDir   = "MGMT_TEST_STOPPED_DIR"
)

func init() { processes["stopped"] = stoppedProcess }

// stoppedLease is the lease of these hosts. An etcd alone grants none that is much shorter.
const stoppedLease = 2 * time.Second

// TestFindingR1Stopped stops the process of the leader (SIGSTOP) until the others have another one, and lets it go on (SIGCONT). Times are those since
// boot, which both processes read from the kernel. By the store's own word, each run of a resource of the leader begins before the end of the lease
// that lets it. A run in the middle of which the process was stopped goes on. The next graph ends it where the resource is there because the host is
// chosen (h1); one that has received that (h2) goes on to its end.
func TestFindingR1Stopped(t *testing.T) {
	t.Parallel()
	rounds := 16
	if testing.Short() {
		rounds = 3
	}
	server := startEtcd(t)
	direct := openEtcd(t, server.client)
	seen := followRecords(t, direct)
	leaders := map[string]*stoppedLeader{}
	for _, name := range []string{"h1", "h2"} {
		leaders[name] = startStoppedLeader(t, name, server.client)
	}
	leads := func(name string) func() bool {
		return func() bool {
			chosen, _, err := hosts.Scheduled(t.Context(), hosts.Store{World: direct, Clock: clock.System{}}, hosts.All, "lead")
			return err == nil && slices.Equal(chosen, []string{name})
		}
	}
	r := rand.New(rand.NewPCG(3, 2))
	for round := range rounds {
		var now, next *stoppedLeader
		await.Until(t, "a leader, and another host that stands", func() bool {
			for name, l := range leaders {
				if leads(name)() {
					now = l
				} else {
					next = l
				}
			}
			return now != nil && next != nil && seen.stands(next.name)
		})
		middle := round%3 == 0
		if middle {
			now.say("hold")
			await.Until(t, "a run of the leader that lasts", now.isRunning)
		} else {
			from := now.begun()
			await.Until(t, "some runs of the leader", func() bool { return now.begun() > from+r.IntN(4) })
		}
		runs := now.begun()
		now.stop()
		seen.awaitEnd(t, now.name)
		await.Until(t, "another leader", leads(next.name))
		from := next.begun()
		await.Until(t, "a run of the other leader", func() bool { return next.begun() > from })
		if middle && now.begun() == runs && !now.isRunning() {
			t.Errorf("round %d: the run has ended in a process that is stopped", round)
		}
		now.signal(syscall.SIGCONT)
		if middle {
			if now.name == "h1" {
				await.Until(t, "the run that was stopped is told to end", func() bool { return !now.isRunning() })
			}
			now.say("go")
		}
		await.Until(t, "the stopped host stands again", func() bool { return seen.stands(now.name) })
		now.judge(t, round, seen)
	}
	for _, l := range leaders {
		l.end()
		l.judge(t, rounds, seen)
	}
}

// records is which leases have kept the records of hosts for a schedule, and when the store has told their ends.
type records struct {
	mu    sync.Mutex
	by    map[string]string        // the lease of a host that stands
	ended map[string]time.Duration // since boot, by lease
}

func followRecords(t *testing.T, w world.World) *records {
	t.Helper()
	s := &records{by: map[string]string{}, ended: map[string]time.Duration{}}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		from := hosts.Store{World: w, Clock: clock.System{}}
		for c := range from.Follow(ctx, hosts.SchedulePrefix(hosts.All)) {
			s.take(c, sinceBoot())
		}
	}()
	t.Cleanup(func() { cancel(); <-over })
	return s
}

func (s *records) take(c hosts.Change, at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range c.Updates {
		host := u.Key[strings.LastIndexByte(u.Key, '/')+1:]
		if was := s.by[host]; was != "" && was != u.Lease {
			s.ended[was] = at
		}
		if s.by[host] = u.Lease; u.Deleted {
			delete(s.by, host)
		}
	}
}

func (s *records) stands(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[host] != ""
}

// awaitEnd waits until a host does not stand any more.
func (s *records) awaitEnd(t *testing.T, host string) {
	t.Helper()
	s.mu.Lock()
	lease := s.by[host]
	s.mu.Unlock()
	await.Until(t, "the end of the lease of "+host, func() bool { return s.endOf(lease) > 0 })
}

// endOf returns when a lease had ended, 0 for one that has not.
func (s *records) endOf(lease string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[lease]
}

// stoppedLeader is a host in a process of its own.
type stoppedLeader struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	over chan struct{}

	mu      sync.Mutex
	runs    []leaderRun
	judged  int
	running bool
	other   []string // lines that say something else
}

// leaderRun is the begin of a run, since boot, with the answer about a lease that let it begin.
type leaderRun struct {
	at, asked time.Duration
	lease     string
}

func startStoppedLeader(t *testing.T, name, store string) *stoppedLeader {
	t.Helper()
	l := &stoppedLeader{t: t, name: name, cmd: exec.Command(os.Args[0]), over: make(chan struct{})}
	l.cmd.Env = append(os.Environ(), processEnv+"=stopped", stoppedHost+"="+name, stoppedStore+"="+store, stoppedDir+"="+t.TempDir())
	l.cmd.Stderr = os.Stderr
	out, err := l.cmd.StdoutPipe()
	if err == nil {
		l.in, err = l.cmd.StdinPipe()
	}
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(l.over)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			l.take(lines.Text())
		}
	}()
	t.Cleanup(l.end)
	return l
}

// take reads a line of the process.
func (l *stoppedLeader) take(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var r leaderRun
	var at, asked int64
	switch n, _ := fmt.Sscanf(line, "begin %d %d %s", &at, &asked, &r.lease); {
	case n == 3:
		r.at, r.asked = time.Duration(at), time.Duration(asked)
		l.runs, l.running = append(l.runs, r), true
	case line == "end":
		l.running = false
	default:
		l.other = append(l.other, line)
	}
}

func (l *stoppedLeader) begun() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.runs)
}

func (l *stoppedLeader) isRunning() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

func (l *stoppedLeader) say(word string) {
	l.t.Helper()
	if _, err := fmt.Fprintln(l.in, word); err != nil {
		l.t.Fatal(err)
	}
}

func (l *stoppedLeader) signal(s syscall.Signal) {
	l.t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

// stop holds the process, and returns when the kernel says that it is held.
func (l *stoppedLeader) stop() {
	l.t.Helper()
	l.signal(syscall.SIGSTOP)
	await.Until(l.t, "the process of "+l.name+" is held", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", l.cmd.Process.Pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		return err == nil && strings.HasPrefix(state, "T")
	})
}

// end lets the process end, in whatever state it is.
func (l *stoppedLeader) end() {
	select {
	case <-l.over:
		return
	default:
	}
	_ = l.cmd.Process.Signal(syscall.SIGCONT)
	_ = l.in.Close()
	<-l.over
	if err := l.cmd.Wait(); err != nil {
		l.t.Errorf("%s: %v", l.name, err)
	}
}

// judge looks at the runs since the last time. Each has a look at a lease of its own, which answered before the store had ended the lease. The process
// may be stopped between the two, so one run a round may begin later.
func (l *stoppedLeader) judge(t *testing.T, round int, seen *records) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	late := 0
	for ; l.judged < len(l.runs); l.judged++ {
		r, before := l.runs[l.judged], time.Duration(0)
		if l.judged > 0 {
			before = l.runs[l.judged-1].at
		}
		end := seen.endOf(r.lease)
		switch {
		case r.asked <= before || r.asked > r.at:
			t.Errorf("round %d: %s began a run at %s, and has not asked for its lease after the run at %s", round, l.name, r.at, before)
		case end > 0 && r.asked > end:
			t.Errorf("round %d: %s began a run at %s by the lease %s, which had ended at %s; it was asked at %s", round, l.name, r.at, r.lease, end, r.asked)
		case end > 0 && r.at > end:
			late++
		}
	}
	if late > 1 {
		t.Errorf("round %d: %s began %d runs after the end of its lease", round, l.name, late)
	}
	for _, line := range l.other {
		t.Errorf("%s says: %s", l.name, line)
	}
	l.other = nil
}

func sinceBoot() time.Duration {
	now, err := unix.Boottime()
	if err != nil {
		panic(err)
	}
	return now
}

// stoppedProcess is the process of a host, until its standard input ends.
func stoppedProcess() error {
	name, dir := os.Getenv(stoppedHost), os.Getenv(stoppedDir)
	w, err := etcd.Open(context.Background(), etcd.Options{Endpoints: []string{os.Getenv(stoppedStore)}, Timeout: time.Second})
	if err != nil {
		return err
	}
	p := &stoppedProbe{World: w}
	kinds := engine.NewRegistry()
	for name, make := range map[string]func() engine.Res{
		"schedule": func() engine.Res { return (&schedule.Res{}).Default() },
		"probe":    func() engine.Res { return &stoppedRes{p: p} },
	} {
		if err := kinds.Register(name, make); err != nil {
			return err
		}
	}
	graph := filepath.Join(dir, "graph.yaml")
	text := `resources:
  schedule: [{name: lead}]
  probe: [{name: p, mine: true, when: "${{ scheduled('lead') }}", meta: {poll: 100ms}}]
`
	if name == "h2" {
		text = `resources:
  schedule: [{name: lead}]
  probe: [{name: p, recv: {mine: "schedule[lead].mine"}, meta: {poll: 100ms}}]
`
	}
	if err := os.WriteFile(graph, []byte(text), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, err := mgmt.Open(ctx, mgmt.Options{
		Hostname: name, World: mgmt.Share(p), Lease: stoppedLease, Registry: kinds, Logger: slog.New(slog.DiscardHandler),
		Observer: mgmt.Observer{Refused: func(err error) { fmt.Fprintln(os.Stderr, name, "refuses its graph:", err) }},
	}, yaml.New(graph, yaml.Options{}))
	if err != nil {
		return err
	}
	goOn := func() {}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		held := (*context.Context)(nil)
		if goOn(); lines.Text() == "hold" {
			h, end := context.WithCancel(ctx)
			held, goOn = &h, end
		}
		p.hold.Store(held)
	}
	cancel()
	if err := e.Wait(); err != nil {
		return err
	}
	return w.Close()
}

// stoppedProbe is the store of such a host. It notes when the engine has got the answer that a lease holds.
type stoppedProbe struct {
	*etcd.World
	hold  atomic.Pointer[context.Context] // a run lasts until its end
	asked atomic.Pointer[leaderRun]
}

func (p *stoppedProbe) Held(id string) world.Lease {
	if l := p.World.Held(id); l != nil {
		return stoppedProof{l, p}
	}
	return nil
}

type stoppedProof struct {
	world.Lease
	p *stoppedProbe
}

// Holds notes only the answer right before a run: the frontend asks, too, whenever it makes the graph.
func (l stoppedProof) Holds() bool {
	at := sinceBoot() // an answer is about this moment or a later one
	holds := l.Lease.Holds()
	var pcs [1]uintptr
	runtime.Callers(2, pcs[:])
	f, _ := runtime.CallersFrames(pcs[:]).Next()
	if holds && strings.Contains(f.Function, "/engine/reactor.") {
		l.p.asked.Store(&leaderRun{asked: at, lease: l.ID()})
	}
	return holds
}

// stoppedRes is the resource of the leader.
type stoppedRes struct {
	traits.Base
	traits.Recvable
	p    *stoppedProbe
	Mine bool `yaml:"mine"`
}

func (r *stoppedRes) Default() engine.Res         { return &stoppedRes{p: r.p} }
func (r *stoppedRes) Validate() error             { return nil }
func (r *stoppedRes) Init(*engine.Init) error     { return nil }
func (r *stoppedRes) Cleanup() error              { return nil }
func (r *stoppedRes) Watch(context.Context) error { return nil } // it is polled
func (r *stoppedRes) Cmp(engine.Res) error        { return nil }

func (r *stoppedRes) CheckApply(ctx context.Context, _ bool) (bool, error) {
	if !r.Mine {
		return true, nil
	}
	at, by := sinceBoot(), r.p.asked.Load()
	if by == nil {
		by = &leaderRun{lease: "none"}
	}
	fmt.Println("begin", strconv.FormatInt(int64(at), 10), strconv.FormatInt(int64(by.asked), 10), by.lease)
	defer fmt.Println("end")
	if held := r.p.hold.Load(); held != nil {
		select {
		case <-(*held).Done():
		case <-ctx.Done():
		}
	}
	return true, context.Cause(ctx)
}
