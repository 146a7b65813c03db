package deployed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
)

// Options are what a Frontend needs. All fields but Dir and Pin are required. They are not altered while the sequence goes on.
type Options struct {
	World world.World
	Host  string // the name of this host in the store
	Topic string
	// Trusted returns the keys whose deploys this host takes at this moment. It is called from several goroutines. A deploy in effect
	// stays when its key leaves; no later one of that key is taken, and a restart does not take it either.
	Trusted func() []deploy.Public
	Dir     string      // the folder for the deploy in effect; empty keeps none
	Pin     *deploy.Pin // the store that this host belongs to; nil for one that is met anew at each start
	// Load reads the graph of a bundle, with the facts and kinds of an Env. The error of its Result is schema.Diagnostics where the
	// files are bad. Where Facts is set, it is called again when a fact has changed.
	Load func(*deploy.Bundle, gapi.Env) gapi.Reading
	// Open, when not nil, is called once for each sequence, and its View takes the place of Load.
	Open func(context.Context, gapi.Env) View
}

// View reads the graphs of bundles that depend on more than the facts of this machine, such as the other hosts in the store.
type View struct {
	Load  func(*deploy.Bundle) gapi.Reading // as Options.Load
	Wake  <-chan struct{}                   // has a token when another reading of the same bundle may give another graph; never closed
	Close func()                            // is called once, at the end of the sequence
}

// Frontend yields the graph of the deploys of one topic. Make it with New.
type Frontend struct {
	o       Options
	store   deploy.Store
	changed chan struct{} // of capacity 1: Standing may be another one

	mu       sync.Mutex
	standing deploy.Standing // without the state at rest, which the Reporter asks the engine for
	ids      map[string]bool // the resources of the deploy in effect
	pending  *taken          // it was yielded, and not judged yet
	judged   chan struct{}   // of capacity 1: a pending one was judged
	verdict  error           // of the pending one
	left     []gapi.Left     // with the pending one
	held     bool            // the pending one waits for an operator of this host, as verdict says
	inEffect *taken          // the last good one; nil for none
}

var _ gapi.Frontend = (*Frontend)(nil)

// New returns a frontend. The caller closes the World after the sequence has ended.
func New(o Options) *Frontend {
	if o.Pin == nil {
		o.Pin = deploy.OpenPin(deploy.PinOptions{Host: o.Host, Trusted: o.Trusted})
	}
	return &Frontend{
		o: o, store: deploy.Store{World: o.World}, changed: make(chan struct{}, 1), judged: make(chan struct{}, 1),
		standing: deploy.Standing{State: deploy.StateTaken},
	}
}

// taken is a deploy that this host has checked. It is not altered, apart from kept.
type taken struct {
	manifest deploy.Manifest // as it was signed
	record   deploy.Record
	content  []byte
	graph    *gapi.Declared // whose Done tells the verdict
	kept     bool           // its file is written
	facts    bool           // another fact may give another graph
	state    string         // equal states, equal graphs
}

// firstWait is how long the first graph waits for an answer of the store. retryWait is the time between two tries to read a
// deploy.
const (
	firstWait = 5 * time.Second
	retryWait = 2 * time.Second
)

// Graphs implements gapi.Frontend.
func (f *Frontend) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		news := make(chan news, 1)
		wg.Go(func() { f.follow(ctx, env, news) })
		r := &reader{Frontend: f, env: env, yield: yield}
		if r.view.Load = func(b *deploy.Bundle) gapi.Reading { return f.o.Load(b, env) }; f.o.Open != nil {
			r.view = f.o.Open(ctx, env)
			defer r.view.Close()
		}
		defer r.closeFacts()
		r.restore()
		r.run(ctx, news)
	}
}

// news is the rollout as it is now, or why it cannot be read.
type news struct {
	rollout deploy.Rollout
	lost    bool // the store is out of reach
	err     error
}

