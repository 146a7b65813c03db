package enginetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// env is what one law works with. Each law has one, with its own scope. A law that runs
// in two ways copies it.
type env struct {
	Suite
	t     *testing.T
	scope *scope
	noop  bool // the handles say that nothing is ever applied
}

// dir makes the world of one resource. VarDir lies next to it and not below, so that a
// Snapshot of the world does not show it.
func (e *env) dir() (string, error) {
	dir := filepath.Join(e.t.TempDir(), "world")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if e.Prepare != nil {
		e.Prepare(e.t, dir)
	}
	return dir, nil
}

// make makes a resource that is not initialised. The lifecycle sets kind and name, as
// it does for a graph. Each call makes a resource of its own.
func (e *env) make(dir string) (engine.Res, error) {
	res := e.New(e.t, dir)
	if res == nil {
		return nil, errors.New("no resource came from New")
	}
	return lifecycle.Make(e.Registry, lifecycle.Wanted{Kind: e.Kind, Name: cmp.Or(res.Name(), "suite"), Ready: res}, nil)
}

// rig is one resource with its fake, between Init and Cleanup. The scope of its law
// closes it, so a law that fails half-way leaves nothing behind. A law may close it
// earlier.
type rig struct {
	*env
	dir       string
	machine   *machine
	fake      *Fake
	res       engine.Res
	life      lifecycle.Life // of res
	unwatched bool           // the kind says that it has nothing to watch
	cleaned   bool           // Cleanup was called; it may hang
	cancel    func()         // ends Watch; nil while none runs
	done      chan error     // what Watch returned
}

// rig makes a world with a resource in it, ready to run. It is not watched and not
// applied yet.
func (e *env) rig() (*rig, error) {
	dir, err := e.dir()
	if err != nil {
		return nil, err
	}
	return e.rigAt(dir, e.machine())
}

// machine is the common part of resources that run at the same time. As in an engine,
// they are lives of one lifecycle.Env. A Shared is opened once for them, and is closed
// with the last of them.
type machine struct {
	host  engine.Host
	world world.World    // nil before the first resource
	lives *lifecycle.Env // the same
}

// machine makes a machine without a resource.
func (e *env) machine() *machine { return &machine{host: e.host()} }

// livesOf returns the Env of the machine. The handle of its first resource says how
// that is. If the suite has put a Shared into that handle, the Env opens none.
func (e *env) livesOf(m *machine, first *engine.Init) *lifecycle.Env {
	if m.lives == nil {
		m.world = first.World
		m.lives = lifecycle.NewEnv(lifecycle.Options{Host: first.Host, World: first.World, NoShared: first.Shared != nil})
		e.scope.Cleanup(func() {
			if err := e.within("Close of what resources share", m.lives.Close); err != nil {
				e.scope.add(err)
			}
		})
	}
	return m.lives
}

// host makes the Host of a machine. The suite's Host registers its Cleanup with the
// scope, so it ends before remains are counted.
func (e *env) host() engine.Host {
	if e.Host == nil {
		return NewHost()
	}
	return e.Host(e.scope)
}

// rigAt makes a resource of the suite in a world. Two rigs at one folder are two
// resources of one name, as during a swap.
func (e *env) rigAt(dir string, m *machine) (*rig, error) {
	res, err := e.make(dir)
	if err != nil {
		return nil, err
	}
	return e.rigOf(res, dir, m)
}

// rigOf makes a rig of a ready resource. The order is the engine's: abilities, the
// handle, Validate, the Shared, Init. The scope gets the close only after a good Init,
// as nothing else is to be closed before.
func (e *env) rigOf(res engine.Res, dir string, m *machine) (*rig, error) {
	a, err := engine.AbilitiesOf(res)
	if err != nil {
		return nil, err
	}
	r := &rig{env: e, dir: dir, machine: m, res: res, unwatched: a.Unwatched}
	options := []Option{WithHost(m.host), WithVarDir(filepath.Join(filepath.Dir(dir), "var"))}
	if m.world != nil {
		options = append(options, WithWorld(m.world))
	}
	if e.noop {
		options = append(options, WithNoop())
	}
	r.fake = NewInit(e.scope, options...)
	if e.Setup != nil {
		e.Setup(e.t, dir, r.fake)
	}
	if err := traced(lifecycle.Validate(res, nil)); err != nil {
		return nil, fmt.Errorf("by Validate: %w", err)
	}
	if err := e.within("Init", r.begin); err != nil {
		return nil, fmt.Errorf("by Init: %w", err)
	}
	e.scope.Cleanup(func() {
		if err := r.close(); err != nil {
			e.scope.add(err)
		}
	})
	return r, nil
}

