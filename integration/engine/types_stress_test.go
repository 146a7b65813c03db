package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
)

// editions is a frontend whose graphs a test makes up, one after the other.
type editions chan string

func (c editions) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		for {
			var text string
			select {
			case text = <-c:
			case <-ctx.Done():
				return
			}
			env.Stdin = strings.NewReader(text)
			for d, err := range yaml.New("-", yaml.Options{}).Graphs(ctx, env) {
				if !yield(d, err) {
					return
				}
			}
		}
	}
}

// counted is a clerk, or an alert, that counts how many of it are open, and refuses to
// be called by two at a time.
type counted struct {
	clerk
	open, busy *atomic.Int32
	closed     bool
}

func (c *counted) only() func() {
	if c.busy.Add(1) > 1 {
		panic("two calls at a time")
	}
	if c.closed {
		panic("a call after Close")
	}
	return func() { c.busy.Add(-1) }
}

func (c *counted) Get(ctx context.Context, rt *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		defer c.only()()
		for r, err := range c.clerk.Get(ctx, rt, f) {
			if !yield(maps.Clone(r), err) {
				return
			}
		}
	}
}

func (c *counted) Set(ctx context.Context, rt *provider.Runtime, changes []provider.Change) error {
	defer c.only()()
	if rand.N(8) == 0 {
		return errors.New("bad luck")
	}
	return c.clerk.Set(ctx, rt, changes)
}

func (c *counted) Close() error {
	c.closed = true
	c.open.Add(-1)
	return nil
}

type countedAlert struct{ *counted }

func (c countedAlert) Watch(ctx context.Context, rt *provider.Runtime, armed func(), changed func(...provider.Name)) error {
	return alert{c.clerk}.Watch(ctx, rt, armed, changed)
}

// edition is a graph of some things that want some text.
func edition(r *rand.Rand, n int) (string, map[string]string) {
	var b strings.Builder
	want := map[string]string{}
	b.WriteString("resources:\n  rec:\n")
	last := ""
	for i := range n {
		if r.IntN(3) == 0 {
			continue
		}
		name, a := fmt.Sprintf("t%d", i), fmt.Sprint(r.IntN(3))
		want[name] = a
		fmt.Fprintf(&b, "  - {name: %s, a: %q, meta: {retry: -1, delay: 1}", name, a)
		if last != "" && r.IntN(4) == 0 {
			fmt.Fprintf(&b, ", depend: [%q]", "rec["+last+"]")
		}
		b.WriteString("}\n")
		last = name
	}
	return b.String(), want
}

// TestTypeUnderStress: graphs come and go while things are changed from the outside and
// Set fails now and then: in the end all is as the last graph wants it, no two calls were
// made at a time, none after Close, and nothing is left open.
func TestTypeUnderStress(t *testing.T) {
	for name, features := range map[string]provider.Features{"all": 0, "names": provider.SimpleGetFilter} {
		t.Run(name, func(t *testing.T) { stress(t, features) })
	}
}

func stress(t *testing.T, features provider.Features) {
	const n = 40
	r := rand.New(rand.NewPCG(1, uint64(features)))
	s := newShelf()
	var open, busy atomic.Int32
	reg := withRec(t, rec(features), func() provider.Provider {
		open.Add(1)
		return countedAlert{&counted{clerk: clerk{s}, open: &open, busy: &busy}}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	graphs := make(editions)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := mgmt.Run(ctx, mgmt.Options{Registry: reg}, graphs); err != nil {
			t.Error(err)
		}
	})
	var want map[string]string
	for range 25 {
		var text string
		text, want = edition(r, n)
		graphs <- text
		for range r.IntN(20) {
			x := fmt.Sprintf("t%d", r.IntN(n))
			s.put(x, "outside")
			s.news <- []provider.Name{provider.NameOf(x)}[:r.IntN(2)]
			time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
		}
	}
	for end := time.Now().Add(await.Left()); !s.holds(want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("wanted %v, there is %v", want, s.things)
			break
		}
	}
	cancel()
	wg.Wait()
	if n := open.Load(); n != 0 {
		t.Errorf("%d providers are open", n)
	}
}

// holds reports whether all is as wanted.
func (s *shelf) holds(want map[string]string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, a := range want {
		if s.things[name] == nil || s.things[name]["a"] != a {
			return false
		}
	}
	return true
}

// TestTypeThatHangs: a Get that heeds no context does not keep the program from ending:
// its resource is named as one that was abandoned.
func TestTypeThatHangs(t *testing.T) {
	s := newShelf("x")
	in, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.fail = func(string) error {
		once.Do(func() { close(in) })
		<-free
		return nil
	}
	reg := withRec(t, rec(0), func() provider.Provider { return clerk{s} })
	abandon := make(chan struct{})
	with, f := from("resources: {rec: [{name: x, a: '2'}, {name: y, a: '2'}]}", mgmt.Options{Registry: reg, Abandon: abandon})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := mgmt.Run(ctx, with, f)
		done <- err
	}()
	<-in
	cancel()
	close(abandon)
	select {
	case err := <-done:
		if ab, ok := errors.AsType[*reactor.AbandonedError](err); !ok {
			t.Errorf("the error is %v", err)
		} else {
			t.Log(ab)
		}
		close(free)
	case <-time.After(await.Left()):
		close(free)
		t.Error("Run does not end")
		<-done
	}
}