// follow hands over the rollout of the topic whenever it changes; only the latest one waits. A slow engine thus skips deploys, and
// never sees an older one after a newer one.
func (f *Frontend) follow(ctx context.Context, env gapi.Env, out chan news) {
	put := func(n news) {
		for {
			select {
			case out <- n:
				return
			default:
			}
			select {
			case <-out:
			default:
			}
		}
	}
	tell := func(err error) {
		if err != nil {
			env.Log().Warn("the deploys cannot be read: the last one goes on", slog.String("topic", f.o.Topic), slog.Any("error", err))
			put(news{lost: true})
			return
		}
		env.Log().Info("the store is back, and deploys are read again", slog.String("topic", f.o.Topic))
	}
	s := hosts.Store{World: f.o.World, Clock: engine.ClockOf(env.Host), Tell: tell}
	for change := range s.Follow(ctx, deploy.RolloutKey(f.o.Topic)) {
		n := news{}
		for _, u := range change.Updates {
			if u.Key == deploy.RolloutKey(f.o.Topic) && !u.Deleted {
				n.rollout, n.err = deploy.ReadRollout(u.Value)
			}
		}
		put(n)
	}
}

// reader is one iteration. Its goroutine alone uses it.
type reader struct {
	*Frontend
	env   gapi.Env
	view  View
	yield func(*gapi.Declared, error) bool
	began bool                // a graph was yielded
	due   int64               // the number that the rollout says; 0 for none
	floor int64               // the highest number that was ever in effect
	facts events.Subscription // nil while no deploy reads facts
	fresh bool                // the graph was made after facts was armed
	other bool                // the deploy that is due has the number of the one in effect, and other files
	reads bool                // the last deploy that was loaded reads facts, also where it was refused
	trial string              // the last warning that a deploy cannot be read; empty since one was read
}

// run yields until the context ends or nothing more is wanted. It is the one place that waits: for the store, for a verdict, for
// a question, and for the time of another try.
func (r *reader) run(ctx context.Context, news <-chan news) {
	c := engine.ClockOf(r.env.Host)
	first, stopFirst := clock.After(c, firstWait)
	defer stopFirst()
	var again <-chan struct{}
	stop := func() bool { return false }
	defer func() { stop() }()
	for {
		more, retry, asked := true, false, true // asked: the store was asked for the deploy that is due
		select {
		case <-ctx.Done():
			return
		case _, ok := <-r.factsWake(ctx):
			ok = ok || !r.fresh
			r.fresh = true
			more, retry, asked = r.factsChanged(ctx, ok)
		case <-r.view.Wake:
			if more, asked = true, r.refusedDue(); asked {
				more, retry = r.advance(ctx, nil)
			} else {
				more = r.expand(true)
			}
		case n := <-news:
			if !n.lost && n.err == nil {
				r.follows(n.rollout)
			}
			more, retry = r.advance(ctx, n.err)
		case <-first:
			first, more, asked = nil, r.begin(), false
		case <-again:
			more, retry = r.advance(ctx, nil)
		case <-r.judged:
			more, asked = r.settle(), false
		case <-r.env.Reload:
			more, retry = r.reload(ctx)
		}
		if !more || ctx.Err() != nil || r.env.NoWatch && r.began {
			return
		}
		if !asked { // the time of another try goes on
			continue
		}
		stop()
		if again = nil; retry {
			again, stop = clock.After(c, retryWait)
		}
	}
}

// follows notes which deploy is due. A rollout that does not reach this host yet names the deploy before it. A host that has had
// a later one, which stopped, stays with its own until its turn comes.
func (r *reader) follows(rollout deploy.Rollout) {
	r.due = rollout.Due(r.o.Host)
	if r.due != rollout.Number && r.due < r.floor {
		r.due = r.number()
	}
	t := r.current()
	r.other = t != nil && r.due == t.manifest.Number && rollout.Had(r.due, t.manifest.Digest)
}

// begin yields the first graph, which may be empty, unless that was done. The other frontends of the host wait for it: until
// each has yielded, nothing takes effect. So it comes even where the store gives no answer.
func (r *reader) begin() bool {
	if r.began {
		return true
	}
	return r.show(r.current(), nil)
}

// current returns the deploy whose graph is due to be yielded: the pending one, else the one in effect; nil for none. The
// engine reads pending from its own goroutine, hence the lock.
func (r *reader) current() *taken {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending != nil {
		return r.pending
	}
	return r.inEffect
}