// begin opens the Shared of the resource, unless the suite's Setup has given one to the
// fake, and calls Init with the handle of the fake. Opening may wait for a machine, so
// it has a context with the Timeout of the suite.
func (r *rig) begin() error {
	given := r.fake.Init()
	r.livesOf(r.machine, given).Join(&r.life, r.res.String(), r.res)
	ctx, cancel := context.WithTimeout(context.Background(), r.Timeout)
	defer cancel()
	return traced(r.life.Init(ctx, func(h *engine.Init) {
		if given.Shared == nil {
			given.Shared = h.Shared
		}
		*h = *given
	}))
}

// shared calls f as the engine does, between Begin and End of the Shared. A resource
// that shares nothing has a nil Share, whose Begin does nothing.
func (r *rig) shared(ctx context.Context, f func() error) error {
	s := r.life.Share()
	if err := s.Begin(ctx); err != nil {
		return traced(err)
	}
	err := f()
	if s == nil {
		return err
	}
	return errors.Join(err, traced(s.End(func() bool { return true })))
}

// close ends Watch and calls Cleanup, once. A Cleanup that hangs is not tried again by
// the scope.
func (r *rig) close() error {
	err := r.unwatch()
	if r.cleaned {
		return err
	}
	r.cleaned = true
	if cerr := r.within("Cleanup", func() error { return traced(r.life.Cleanup()) }); cerr != nil {
		err = errors.Join(err, fmt.Errorf("Cleanup: %w", cerr))
	}
	return err
}

// within calls f, and waits for it no longer than something may take that has a context
// of Timeout, or needs none. The goroutine of a method that hangs stays, and the count
// of remains reports it as well.
func (e *env) within(what string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- guard(what, f) }()
	err, ok := receive(done, 2*e.Timeout)
	if !ok {
		return fmt.Errorf("%s did not return within %s", what, 2*e.Timeout)
	}
	return err
}

// tree is the world and the folder of the resource.
func (r *rig) tree() Tree {
	return r.Snapshot(r.scope, r.dir).merge(Snapshot(r.scope, r.fake.VarDir()))
}

// run calls CheckApply, and returns an error also where its result and its reports
// do not go together.
func (r *rig) run(apply bool) (ok bool, changes []engine.Change, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.Timeout)
	defer cancel()
	return r.runWith(ctx, apply)
}

// runWith is run with a context of the caller. The fake forgets the reports of the run
// before, and knows of noop as the engine tells it.
func (r *rig) runWith(ctx context.Context, apply bool) (ok bool, changes []engine.Change, err error) {
	r.fake.Reset()
	r.fake.SetNoop(!apply)
	defer r.fake.SetNoop(false)
	answer := make(chan bool, 1)
	err = r.within("CheckApply", func() error {
		return r.shared(ctx, func() error {
			ok, err := r.res.CheckApply(ctx, apply)
			answer <- ok
			return err
		})
	})
	select {
	case ok = <-answer:
	default: // it panicked, or did not return
	}
	changes = r.fake.Changes()
	switch {
	case err != nil && ok:
		err = fmt.Errorf("CheckApply(%t) returned true and an error: %w", apply, err)
	case err != nil:
		err = fmt.Errorf("CheckApply(%t): %w", apply, err)
	// The contract of the engine allows no silent change, and no report without a
	// change.
	case ok && len(changes) > 0:
		err = fmt.Errorf("CheckApply(%t) returned true, but reported %v", apply, changes)
	case !ok && len(changes) == 0:
		err = fmt.Errorf("CheckApply(%t) returned false, but reported no Change", apply)
	}
	return ok, changes, err
}

// want calls CheckApply where the answer is known.
func (r *rig) want(apply, ok bool, when string) error {
	got, changes, err := r.run(apply)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", when, err)
	case got != ok:
		return fmt.Errorf("%s: CheckApply(%t) returned %t with changes %v", when, apply, got, changes)
	}
	return nil
}

// apply makes the world right.
func (r *rig) apply() error {
	_, _, err := r.run(true)
	return err
}

// settled checks that the world is right, as CheckApply sees it. A kind without a state
// only has to run without an error.
func (r *rig) settled(when string) error {
	if r.NoState {
		_, _, err := r.run(true)
		return err
	}
	return r.want(true, true, when)
}

