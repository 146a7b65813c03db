package plugin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// Phase is a step in the life of the process of a provider.
type Phase string

// The phases.
const (
	Stopped  Phase = "stopped"  // no resource needs it
	Starting Phase = "starting" // it has not answered the handshake yet
	Ready    Phase = "ready"
	Backoff  Phase = "backoff" // it has ended, and is started again after a pause
	Broken   Phase = "broken"  // it ends again and again, or is refused; a start is tried now and then
)

// Times of the supervision.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
	healthyTime  = time.Minute     // after which earlier ends are forgotten
	breakWindow  = 2 * time.Minute // in which Options.Breaks ends make a provider broken
)

// Bounds of the secrets that a session keeps out of its log. Shorter texts are in too many words, and of more than the most the
// oldest are forgotten.
const (
	leastSecret = 6
	mostSecrets = 1 << 15
)

// session is the process of one plugin, from the first resource that needs it to the last one. It is their
// engine.Shared. One goroutine, run, starts the process and waits for its end.
type session struct {
	plugin  *Plugin
	host    engine.Host
	clock   clock.Clock
	lines   *ring
	hidden  secrets.Texts
	records commits
	slots   chan struct{} // one for each call that waits

	ctx  context.Context // ends with Close
	end  context.CancelFunc
	once sync.Once // starts run
	all  sync.WaitGroup

	mu       sync.Mutex
	phase    Phase
	now      *running      // where the phase is Ready
	why      error         // of Backoff and Broken
	turn     chan struct{} // closed, and replaced, whenever the phase changes
	again    chan struct{} // of capacity 1: do not wait any longer
	restarts int
	began    time.Time
	log      *slog.Logger // of the last resource that has joined; nil before
	ends     []time.Time
	ears     map[chan struct{}]struct{} // of the resources; each of capacity 1
}

// open begins a session. It starts no process. Status and Restart are about the shared session of the graph, and about another
// one only while there is none.
func (p *Plugin) open(h engine.Host, shared bool) *session {
	s := &session{
		plugin: p, host: h, clock: engine.ClockOf(h), slots: make(chan struct{}, p.Calls), phase: Stopped,
		turn: make(chan struct{}), again: make(chan struct{}, 1), ears: map[chan struct{}]struct{}{},
	}
	s.hidden.Least, s.hidden.Most = leastSecret, mostSecrets
	s.hidden.Learn(secretSettings(p.Config), true)
	for key, v := range p.Env {
		if isSecretKey(key) {
			s.hidden.Add(v)
		}
	}
	s.lines = &ring{log: s.logger, hidden: &s.hidden}
	s.ctx, s.end = context.WithCancel(context.Background()) // until Close
	p.mu.Lock()
	defer p.mu.Unlock()
	if shared || p.now == nil {
		p.now = s
	}
	return s
}

// Begin implements engine.Shared.
func (s *session) Begin() {}

// End implements engine.Shared.
func (s *session) End() {}

// Close ends the process, and waits for its end.
func (s *session) Close() error {
	s.end()
	s.all.Wait()
	p := s.plugin
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == s {
		p.now = nil
	}
	return nil
}

// join has the session log where a resource does.
func (s *session) join(log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if log != nil {
		s.log = log.With(slog.String("provider", s.plugin.Name))
	}
}

// logger returns the log of the session.
func (s *session) logger() *slog.Logger {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.log
}

// get returns the connection. It waits while the provider starts or pauses, and fails where it is broken.
func (s *session) get(ctx context.Context) (Conn, error) {
	s.once.Do(func() { s.all.Go(s.run) })
	for {
		s.mu.Lock()
		phase, now, why, turn := s.phase, s.now, s.why, s.turn
		s.mu.Unlock()
		switch phase {
		case Ready:
			return now.conn, nil
		case Broken:
			return nil, why
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.ctx.Done():
			return nil, errors.New("the provider is being stopped")
		}
	}
}

// run starts the process, again and again, until the session ends. The first start after a healthy time comes at once, so that
// a killed provider is back within milliseconds; later ones wait.
func (s *session) run() {
	defer s.set(Stopped, nil, nil)
	pauses := 0 // since it was healthy
	for s.ctx.Err() == nil {
		s.set(Starting, nil, nil)
		r, err := s.launch(s.ctx)
		began := s.clock.Now()
		if err == nil {
			s.set(Ready, r, nil)
			err = s.wait(r)
		}
		if s.ctx.Err() != nil {
			return
		}
		if errors.Is(err, errRestarted) { // no failure, so the next start has no pause
			pauses = 0
			continue
		}
		if errors.Is(err, errMixed) && s.plugin.renewed() { // resources of the next graph come, and the end of these ones
			s.set(Backoff, nil, err) // before the owner is told: its calls wait from now on
			s.plugin.opt.Changed()
			s.pause(pauses)
			pauses++
			continue
		}
		if r != nil && s.clock.Now().Sub(began) >= healthyTime {
			pauses = 0
		}
		s.fail(err, pauses)
		if r == nil || pauses > 0 {
			s.pause(pauses)
		}
		pauses++
	}
}

