package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
)

// doors holds up the changes of the resources of its kind.
type doors struct {
	begun, gate chan struct{}

	mu   sync.Mutex
	seen []string // the comments that were validated
}

// held is a resource of doors.
type held struct {
	basic.NoopRes
	doors *doors
}

func (h *held) Default() engine.Res { return &held{doors: h.doors} }

// Validate waits for the gate.
func (h *held) Validate() error {
	h.doors.mu.Lock()
	h.doors.seen = append(h.doors.seen, h.Comment)
	h.doors.mu.Unlock()
	select {
	case h.doors.begun <- struct{}{}:
	default:
	}
	<-h.doors.gate
	return nil
}

// writing starts an Engine with three noops and a kind that waits at doors, and returns its changes. The function tells of each swap.
func writing(t *testing.T, o mgmt.Options) (e *mgmt.Engine, ctx context.Context, d *doors, swapped func() string) {
	t.Helper()
	d = &doors{begun: make(chan struct{}, 1), gate: make(chan struct{})}
	reg, err := engine.DefaultRegistry().With("held", func() engine.Res { return &held{doors: d} })
	if err != nil {
		t.Fatal(err)
	}
	swaps := make(chan string, 100)
	o.Registry, o.NoAutoGroup = reg, true
	o.Observer = o.Observer.With(mgmt.Observer{Swapped: func(s reactor.Swap) { swaps <- fmt.Sprint(s.Added, s.Changed, s.Removed) }})
	e, ctx = applied(t, o)
	if _, err := e.Apply(ctx, noops(3)); err != nil {
		t.Fatal(err)
	}
	swapped = func() string {
		t.Helper()
		select {
		case s := <-swaps:
			return s
		case <-ctx.Done():
			t.Fatal(context.Cause(ctx))
			return ""
		}
	}
	swapped()
	return e, ctx, d, swapped
}

// running runs changes. The returned function ends that, and returns the error of Run and all refusals.
func running(ctx context.Context, c *mgmt.Changes) (stop func() (refusals []string, err error)) {
	return runningIn(&asked{Context: ctx}, c)
}

func runningIn(in *asked, c *mgmt.Changes) (stop func() (refusals []string, err error)) {
	ctx, cancel := context.WithCancel(in.Context)
	in.Context = ctx
	done := make(chan error, 1)
	var all []string
	go func() {
		done <- c.Run(in, func(id string, err error) { all = append(all, id+": "+err.Error()) })
	}()
	return func() ([]string, error) { cancel(); err := <-done; return all, err }
}

// TestFindingM1Changes: the changes of one resource that come while a batch is under way count once, and the last one wins.
func TestFindingM1Changes(t *testing.T) {
	e, ctx, d, swapped := writing(t, mgmt.Options{})
	c := e.Changes()
	stop := running(ctx, c)
	put := func(name string, n int) {
		c.Put(static.Declare("held", name, &held{doors: d, NoopRes: basic.NoopRes{Comment: fmt.Sprint(name, n)}}))
	}
	put("a", 0)
	<-d.begun
	for n := range 1000 {
		put("a", n+1)
	}
	put("b", 1)
	c.Delete("held[b]") // it has never been there
	c.Delete("noop[n0]")
	put("c", 1)
	c.Delete("held[c]")
	put("c", 2)
	close(d.gate)
	if first, second := swapped(), swapped(); first != "1 0 0" || second != "1 1 1" {
		t.Errorf("%s, %s", first, second)
	}
	if refusals, err := stop(); len(refusals) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", refusals, err)
	}
	if want := []string{"a0", "a1000", "c2"}; !slices.Equal(d.seen, want) {
		t.Errorf("%q, want %q", d.seen, want)
	}
}

