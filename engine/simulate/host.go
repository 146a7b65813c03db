package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/provenance"
)

// Host is a machine whose changes a test makes up: its watches wake when the
// test touches a path. Its commands are a function. Its buses do not exist
// unless the test brings them.
type Host struct {
	mu       sync.Mutex
	subs     []*sub
	watchErr error
	command  func(context.Context, engine.Command) (*engine.Result, error)
	commands []engine.Command
	bus      func(context.Context, bus.Kind) (bus.Bus, error)
	facts    engine.Facts
	clock    clock.Clock // nil for that of this machine
	wakes    uint64      // so far
}

// NewHost returns a Debian 12 with systemd that is called host and has one CPU,
// no commands and no bus.
func NewHost() *Host {
	return &Host{facts: engine.Facts{Hostname: "host", FQDN: "host", OS: "Debian", OSFamily: "Debian", OSRelease: "12", OSMajorRelease: 12, OSFinger: "Debian-12",
		OSArch: "amd64", Kernel: "Linux", Arch: "amd64", Init: "systemd", SystemdBooted: true, Virtual: "physical", CPUs: 1}}
}

// Watch implements engine.Host. It refuses a path that is not absolute. The
// subscription is closed when the context ends. WatchOptions.Own is asked under the lock of the host.
func (h *Host) Watch(ctx context.Context, paths []string, o events.Options) (events.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("watch %q: the path is not absolute", p)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchErr != nil {
		return nil, h.watchErr
	}
	s := &sub{options: o}
	for _, p := range paths {
		s.paths = append(s.paths, filepath.Clean(p))
	}
	h.subscribe(s).stop = context.AfterFunc(ctx, s.Close)
	return s, nil
}

// Delivering returns how many subscriptions have woken their readers, and wait for them: a reader acts on a wake-up until it
// calls C again, or Close. So a reader calls C for each wait. wakes counts all wake-ups so far: where it stays the same between
// two calls, nothing was woken between them.
func (h *Host) Delivering() (subscriptions int, wakes uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.subs {
		if s.due {
			subscriptions++
		}
	}
	return subscriptions, h.wakes
}

// FailWatch has the next calls of Watch return err; nil for none.
func (h *Host) FailWatch(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchErr = err
}

// SetClock gives the machine a clock of its own, such as NewClock; nil for that of this machine. Call it before the host is used.
func (h *Host) SetClock(c clock.Clock) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock = c
}

// Clock is asked for by engine.ClockOf.
func (h *Host) Clock() clock.Clock {
	h.mu.Lock()
	defer h.mu.Unlock()
	return clock.Or(h.clock)
}

// Touch wakes every subscription that a change of the path concerns: the path
// itself, a parent of it, an entry of it or anything below it, as its options
// say. It returns how many those were.
func (h *Host) Touch(path string) int { return h.TouchBy(path, nil) }

// TouchBy is Touch by a process.
func (h *Host) TouchBy(path string, by *provenance.Culprit) int {
	return h.wake(events.Cause{Source: "fake", Path: path, By: by}, func(s *sub) bool { return s.concerns(filepath.Clean(path)) })
}

// Resync wakes every subscription and says that changes may have been lost.
func (h *Host) Resync() int {
	return h.wake(events.Cause{Source: "fake", Resync: true}, func(*sub) bool { return true })
}

// wake sends a cause to the watches that concern it, and counts them: a test that wakes
// nothing is wrong. Of a change that a reader calls its own, the others are told that it is from that one.
func (h *Host) wake(c events.Cause, which func(*sub) bool) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.Merged = 1
	var others []*sub
	from := ""
	for _, s := range h.subs {
		switch {
		case !which(s):
		case s.own():
			from = cmp.Or(from, s.options.Resource)
		default:
			others = append(others, s)
		}
	}
	if from != "" && !c.Resync {
		c.From, c.By = from, nil
	}
	for _, s := range others {
		s.add(c)
	}
	return len(others)
}

