package look_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// cupboard is the world of the kind jar: what is on it, and what was done with it.
type cupboard struct {
	mu     sync.Mutex
	jars   map[string]string
	calls  []string
	looked int                                 // by List
	fault  func(method, name string) error     // may panic
	events chan struct{}                       // wake the Watch
	hold   func(ctx context.Context, _ string) // in Read
}

func (s *cupboard) did(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, method)
}

func (s *cupboard) put(name, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if label == "" {
		delete(s.jars, name)
		return
	}
	s.jars[name] = label
}

func (s *cupboard) at(name string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	label, ok := s.jars[name]
	return label, ok
}

func (s *cupboard) wrong(method, name string) error {
	if s.fault == nil {
		return nil
	}
	return s.fault(method, name)
}

type jar struct {
	traits.Base
	cupboard *cupboard
	init     *engine.Init

	Label  string        `yaml:"label" mgmt:"required"`
	Size   int           `yaml:"size"`
	Weight int           `yaml:"weight" mgmt:"readonly"`
	Pin    schema.Secret `yaml:"pin"`
}

func (j *jar) Default() engine.Res { return &jar{cupboard: j.cupboard, Size: 1} }
func (j *jar) Validate() error {
	if strings.Contains(j.Name(), "/") {
		return errors.New("a jar has no slash in its name")
	}
	return j.cupboard.wrong("Validate", j.Name())
}

func (j *jar) Init(init *engine.Init) error {
	j.init = init
	if err := j.cupboard.wrong("Init", j.Name()); err != nil {
		return err
	}
	j.cupboard.did("Init")
	return nil
}

func (j *jar) Cleanup() error {
	j.cupboard.did("Cleanup")
	return j.cupboard.wrong("Cleanup", j.Name())
}

var errQuiet = errors.New("end without a word")

func (j *jar) Watch(ctx context.Context) error {
	j.init.Running()
	for {
		select {
		case <-j.cupboard.events:
			if err := j.cupboard.wrong("Watch", j.Name()); errors.Is(err, errQuiet) {
				return nil
			} else if err != nil {
				return err
			}
			j.init.Event()
		case <-ctx.Done():
			for range 1000 { // it takes its time
				runtime.Gosched()
			}
			j.cupboard.did("unwatched")
			return nil
		}
	}
}

func (j *jar) CheckApply(_ context.Context, apply bool) (bool, error) {
	if err := j.cupboard.wrong("CheckApply", j.Name()); err != nil {
		return false, err
	}
	is, _ := j.cupboard.at(j.Name())
	if is == j.Label {
		return true, nil
	}
	j.init.Change(engine.Change{Field: "label", From: is, To: j.Label})
	if apply {
		j.cupboard.put(j.Name(), j.Label)
	}
	return false, nil
}

func (j *jar) Cmp(o engine.Res) error { return engine.CmpFields(j, o) }

func (j *jar) see(name, label string) *jar {
	got := &jar{cupboard: j.cupboard, Label: label, Size: j.Size, Weight: len(label)}
	got.SetKind("jar")
	got.SetName(name)
	return got
}

func (j *jar) Read(ctx context.Context) (engine.Res, error) {
	j.cupboard.did("Read")
	if j.cupboard.hold != nil {
		j.cupboard.hold(ctx, j.Name())
	}
	if err := cmpOr(ctx.Err(), j.cupboard.wrong("Read", j.Name())); err != nil {
		return nil, err
	}
	label, ok := j.cupboard.at(j.Name())
	if !ok {
		return nil, nil
	}
	return j.see(j.Name(), label), nil
}

func cmpOr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (j *jar) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		defer j.cupboard.did("listed")
		for _, name := range slices.Sorted(maps.Keys(j.cupboard.jars)) {
			j.cupboard.looked++
			if err := j.cupboard.wrong("List", name); err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			if !yield(j.see(name, j.cupboard.jars[name]), nil) {
				return
			}
		}
	}
}

func (j *jar) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return "jar", func(context.Context, engine.Host) (engine.Shared, error) {
		j.cupboard.did("open")
		return j.cupboard, j.cupboard.wrong("open", "")
	}
}

func (s *cupboard) Begin() { s.did("Begin") }
func (s *cupboard) End()   { s.did("End") }
func (s *cupboard) Close() error {
	s.did("Close")
	return nil
}

// jars returns a cupboard, and options with the kind jar, and deaf, which can't be looked
// at.
func jars(t *testing.T, labels map[string]string) (*cupboard, look.Options) {
	t.Helper()
	s := &cupboard{jars: labels, events: make(chan struct{})}
	if labels == nil {
		s.jars = map[string]string{}
	}
	reg := engine.NewRegistry()
	for name, make := range map[string]func() engine.Res{
		"jar":  func() engine.Res { return &jar{cupboard: s} },
		"deaf": func() engine.Res { return &deaf{} },
	} {
		if err := reg.Register(name, make); err != nil {
			t.Fatal(err)
		}
	}
	return s, look.Options{Registry: reg}
}

type deaf struct{ traits.Base }

func (*deaf) Default() engine.Res                            { return &deaf{} }
func (*deaf) Validate() error                                { return nil }
func (*deaf) Init(*engine.Init) error                        { return nil }
func (*deaf) Cleanup() error                                 { return nil }
func (*deaf) Watch(context.Context) error                    { return nil }
func (*deaf) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*deaf) Cmp(engine.Res) error                           { return nil }