// wait returns when the process is gone, with the reason. Two processes of one provider never work at once. Else the next one
// would look for a thing that the last one is about to make, and make it a second time.
func (s *session) wait(r *running) error {
	select {
	case <-r.conn.Done():
		s.bury(r)
		return &GoneError{r.conn.Err()}
	case <-s.ctx.Done():
		s.dismiss(r)
		return nil
	case <-s.again:
		free := s.drain()
		defer free()
		s.dismiss(r)
		return &GoneError{errRestarted}
	}
}

var errRestarted = errors.New("it was to be restarted")

// drain waits until no call is open, at most for the time that the process has for its end. It takes the slots of all calls, so
// that none begins. The function gives them back.
func (s *session) drain() (free func()) {
	timed, end := within(s.ctx, s.clock, s.plugin.Grace)
	defer end()
	taken := 0
	for taken < cap(s.slots) && timed.Err() == nil {
		select {
		case s.slots <- struct{}{}:
			taken++
		case <-timed.Done():
		}
	}
	return func() {
		for range taken {
			<-s.slots
		}
	}
}

// dismiss asks the provider to end, and ends its process in any case.
func (s *session) dismiss(r *running) {
	bye, end := within(context.WithoutCancel(s.ctx), s.clock, s.plugin.Grace)
	_ = r.conn.Call(bye, protocol.MethodShutdown, &protocol.ShutdownRequest{}, nil)
	end()
	r.stop(context.WithoutCancel(s.ctx))
}

// bury kills a process whose connection has ended: mgmt would not hear of its work any more. A dead one is gone already.
func (s *session) bury(r *running) {
	if r.proc == nil {
		_ = r.conn.Close()
		return
	}
	now, end := context.WithCancel(s.ctx)
	end()
	r.stop(now)
	how := r.proc.Result()
	s.logger().Warn("a provider has ended", "code", how.ExitCode, "signal", how.Signal, "lines", s.lines.text())
}

// set changes the phase, and tells all who wait for that. Resources look again when the provider is there again, and when
// it is broken.
func (s *session) set(phase Phase, r *running, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if phase == Starting && s.phase == Broken {
		return // until it is known whether it starts
	}
	if phase == Ready {
		s.began = s.clock.Now()
		s.restarts++
	}
	if why != nil { // people read it in the status
		why = errors.New(s.hidden.Clean(why.Error()))
	}
	changed := phase != s.phase
	s.phase, s.now, s.why = phase, r, why
	close(s.turn)
	s.turn = make(chan struct{})
	if !changed || phase != Ready && phase != Broken {
		return
	}
	for ear := range s.ears {
		select {
		case ear <- struct{}{}:
		default:
		}
	}
}

// fail notes the end of a process. Too many of them in a short time, or a refusal, make the provider broken. It stays so until a
// start succeeds.
func (s *session) fail(err error, pauses int) {
	now := s.clock.Now()
	s.mu.Lock()
	s.ends = append(s.ends, now)
	for len(s.ends) > 0 && now.Sub(s.ends[0]) > breakWindow {
		s.ends = s.ends[1:]
	}
	broken := len(s.ends) >= s.plugin.opt.Breaks || errors.Is(err, errRefused) || s.phase == Broken
	s.mu.Unlock()
	if !broken {
		s.set(Backoff, nil, err)
		return
	}
	s.set(Broken, nil, s.brokenError(err))
}

// brokenError says why a provider is broken, with its last lines.
func (s *session) brokenError(err error) error {
	p := s.plugin
	text := fmt.Sprintf("the provider %s is broken: ", p.Name)
	if errors.Is(err, errRefused) || errors.Is(err, errMixed) {
		return err
	}
	text += cmp.Or(strings.TrimPrefix(fmt.Sprint(err), "the provider "+p.Name+" "), "it has ended")
	if last := s.lines.text(); last != "" {
		text += "; its last lines:\n" + last
	}
	return errors.New(text)
}