// Subscriptions returns the paths of the subscriptions to paths that are open.
func (h *Host) Subscriptions() [][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all [][]string
	for _, s := range h.subs {
		if !s.facts {
			all = append(all, s.paths)
		}
	}
	return all
}

// SetCommand says what running a command does; nil for "not found".
func (h *Host) SetCommand(f func(context.Context, engine.Command) (*engine.Result, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.command = f
}

// Command implements engine.Host.
func (h *Host) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if len(c.Argv) == 0 {
		return nil, errors.New("a command without a program")
	}
	h.mu.Lock()
	h.commands = append(h.commands, c)
	run := h.command
	h.mu.Unlock()
	if run == nil {
		return nil, fmt.Errorf("command %q: not found", c.Argv[0])
	}
	return run(ctx, c)
}

// Commands returns the commands that were run, in order.
func (h *Host) Commands() []engine.Command {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.commands)
}

// SetBus says what Bus returns; nil for an error.
func (h *Host) SetBus(f func(context.Context, bus.Kind) (bus.Bus, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bus = f
}

// Bus implements engine.Host.
func (h *Host) Bus(ctx context.Context, which bus.Kind) (bus.Bus, error) {
	h.mu.Lock()
	open := h.bus
	h.mu.Unlock()
	if open == nil {
		return nil, fmt.Errorf("there is no %s bus", which)
	}
	return open(ctx, which)
}

// SetFacts replaces the facts, and wakes who watches them. It returns how many those
// were.
func (h *Host) SetFacts(f engine.Facts) int {
	h.mu.Lock()
	h.facts = f
	h.mu.Unlock()
	return h.wake(events.Cause{Source: "facts"}, func(s *sub) bool { return s.facts })
}

// WatchFacts implements engine.Host.
func (h *Host) WatchFacts(ctx context.Context) (events.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.subscribe(&sub{facts: true}), nil
}

// subscribe adds a subscription. The lock is held.
func (h *Host) subscribe(s *sub) *sub {
	s.host, s.wake, s.stop = h, make(chan struct{}, 1), func() bool { return true }
	h.subs = append(h.subs, s)
	return s
}

// Facts implements engine.Host.
func (h *Host) Facts() engine.Facts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.facts
}

// sub is one subscription; cause is guarded by the host's lock.
type sub struct {
	host    *Host
	paths   []string
	options events.Options
	facts   bool // to changes of facts, and not of paths
	due     bool // its reader acts on a wake-up, or is about to
	wake    chan struct{}
	cause   events.Cause
	stop    func() bool
}

// C implements events.Subscription. A reader that has taken a wake-up and asks again has acted on it.
func (s *sub) C() <-chan struct{} {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	s.due = len(s.wake) > 0
	return s.wake
}

// own reports whether the change that has just been made is that of the reader itself.
func (s *sub) own() bool { return s.options.Own != nil && s.options.Own.AsLeft() }

func (s *sub) Cause() events.Cause {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	c := s.cause
	s.cause = events.Cause{}
	return c
}

func (s *sub) Close() {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	s.stop()
	s.host.subs = slices.DeleteFunc(s.host.subs, func(o *sub) bool { return o == s })
}

// add merges a cause into the waiting one, as the real hub does.
func (s *sub) add(c events.Cause) {
	s.cause.Merge(c)
	s.due = true
	s.host.wakes++
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// concerns reports whether a watch is about a path: the path itself, a parent that may
// vanish, or something below.
func (s *sub) concerns(path string) bool {
	for _, p := range s.paths {
		switch {
		case p == path, below(p, path):
			return true
		case s.options.Recurse && below(path, p):
			return true
		case s.options.Contents && filepath.Dir(path) == p:
			return true
		}
	}
	return false
}

// below reports whether path is somewhere below dir.
func below(path, dir string) bool {
	return path != dir && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