// advance takes the deploy over that is due. retry says that the store could not be asked.
func (r *reader) advance(ctx context.Context, bad error) (more, retry bool) {
	if bad == nil && !r.other && (r.due == 0 || r.due == r.number()) {
		if r.due != 0 { // the refused graph is not wanted any more
			r.note(func(s *deploy.Standing) {
				if s.Refused != 0 { // else the error is that of a held one
					s.Refused, s.Code, s.Error = 0, "", ""
				}
			})
		}
		return r.begin(), false
	}
	t, err := (*taken)(nil), bad
	if err == nil {
		t, err = r.fetch(ctx, r.due)
	}
	switch {
	case err == nil:
		r.trial = ""
		return r.try(t), false
	case deploy.Code(err) == "": // the store, and not the deploy
		r.warn(err)
		return r.begin(), true
	}
	told := r.refused(r.due, err)
	if !r.begin() {
		return false, false
	}
	return told || r.yield(nil, r.named(r.due, err)), false
}

// warn says that the store does not give a deploy, once for each deploy and reason: the deploy is tried again every few seconds.
func (r *reader) warn(err error) {
	trial := fmt.Sprint(r.due, " ", err)
	if trial == r.trial {
		return
	}
	r.trial = trial
	about := []any{slog.String("topic", r.o.Topic), slog.Int64("number", r.due), slog.Any("error", err)}
	if errors.Is(err, world.ErrRefused) {
		r.env.Log().Warn("the store does not let this host read a deploy, which is tried again: an operator gives the right by mgmt hosts allow", append(about, slog.String("host", r.o.Host))...)
		return
	}
	r.env.Log().Warn("a deploy cannot be read, and is tried again", about...)
}

// named adds the deploy to an error. The text is for the log and the status of this host.
func (r *reader) named(number int64, err error) error {
	return fmt.Errorf("deploy %d to %s is refused, and the one before goes on: %w", number, r.o.Topic, err)
}

// number returns the number of the deploy that is judged now, else of the deploy in effect; 0 for none.
func (r *reader) number() int64 {
	if t := r.current(); t != nil {
		return t.manifest.Number
	}
	return 0
}

// fetch reads a deploy from the store, and checks all of it: number, signature, topic, size and digest, and that its files are
// a graph. The order is that of the cost, and nothing is read before the signature holds but the record itself.
func (r *reader) fetch(ctx context.Context, number int64) (*taken, error) {
	if r.other {
		return nil, fmt.Errorf("%w: this host has had another deploy with this number, %d; deploy again for a higher number", deploy.ErrReplay, number)
	}
	if number < r.floor {
		return nil, fmt.Errorf("%w: the rollout says %d, and this host has had %d; to go back, the operator signs a new one by mgmt deploy --back-to", deploy.ErrReplay, number, r.floor)
	}
	record, err := r.store.Get(ctx, r.o.Topic, number)
	if err != nil {
		return nil, err
	}
	m, err := record.Verify(r.o.Trusted(), r.o.Topic, number)
	if err != nil {
		return nil, err
	}
	// A store that does not give its record is no reason to refuse a deploy of the store that is known.
	met := r.o.Pin.Meet(ctx, r.o.World)
	if err := r.o.Pin.Check(m, engine.ClockOf(r.env.Host).Now()); err != nil {
		return nil, cmp.Or(unmet(r.o.Pin, met), err)
	}
	content, err := r.store.Content(ctx, m)
	if err != nil {
		return nil, err
	}
	return r.load(m, record, content)
}

// unmet is why a host has not met its store, where that is the reason to refuse a deploy.
func unmet(p *deploy.Pin, err error) error {
	if p.Store() != "" {
		return nil
	}
	return err
}

// load makes the graph of a deploy whose signature was checked.
func (r *reader) load(m deploy.Manifest, record deploy.Record, content []byte) (*taken, error) {
	b, err := deploy.Decode(content)
	if err != nil {
		return nil, err
	}
	reading := r.view.Load(b)
	r.reads = reading.Facts
	d, err := reading.Result()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", deploy.ErrGraph, err)
	}
	if m.Leaving != "" {
		d.Resources = slices.Clone(d.Resources) // the reading may keep them
		for i := range d.Resources {
			d.Resources[i].Leaving = m.Leaving
		}
	}
	t := &taken{manifest: m, record: record, content: content, graph: d, facts: reading.Facts, state: reading.State}
	d.Origin = provenance.Origin{By: m.By, Path: fmt.Sprintf("deploy %d to %s", m.Number, m.Topic), Digest: m.Digest, Signer: record.Key}
	d.Again = true // a refusal leads to the deploy before, or to an empty graph
	d.Done = func(o gapi.Outcome) { r.done(t, o) }
	return t, nil
}

