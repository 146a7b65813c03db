package lifecycle_test

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is the order of the calls of a test, and what each of them does besides.
type script struct {
	mu    sync.Mutex
	calls []string
	on    map[string]func() error // nil functions do nothing
}

// say notes a call, and returns what the test wants of it.
func (s *script) say(call string) error {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	do := s.on[call]
	s.mu.Unlock()
	if do != nil {
		return do()
	}
	return nil
}

// take returns the calls so far in one line, and forgets them.
func (s *script) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.calls, ", ")
	s.calls = nil
	return text
}

// thing is a resource that notes its calls.
type thing struct {
	traits.Base
	traits.Recvable
	Want string        `yaml:"want"`
	Pass schema.Secret `yaml:"pass"`

	s    *script
	init *engine.Init
}

func (r *thing) Default() engine.Res                            { return &thing{s: r.s, Want: "by default"} }
func (r *thing) Validate() error                                { return r.s.say("validate") }
func (r *thing) Init(i *engine.Init) error                      { r.init = i; return r.s.say("init") }
func (r *thing) Cleanup() error                                 { return r.s.say("cleanup") }
func (r *thing) Watch(context.Context) error                    { return nil }
func (r *thing) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (r *thing) Cmp(engine.Res) error                           { return nil }
func (r *thing) Read(context.Context) (engine.Res, error)       { return nil, r.s.say("read") }
func (r *thing) List(context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		defer func() { _ = r.s.say("list ends") }()
		for _, name := range []string{"a", "b"} {
			err := r.s.say("list " + name)
			if res := (&thing{s: r.s}); !yield(named(res, name), err) {
				return
			}
		}
	}
}

func named(r engine.Res, name string) engine.Res {
	r.SetKind("thing")
	r.SetName(name)
	return r
}

// sharing is a thing that shares a value with the others of its key.
type sharing struct {
	thing
	key string
	ctx context.Context // with which the value was opened
}

func (r *sharing) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	_ = r.s.say("shared")
	return r.key, func(ctx context.Context, _ engine.Host) (engine.Shared, error) {
		r.ctx = ctx
		return &value{s: r.s}, r.s.say("open " + r.key)
	}
}

// value is what things share.
type value struct{ s *script }

func (v *value) Begin()       { _ = v.s.say("begin") }
func (v *value) End()         { _ = v.s.say("end") }
func (v *value) Close() error { return v.s.say("close") }
func (v *value) Forget()      { _ = v.s.say("forget") }

// rig is an Env with a script.
type rig struct {
	*script
	env *lifecycle.Env
	log *strings.Builder
}

func newRig(t *testing.T, o lifecycle.Options) *rig {
	t.Helper()
	r := &rig{script: &script{on: map[string]func() error{}}, log: &strings.Builder{}}
	o.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	r.env = lifecycle.NewEnv(o)
	t.Cleanup(func() {
		if err := r.env.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// life makes the life of a thing.
func (r *rig) life(name string) *lifecycle.Life {
	return r.join(named(&thing{s: r.script}, name))
}

// sharing makes the life of a thing that shares.
func (r *rig) sharing(name, key string) *lifecycle.Life {
	return r.join(named(&sharing{thing: thing{s: r.script}, key: key}, name))
}

func (r *rig) join(res engine.Res) *lifecycle.Life {
	l := &lifecycle.Life{}
	r.env.Join(l, res.String(), res)
	return l
}