// TestFindingM1ChangesRefused: changes that are wrong are refused, and the others take effect together. Removals that MaxRemovals holds stay
// held, whatever comes with them.
func TestFindingM1ChangesRefused(t *testing.T) {
	e, ctx, d, swapped := writing(t, mgmt.Options{MaxRemovals: reactor.Removals{Most: 1}})
	close(d.gate)
	c := e.Changes()
	for _, step := range []struct {
		gather func()
		swap   string
		want   []string
	}{
		{func() {
			c.Put(noopOf("x", 1, "nowhere"))
			c.Put(noopOf("z", 1, "y"))
			c.Put(noopOf("y", 1, "n1"))
			c.Delete("noop[n2]")
		}, "2 0 1", []string{"noop[x]: "}},
		{func() {
			c.Delete("noop[n1]")
			c.Put(noopOf("n0", 2))
		}, "0 1 0", []string{"noop[n1]: "}},
		{func() {
			c.Put(noopOf("x", 1, "nowhere"))
			c.Delete("noop[n0]")
			c.Delete("noop[z]")
			c.Put(noopOf("n4", 1))
		}, "1 0 0", []string{"noop[x]: ", "noop[n0]: ", "noop[z]: "}},
		{func() {
			c.Put(noopOf("n1", 1, "y"))
			c.Put(noopOf("n3", 1))
		}, "1 0 0", []string{"noop[n1]: "}},
	} {
		step.gather()
		stop := running(ctx, c)
		if s := swapped(); s != step.swap {
			t.Errorf("%s, want %s", s, step.swap)
		}
		refusals, _ := stop()
		if !slices.EqualFunc(refusals, step.want, strings.HasPrefix) {
			t.Errorf("%q, want %q", refusals, step.want)
		}
	}
}

// holding starts an Engine as writing does, where two removals at once are held, and has those of n0 and n1 held.
func holding(t *testing.T, o mgmt.Options) (e *mgmt.Engine, ctx context.Context, c *mgmt.Changes, swapped func() string, stop func() (refusals []string, err error), d *doors) {
	o.MaxRemovals = reactor.Removals{Most: 1}
	e, ctx, d, swapped = writing(t, o)
	c = e.Changes()
	c.Delete("noop[n0]")
	c.Delete("noop[n1]")
	c.Put(noopOf("a", 1))
	stop = running(ctx, c)
	if s := swapped(); s != "1 0 0" {
		t.Errorf("%s: removals that are held went", s)
	}
	return e, ctx, c, swapped, stop, d
}

// resume accepts what is held.
func resume(ctx context.Context, t *testing.T, e *mgmt.Engine) {
	t.Helper()
	if _, err := e.Resume(ctx, reactor.Which{All: true}); err != nil {
		t.Error(err)
	}
}

// TestFindingM1ChangesHeld: removals that are held wait while other changes go on, are told once, and go with Resume.
func TestFindingM1ChangesHeld(t *testing.T) {
	waits := make(chan bool, 10)
	e, ctx, c, swapped, stop, d := holding(t, mgmt.Options{Observer: mgmt.Observer{Swapped: func(s reactor.Swap) { waits <- s.Held != nil }}})
	close(d.gate)
	c.Put(noopOf("b", 1))
	if s := swapped(); s != "1 0 0" {
		t.Error(s)
	}
	c.Delete("noop[a]") // it joins them
	c.Put(noopOf("c", 1))
	if s := swapped(); s != "1 0 0" {
		t.Error(s)
	}
	resume(ctx, t, e)
	if s := swapped(); s != "0 0 3" {
		t.Error(s)
	}
	c.Delete("noop[b]")
	if s := swapped(); s != "0 0 1" {
		t.Error(s)
	}
	refusals, _ := stop()
	if want := []string{"noop[n0]: held", "noop[n1]: held", "noop[a]: held"}; !slices.EqualFunc(refusals, want, strings.HasPrefix) {
		t.Errorf("%q, want %q", refusals, want)
	}
	for i, want := range []bool{false, true, true, true, false, false} {
		if got := <-waits; got != want {
			t.Errorf("swap %d tells of removals that wait: %t", i, got)
		}
	}
}

// TestFindingM1ChangesGone: removals that are held wait no longer when other changes have made them.
func TestFindingM1ChangesGone(t *testing.T) {
	waits := make(chan bool, 10)
	e, ctx, _, swapped, stop, d := holding(t, mgmt.Options{Observer: mgmt.Observer{Swapped: func(s reactor.Swap) { waits <- s.Held != nil }}})
	close(d.gate)
	for _, id := range []string{"noop[n0]", "noop[n1]"} {
		if err := e.Patch(ctx, mgmt.Patch{Delete: []string{id}}); err != nil {
			t.Fatal(err)
		}
		swapped()
	}
	stop()
	for i, want := range []bool{false, true, true, false} {
		if got := <-waits; got != want {
			t.Errorf("swap %d tells of removals that wait: %t", i, got)
		}
	}
}

// TestFindingM1ChangesTakenBack: a Put takes a removal back that is held. The others are held no longer if they are few enough now.
func TestFindingM1ChangesTakenBack(t *testing.T) {
	_, _, c, swapped, stop, d := holding(t, mgmt.Options{})
	close(d.gate)
	c.Put(noopOf("n0", 2))
	if s := swapped(); s != "0 1 1" {
		t.Error(s)
	}
	stop()
}