// watch starts Watch and waits until it says Running, where it has to. A Watch that
// ends before Running fails at once, without the whole wait.
func (r *rig) watch() error {
	r.fake.Restart()
	ctx, cancel := context.WithCancel(context.Background())
	r.start(ctx, cancel)
	if r.unwatched {
		return nil
	}
	timer := time.NewTimer(r.Timeout)
	defer timer.Stop()
	select {
	case <-r.fake.Running():
		return nil
	case err := <-r.done:
		return r.early(err)
	case <-timer.C:
		return errors.New("its Watch did not call Running")
	}
}

// start calls Watch on a goroutine, which ends with it. done has room for the result,
// so it never waits for a reader.
func (r *rig) start(ctx context.Context, cancel func()) {
	done := make(chan error, 1)
	r.cancel, r.done = cancel, done
	go func() { done <- guard("Watch", func() error { return r.res.Watch(ctx) }) }()
}

// early judges a Watch that ended by itself. Its context is ended too, so that nothing
// that it made lives on.
func (r *rig) early(err error) error {
	r.cancel()
	r.cancel = nil
	if err == nil {
		return errors.New("its Watch ended before its context did, without an error")
	}
	return fmt.Errorf("its Watch ended before its context did: %w", err)
}

// unwatch ends Watch, if it runs, and judges how it ended and used Running. A second
// call does nothing.
func (r *rig) unwatch() error {
	if r.cancel == nil {
		return nil
	}
	select {
	case err := <-r.done:
		return r.early(err)
	default:
	}
	r.cancel()
	r.cancel = nil
	err, ok := receive(r.done, r.Timeout)
	switch n := r.fake.RunningCount(); {
	case !ok:
		return fmt.Errorf("its Watch did not end within %s of the end of its context", r.Timeout)
	case err != nil && !errors.Is(err, context.Canceled):
		return fmt.Errorf("its Watch ended with an error that is not its context's: %w", err)
	case n > 1:
		return fmt.Errorf("its Watch called Running %d times", n)
	}
	return nil
}

// quietTime is how long no event must come to call a Watch quiet. On a slow machine an
// event may come later. Then a law passes that should fail, and never the reverse.
const quietTime = 30 * time.Millisecond

// quiet takes the events that are on their way. It does not wait for an endless one
// longer than a few rounds. Otherwise an old event would be taken for one of the next
// drift.
func (r *rig) quiet() {
	for range 20 {
		timer := time.NewTimer(quietTime)
		select {
		case <-r.fake.Events():
			timer.Stop()
		case <-timer.C:
			return
		}
	}
}

// event waits for an event.
func (r *rig) event() error {
	timer := time.NewTimer(r.Timeout)
	defer timer.Stop()
	select {
	case <-r.fake.Events():
		return nil
	case err := <-r.done:
		return r.early(err)
	case <-timer.C:
		return errors.New("its Watch did not see it")
	}
}

// drift breaks the world, and wakes a FakeHost. A FakeHost watches no real file, so it
// is told each path that differs. A folder whose entries alone differ is left out, as
// its entries are told themselves.
func (r *rig) drift(name string) {
	host, fake := r.fake.Init().Host.(*FakeHost)
	if !fake {
		r.Drifts[name](r.t, r.dir)
		return
	}
	before := r.tree()
	r.Drifts[name](r.t, r.dir)
	after := r.tree()
	for _, p := range before.Changed(after) {
		if !before.entriesOnly(after, p) {
			host.Touch(p)
		}
	}
}

// eachDrift calls f for each drift on a world of its own, in which the resource has
// been applied. The names are taken in sorted order, so that a failure is the same each
// time.
func (e *env) eachDrift(f func(r *rig, name string) error) error {
	for _, name := range slices.Sorted(maps.Keys(e.Drifts)) {
		r, err := e.rig()
		if err == nil {
			err = r.apply()
		}
		if err == nil {
			err = f(r, name)
		}
		if err != nil {
			return fmt.Errorf("drift %q: %w", name, err)
		}
		if err := r.close(); err != nil {
			return fmt.Errorf("drift %q: %w", name, err)
		}
	}
	return nil
}

// fields returns the type of a resource and its Go side. The Go side is the struct that
// holds the parameters.
func fields(res engine.Res) (*schema.Type, reflect.Value, error) {
	t, err := schema.Of(res)
	return t, sideOf(res), err
}

// sideOf returns the Go side of a resource that has one.
func sideOf(res engine.Res) reflect.Value {
	_, rv, _ := schema.Side(res)
	return rv
}
