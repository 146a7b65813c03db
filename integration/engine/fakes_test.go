package engine_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/single"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/traits"
)

// cupboard is the world of the kind jar.
type cupboard struct {
	mu    sync.Mutex
	jars  map[string]string
	fault func(method, name string) error
}

type jar struct {
	traits.Base
	cupboard *cupboard
	init     *engine.Init

	Label  string `yaml:"label" mgmt:"required"`
	Weight int    `yaml:"weight" mgmt:"readonly"`
}

func (j *jar) Default() engine.Res       { return &jar{cupboard: j.cupboard} }
func (j *jar) Validate() error           { return nil }
func (j *jar) Init(i *engine.Init) error { j.init = i; return nil }
func (j *jar) Cleanup() error            { return nil }
func (j *jar) Cmp(o engine.Res) error    { return engine.CmpFields(j, o) }

func (j *jar) Watch(ctx context.Context) error {
	j.init.Running()
	<-ctx.Done()
	return nil
}

func (j *jar) CheckApply(_ context.Context, apply bool) (bool, error) {
	s := j.cupboard
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != nil {
		if err := s.fault("CheckApply", j.Name()); err != nil {
			return false, err
		}
	}
	is := s.jars[j.Name()]
	if is == j.Label {
		return true, nil
	}
	j.init.Change(engine.Change{Field: "label", From: is, To: j.Label})
	if apply {
		s.jars[j.Name()] = j.Label
	}
	return false, nil
}

// jars returns a cupboard, and options with the kind jar.
func jars(t *testing.T, labels map[string]string) (*cupboard, mgmt.Options) {
	t.Helper()
	s := &cupboard{jars: labels}
	if labels == nil {
		s.jars = map[string]string{}
	}
	reg, err := engine.NewRegistry().With("jar", func() engine.Res { return &jar{cupboard: s} })
	if err != nil {
		t.Fatal(err)
	}
	return s, mgmt.Options{Registry: reg}
}

func inspector(t *testing.T, o mgmt.Options) *look.Inspector {
	t.Helper()
	l, err := single.Look(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func target(kind, name string, params map[string]any) look.Target {
	v, err := schema.NodeOf(params)
	if err != nil {
		panic(err)
	}
	return look.Target{Declaration: gapi.Declaration{Kind: kind, Name: name, Value: v}}
}

// seen writes what a sequence yields, one line for each.
func seen(seq iter.Seq2[look.Observation, error]) []string {
	var list []string
	for s, err := range seq {
		list = append(list, seenText(s, err))
	}
	return list
}

func seenText(s look.Observation, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	words := []string{s.Kind, s.Name}
	for _, a := range s.Attrs {
		words = append(words, fmt.Sprintf("%s=%v", a.Key, a.Value))
	}
	return strings.Join(words, " ")
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}