// TestFindingM1ChangesAccepted: Resume lets what was shown go, also while a batch is under way that has more removals.
func TestFindingM1ChangesAccepted(t *testing.T) {
	e, ctx, c, swapped, stop, d := holding(t, mgmt.Options{})
	c.Put(static.Declare("held", "x", &held{doors: d}))
	c.Delete("noop[n2]")
	<-d.begun
	resume(ctx, t, e)
	close(d.gate)
	for _, want := range []string{"1 0 0", "0 0 2", "0 0 1"} {
		if s := swapped(); s != want {
			t.Errorf("%s, want %s", s, want)
		}
	}
	stop()
}

// TestFindingM1ChangesBeside: changes that are gathered leave it alone that Resume lets another removal go.
func TestFindingM1ChangesBeside(t *testing.T) {
	e, ctx, d, swapped := writing(t, mgmt.Options{MaxRemovals: reactor.Removals{Most: 1}})
	close(d.gate)
	c := e.Changes()
	stop := running(ctx, c)
	put := func(name string) {
		c.Put(noopOf(name, 1))
		swapped()
	}
	gone := []string{"noop[n0]", "noop[n1]"}
	if _, ok := errors.AsType[*reactor.RemovalsError](e.Patch(ctx, mgmt.Patch{Delete: gone})); !ok {
		t.Error("it was not held")
	}
	put("a")
	resume(ctx, t, e)
	put("b")
	if err := e.Patch(ctx, mgmt.Patch{Delete: gone}); err != nil {
		t.Error(err)
	}
	stop()
}

// TestFindingM1ChangesHeldStay: removals that are held when Run ends wait for the next one.
func TestFindingM1ChangesHeldStay(t *testing.T) {
	e, ctx, c, swapped, stop, d := holding(t, mgmt.Options{})
	close(d.gate)
	stop()
	resume(ctx, t, e)
	stop = running(ctx, c)
	if s := swapped(); s != "0 0 2" {
		t.Error(s)
	}
	stop()
}

// TestFindingM1ChangesReferred: all removals of what others need are found at once.
func TestFindingM1ChangesReferred(t *testing.T) {
	refused := make(chan error, 1000)
	e, ctx, d, swapped := writing(t, mgmt.Options{Observer: mgmt.Observer{Refused: func(err error) { refused <- err }}})
	close(d.gate)
	c := e.Changes()
	const n = 20
	for i := range n {
		c.Put(noopOf(fmt.Sprint("below", i), 1))
		c.Put(noopOf(fmt.Sprint("above", i), 1, fmt.Sprint("below", i)))
	}
	stop := running(ctx, c)
	swapped()
	stop()
	for i := range n {
		c.Delete(fmt.Sprintf("noop[below%d]", i))
	}
	c.Put(noopOf("x", 1))
	stop = running(ctx, c)
	swapped()
	refusals, _ := stop()
	if len(refusals) != n || len(refused) > 1 {
		t.Errorf("%d refusals in %d batches", len(refusals), len(refused))
	}
}