// factsWake returns the channel of changed facts while the present deploy reads some, or the refused one, else nil.
func (r *reader) factsWake(ctx context.Context) <-chan struct{} {
	t := r.current()
	if reads := t != nil && t.facts || r.reads && r.refusedDue(); !reads || r.env.Host == nil || r.env.NoWatch {
		return nil
	}
	if r.facts == nil {
		var err error
		if r.facts, err = r.env.Host.WatchFacts(ctx); err != nil {
			r.env.Log().Warn("the facts cannot be watched: the deploy follows them at the next reload", slog.String("topic", r.o.Topic), slog.Any("error", err))
			r.facts = noFacts{}
		}
	}
	if !r.fresh { // a fact may have changed between the graph and the watch
		return oneWake
	}
	return r.facts.C()
}

// oneWake is ready for its one reader at a time: nothing is taken out of it.
var oneWake = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// noFacts is a subscription that never wakes.
type noFacts struct{ events.Subscription }

// C implements events.Subscription.
func (noFacts) C() <-chan struct{} { return nil }

// Close implements events.Subscription.
func (noFacts) Close() {}

// closeFacts ends the watch of the facts.
func (r *reader) closeFacts() {
	if r.facts != nil {
		r.facts.Close()
	}
}

// factsChanged tries a refused deploy again that reads facts, else it makes the graph of the present one anew. ok is false where the
// host has ended the watch. retry and asked are as in run.
func (r *reader) factsChanged(ctx context.Context, ok bool) (more, retry, asked bool) {
	if ok && r.reads && r.refusedDue() {
		more, retry = r.advance(ctx, nil)
		return more, retry, true
	}
	return r.expand(ok), false, false
}

// expand makes the graph of the present deploy anew, with the facts and the store of this moment, and yields it where it is another one. A graph that
// is refused then is told as a refusal of the deploy, and the last good graph goes on. ok is false where the host has ended the watch.
func (r *reader) expand(ok bool) (more bool) {
	was := r.current()
	if !ok {
		r.facts = noFacts{}
		return true
	}
	if was == nil {
		return true
	}
	t, err := r.load(was.manifest, was.record, was.content)
	switch {
	case err != nil:
		return r.refused(was.manifest.Number, err) || r.yield(nil, r.named(was.manifest.Number, err))
	case t.state == was.state:
		return true
	}
	t.kept = was.kept
	return r.try(t)
}

// refusedDue reports whether the deploy that is due was refused as a graph. Such a deploy may be good with another answer of the store.
func (r *reader) refusedDue() bool {
	return r.due != 0 && r.due != r.number() && !r.other && r.standing.Refused == r.due && r.standing.Code == deploy.Code(deploy.ErrGraph)
}

// try yields a new deploy. It is pending until the engine has judged it.
func (r *reader) try(t *taken) bool {
	r.mu.Lock()
	r.pending = t
	r.mu.Unlock()
	return r.show(t, nil)
}

// show yields a graph. A verdict that is there by then is taken over at once: the engine judges within the yield, unless
// the graph waits for the first graphs of other frontends.
func (r *reader) show(t *taken, err error) bool {
	d := &gapi.Declared{}
	if t != nil {
		d = t.graph
	}
	r.began = true
	if err != nil {
		d = nil
	}
	if !r.yield(d, err) {
		return false
	}
	select {
	case <-r.judged:
		return r.settle()
	default:
		return true
	}
}

// done is called by the engine with each verdict on a graph. It may come from another goroutine, and again for each whole that
// the graph is part of: only the first verdict on a pending deploy counts.
//
// A graph that is held is no verdict: it stays pending until an operator of this host lets it go, and is then judged again.
func (f *Frontend) done(t *taken, o gapi.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending != t {
		return // it was in effect before, in another whole
	}
	f.verdict, f.held, f.left = o.Err, o.Held, o.Left
	select {
	case f.judged <- struct{}{}:
	default:
	}
}