// pause waits before the next start, the longer the more pauses there were, with a part by chance.
func (s *session) pause(pauses int) {
	d := min(firstPause<<min(pauses, 20), s.plugin.opt.LongestPause)
	s.mu.Lock()
	if s.phase == Broken {
		d = s.plugin.opt.LongestPause
	}
	s.mu.Unlock()
	if n, err := rand.Int(rand.Reader, big.NewInt(int64(d/5))); err == nil {
		d += time.Duration(n.Int64()) - d/10
	}
	t := clock.NewTimer(s.clock, d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.again:
	case <-s.ctx.Done():
	}
}

// listen returns a channel that gets a token whenever the provider was started again, or is broken. The function ends it.
func (s *session) listen() (<-chan struct{}, func()) {
	ear := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ears[ear] = struct{}{}
	return ear, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.ears, ear)
	}
}

// call asks the provider. A question without effects is asked anew where the provider has ended meanwhile.
func (s *session) call(ctx context.Context, method string, params, reply any) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	timed, end := within(ctx, s.clock, s.plugin.Timeout)
	defer end()
	for {
		conn, err := s.get(timed)
		if err != nil {
			return err
		}
		err = conn.Call(timed, method, params, reply)
		if !isGone(err) || !harmless(method) {
			return s.named(method, err)
		}
		if err := s.gone(timed, conn); err != nil {
			return err
		}
	}
}

// gone waits until the session knows that a connection has ended. Without it, a caller would get the dead connection again.
func (s *session) gone(ctx context.Context, conn Conn) error {
	for {
		s.mu.Lock()
		same, turn := s.now != nil && s.now.conn == conn, s.turn
		s.mu.Unlock()
		if !same {
			return nil
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// named adds the provider and the method to an error that is not of a property.
func (s *session) named(method string, err error) error {
	if err == nil || isGone(err) {
		return err
	}
	return fmt.Errorf("the provider %s, %s: %w", s.plugin.Name, method, err)
}

func isGone(err error) bool {
	_, gone := errors.AsType[*GoneError](err)
	return gone
}

// harmless reports whether a question may be asked twice.
func harmless(method string) bool {
	switch method {
	case protocol.MethodCheck, protocol.MethodDiff, protocol.MethodGet, protocol.MethodList:
		return true
	}
	return false
}

// Restart ends the process of a plugin, or its pause, so that it is started at once. It reports whether there was one, and does
// not wait. Open calls may end first, and the next process starts when the last one is gone.
func (p *Plugin) Restart() bool {
	p.mu.Lock()
	s := p.now
	p.mu.Unlock()
	if s == nil {
		return false
	}
	s.mu.Lock()
	s.ends = nil
	s.mu.Unlock()
	select {
	case s.again <- struct{}{}:
	default:
	}
	return true
}

// Connect starts the provider for a caller without resources, such as a test of it. The function ends the process, and waits
// for that.
func (p *Plugin) Connect(ctx context.Context, h engine.Host) (Conn, func(), error) {
	s := p.open(h, false)
	conn, err := s.get(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return conn, func() { _ = s.Close() }, nil
}

// Types returns the types of the schema file.
func (p *Plugin) Types() []protocol.Type { return slices.Clone(p.doc.Types) }

// Status is how a plugin does.
type Status struct {
	Name     string   `yaml:"name" json:"name"`
	Version  string   `yaml:"version" json:"version"` // of the schema file
	Phase    Phase    `yaml:"phase" json:"phase"`
	PID      int      `yaml:"pid" json:"pid,omitempty"`     // 0 where there is no process of ours
	Starts   int      `yaml:"starts" json:"starts"`         // since the first resource needed it
	Since    string   `yaml:"since" json:"since,omitempty"` // of the last start, as RFC 3339 has it
	Error    string   `yaml:"error" json:"error,omitempty"` // of the phases backoff and broken
	Kinds    []string `yaml:"kinds" json:"kinds"`
	Hash     string   `yaml:"hash" json:"hash"` // of the schema file
	Attached bool     `yaml:"attached" json:"attached,omitempty"`
}

// Status returns how the plugin does now.
func (p *Plugin) Status() Status {
	out := Status{Name: p.Name, Version: p.Version(), Phase: Stopped, Kinds: p.Kinds(), Hash: p.hash, Attached: p.opt.Attach[p.Name] != ""}
	p.mu.Lock()
	s := p.now
	p.mu.Unlock()
	if s == nil {
		return out
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Phase, out.PID, out.Starts = s.phase, s.now.pid(), s.restarts
	if !s.began.IsZero() {
		out.Since = s.began.UTC().Format(time.RFC3339)
	}
	if s.why != nil {
		out.Error = s.why.Error()
	}
	return out
}