// TestFindingM1ChangesNobody: without a function for them refusals are warnings of the log.
func TestFindingM1ChangesNobody(t *testing.T) {
	var log syncBuffer
	e, ctx, d, swapped := writing(t, mgmt.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	close(d.gate)
	c := e.Changes()
	c.Put(noopOf("x", 1, "nowhere"))
	c.Put(noopOf("y", 1))
	ended := make(chan error)
	run, cancel := context.WithCancel(ctx)
	go func() { ended <- c.Run(run, nil) }()
	swapped()
	cancel()
	<-ended
	if s := log.String(); !strings.Contains(s, `level=WARN msg="change refused" resource=noop[x]`) {
		t.Error(s)
	}
}

// TestFindingM1ChangesStay: what is not in effect when Run ends is for the next Run.
func TestFindingM1ChangesStay(t *testing.T) {
	e, ctx, d, swapped := writing(t, mgmt.Options{})
	c := e.Changes()
	put := func(name, comment string) {
		c.Put(static.Declare("held", name, &held{doors: d, NoopRes: basic.NoopRes{Comment: comment}}))
	}
	gone, cancel := context.WithCancelCause(ctx)
	put("a", "1")
	put("c", "1")
	stop := running(gone, c)
	<-d.begun
	put("b", "1")
	put("a", "2")
	enough := errors.New("enough")
	cancel(enough)
	close(d.gate)
	if refusals, err := stop(); len(refusals) > 0 || !errors.Is(err, enough) {
		t.Errorf("%q, %v", refusals, err)
	}
	stop = running(ctx, c)
	if s := swapped(); s != "3 0 0" {
		t.Error(s)
	}
	if refusals, _ := stop(); len(refusals) > 0 {
		t.Errorf("%q", refusals)
	}
	err := e.Look(ctx, func(r mgmt.Running) error {
		for id, want := range map[string]string{"held[a]": "2", "held[b]": "1", "held[c]": "1"} {
			if v := r.Find(id); v == nil || v.Res.(*held).Comment != want {
				t.Errorf("%s is %v", id, v)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFindingM1ChangesOfAnEnd: Run ends with its Engine.
func TestFindingM1ChangesOfAnEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e, err := mgmt.Open(ctx, mgmt.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	c := e.Changes()
	go func() { ended <- c.Run(t.Context(), nil) }()
	cancel()
	if err := e.Wait(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, reactor.ErrStopped) {
		t.Error(err)
	}
}

// asked is a context that tells of each call of Done.
type asked struct {
	context.Context
	calls chan struct{}
}

func (c *asked) Done() <-chan struct{} {
	select {
	case c.calls <- struct{}{}:
	default:
	}
	return c.Context.Done()
}

// begins runs changes, and returns when the first batch has been taken: Run has looked at ctx twice before that, and once after it.
func begins(ctx context.Context, c *mgmt.Changes) (stop func() (refusals []string, err error)) {
	seen := &asked{ctx, make(chan struct{}, 3)}
	stop = runningIn(seen, c)
	for range 3 {
		<-seen.calls
	}
	return stop
}

// TestFindingM1ChangesOfOthers: what another change removes while a batch waits for it has left, and costs the rest of the batch nothing.
func TestFindingM1ChangesOfOthers(t *testing.T) {
	e, ctx, d, swapped := writing(t, mgmt.Options{})
	other := make(chan error, 1)
	part := static.NewGraph("other")
	part.Add("held", "o", &held{doors: d})
	go func() { other <- e.Patch(ctx, mgmt.Patch{Upsert: part.Declared(), Delete: []string{"noop[n0]"}}) }()
	<-d.begun
	c := e.Changes()
	c.Put(noopOf("x", 1))
	c.Delete("noop[n0]")
	stop := begins(ctx, c)
	close(d.gate)
	if err := <-other; err != nil {
		t.Fatal(err)
	}
	if first, second := swapped(), swapped(); first != "1 0 1" || second != "1 0 0" {
		t.Errorf("%s, %s", first, second)
	}
	if refusals, _ := stop(); len(refusals) > 0 {
		t.Errorf("%q", refusals)
	}
}

// TestFindingM1ChangesOfNothing: a removal of what is not there is no change of the graph.
func TestFindingM1ChangesOfNothing(t *testing.T) {
	swaps := make(chan reactor.Swap, 10)
	e, ctx := applied(t, mgmt.Options{Observer: mgmt.Observer{Swapped: func(s reactor.Swap) { swaps <- s }}})
	c := e.Changes()
	c.Delete("noop[none]")
	stop := begins(ctx, c)
	c.Put(noopOf("x", 1))
	if s := <-swaps; s.Added != 1 {
		t.Errorf("%+v", s)
	}
	if refusals, _ := stop(); len(refusals) > 0 {
		t.Errorf("%q", refusals)
	}
}

// TestFindingM1ChangesByName: changes are gathered by the names that resources have in a graph.
func TestFindingM1ChangesByName(t *testing.T) {
	reg, err := engine.DefaultRegistry().With("aimed", func() engine.Res { return &aimed{} })
	if err != nil {
		t.Fatal(err)
	}
	swaps := make(chan reactor.Swap, 10)
	e, ctx := applied(t, mgmt.Options{Registry: reg, Observer: mgmt.Observer{Swapped: func(s reactor.Swap) { swaps <- s }}})
	c := e.Changes()
	for _, on := range []string{"", "one", "two", "three"} {
		c.Put(static.Declare("aimed", "x", &aimed{On: on}))
	}
	c.Delete("Aimed[x]")
	c.Delete("aimed[x@one]")
	stop := running(ctx, c)
	if s := <-swaps; s.Added != 2 {
		t.Errorf("%+v", s)
	}
	if refusals, _ := stop(); len(refusals) > 0 {
		t.Errorf("%q", refusals)
	}
}