// settle takes a verdict over: the deploy is in effect and kept, or the one before is yielded again. The engine has kept that one in
// effect all the time, so this costs a comparison and no run.
func (r *reader) settle() bool {
	r.mu.Lock()
	t, err, held, left := r.pending, r.verdict, r.held, r.left
	if !held {
		r.pending = nil
	}
	r.verdict, r.held, r.left = nil, false, nil
	r.mu.Unlock()
	switch {
	case t == nil:
		return true
	case held:
		r.note(func(s *deploy.Standing) {
			s.Refused, s.Code, s.Error = 0, "", shortened(fmt.Sprintf("deploy %d is held: %v", t.manifest.Number, err))
		})
		return true
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		r.refused(t.manifest.Number, fmt.Errorf("%w: %w", deploy.ErrGraph, err))
		if t == r.inEffect { // the one of the file
			r.inEffect = nil
		}
		if r.inEffect != nil && r.standing.Number == 0 { // the one of the file was not judged yet
			return r.try(r.inEffect)
		}
		return r.show(r.current(), nil)
	}
	r.accept(t, left)
	return true
}

// accept notes that a deploy is in effect, and what has left the graph with it.
func (r *reader) accept(t *taken, left []gapi.Left) {
	ids := map[string]bool{}
	for i := range t.graph.Resources {
		d := &t.graph.Resources[i]
		ids[schema.Ref{Kind: strings.ToLower(d.Kind), Name: d.Name}.ID()] = true
	}
	r.mu.Lock()
	r.inEffect, r.ids = t, ids
	r.mu.Unlock()
	r.floor = max(r.floor, t.manifest.Number)
	if err := r.keep(t); err != nil {
		r.env.Log().Warn("the deploy in effect cannot be kept in the state folder: without the store, a restart begins with an older one", slog.Any("error", err))
	}
	r.env.Log().Info("a deploy is in effect", slog.String("topic", r.o.Topic), slog.Int64("number", t.manifest.Number), slog.String("by", t.manifest.By))
	r.note(func(s *deploy.Standing) {
		if s.Number == 0 {
			left = nil // compared with what an earlier process had: it need not be of a deploy
		}
		if s.Number != t.manifest.Number || len(left) > 0 { // else it was made anew, as with another fact
			s.Left, s.More = nil, max(0, len(left)-deploy.MaxLeft)
			for _, l := range left[:len(left)-s.More] {
				s.Left = append(s.Left, deploy.Left(l))
			}
		}
		s.Number, s.Digest, s.State = t.manifest.Number, t.manifest.Digest, deploy.StateTaken
		if t.manifest.Number == r.due && !r.other { // else another one is due, which may be refused
			s.Refused, s.Code, s.Error = 0, "", ""
		}
	})
}

// refused notes why a deploy is refused. It reports whether that was noted before.
func (r *reader) refused(number int64, err error) (again bool) {
	why := shortened(err.Error())
	r.note(func(s *deploy.Standing) {
		again = s.Refused == number && s.Error == why
		s.Refused, s.Code, s.Error = number, cmp.Or(deploy.Code(err), deploy.Code(deploy.ErrGraph)), why
	})
	return again
}

// maxError bounds the text of an error in a report.
const maxError = 1000

// shortened keeps a report small: the store has one for each host.
func shortened(text string) string {
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + " ..."
	}
	return text
}

// note alters the standing, and wakes the Reporter. It never blocks: a token that waits stands for this change, too.
func (f *Frontend) note(alter func(*deploy.Standing)) {
	f.mu.Lock()
	alter(&f.standing)
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// reload answers a question with the graph of this moment. A deploy that was refused is tried again: the reason may have been
// another part of the whole, which the operator of this host has corrected.
func (r *reader) reload(ctx context.Context) (more, retry bool) {
	if r.env.Before != nil {
		if err := r.env.Before(ctx); err != nil {
			return r.show(nil, err), false
		}
	}
	if r.due > r.number() {
		t, err := r.fetch(ctx, r.due)
		if err == nil {
			r.trial = ""
			return r.try(t), false
		}
		if retry = deploy.Code(err) == ""; retry {
			r.warn(err)
		}
	}
	return r.show(r.current(), nil), retry
}
