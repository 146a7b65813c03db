package providertest

import (
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// worlds are those of the suite of the kind. The constructor of the kind has no
// argument that could tell the folder, so it takes the world in which a resource was
// made last. The suite of a kind runs one law after the other, and therefore one world
// is enough at a time. The lock is there for the goroutines of a controller.
type worlds struct {
	mu   sync.Mutex
	make map[string]func() provider.Provider
	now  string
}

// add makes a world for a folder, and enters it.
func (ws *worlds) add(dir string, make func() provider.Provider) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.make[dir], ws.now = make, dir
}

// enter goes back to a world that was added.
func (ws *worlds) enter(dir string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.now = dir
}

// provider makes a provider of the world in hand, since each kind has one of its own.
// The constructor runs outside of the lock, since it is code of the suite.
func (ws *worlds) provider() provider.Provider {
	ws.mu.Lock()
	make := ws.make[ws.now]
	ws.mu.Unlock()
	return make()
}

// soon is how often a provider without a Watch is asked in the suite of its kind. The
// default of a minute would be longer than most tests.
const soon = 20 * time.Millisecond

// kind is the suite of the kind that is made of the provider. The kind has a registry
// of its own, so that it meets no kind of the program and of other tests.
func (s Suite) kind(t *testing.T) enginetest.Suite {
	t.Helper()
	ws := &worlds{make: map[string]func() provider.Provider{}}
	// Before the first law there is a world too, so that the constructor always has
	// one.
	ws.add("", s.New(t, t.TempDir()))
	kind, err := provider.New(s.Definition, ws.provider, provider.WithPoll(soon))
	if err != nil {
		t.Fatal(err)
	}
	reg := engine.NewRegistry()
	if err := reg.Register(kind.Name(), kind.New); err != nil {
		t.Fatal(err)
	}
	out := enginetest.Suite{
		Kind: kind.Name(), Registry: reg, Drifts: s.Drifts, NoState: len(s.Drifts) == 0, Host: s.Host, Timeout: s.Timeout,
		Prepare: func(t *testing.T, dir string) { ws.add(dir, s.New(t, dir)) },
		New: func(t *testing.T, dir string) engine.Res {
			ws.enter(dir)
			return s.must(t, kind, s.Thing(dir))
		},
		Variants: s.variants(),
	}
	if s.Commands != nil {
		out.Setup = func(t *testing.T, dir string, f *enginetest.Fake) { f.Host().SetCommand(s.Commands(t, dir)) }
	}
	// The suite alters the result last, so it may replace every field.
	if s.Engine != nil {
		s.Engine(&out)
	}
	return out
}

// must makes a resource of a thing, or fails the law.
func (s Suite) must(t *testing.T, k *provider.Kind, th Thing) engine.Res {
	t.Helper()
	r, err := resourceOf(k, th)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// variants makes those of the suite of the kind of Updates. A value that cannot be set
// is a mistake in the suite. It panics, and enginetest makes the panic a failure of its
// law.
func (s Suite) variants() map[string]func(engine.Res) {
	out := map[string]func(engine.Res){}
	for name, values := range s.Updates {
		out[name] = func(r engine.Res) {
			for key, v := range values {
				if err := schema.Set(r, key, v); err != nil {
					panic(err)
				}
			}
		}
	}
	return out
}
