//go:build linux

package providers_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// BenchmarkCall measures a call that does no work.
func BenchmarkCall(b *testing.B) {
	for name, s := range samples {
		b.Run(name, func(b *testing.B) {
			st := s.make(b, "")
			p, h := s.plugin(b, st)
			conn, end, err := p.Connect(b.Context(), h)
			if err != nil {
				b.Fatal(err)
			}
			defer end()
			r := &protocol.DiffRequest{Subject: protocol.Subject{Token: s.token, Name: "a"}, Old: st.inputs, New: st.inputs}
			for b.Loop() {
				if err := conn.Call(b.Context(), protocol.MethodDiff, r, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLaunch measures the time from the launch of a process to its first answer.
func BenchmarkLaunch(b *testing.B) {
	for name, s := range samples {
		b.Run(name, func(b *testing.B) {
			st := s.make(b, "")
			for b.Loop() {
				p, h := s.plugin(b, st)
				_, end, err := p.Connect(b.Context(), h)
				if err != nil {
					b.Fatal(err)
				}
				end()
			}
		})
	}
}

// TestBack kills a provider whose resource is watched. The resource looks once, and is right again. No call of it fails.
func TestBack(t *testing.T) {
	for name, s := range samples {
		t.Run(name, func(t *testing.T) {
			st := s.make(t, "")
			set, h := s.load(t, st)
			events := make(chan struct{}, 100)
			r := s.resource(t, set, h, st.inputs, events)
			if _, err := r.CheckApply(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			ctx, end := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.Watch(ctx) }()
			<-events // it watches
			for len(events) > 0 {
				<-events
			}
			began := time.Now()
			if err := syscall.Kill(set.Plugins()[0].Status().PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			await.Of(t, "an event after the kill", events)
			if ok, err := r.CheckApply(t.Context(), true); !ok || err != nil {
				t.Errorf("the resource is right: %t, %v", ok, err)
			}
			t.Logf("the resource is right %s after the kill", time.Since(began))
			end()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// resource makes a resource of a sample, which tells each event and the begin of its watch. Its end comes with the test.
func (s *sample) resource(t testing.TB, set *plugin.Set, h *host.Host, in protocol.Bag, events chan<- struct{}) engine.Res {
	t.Helper()
	kinds := engine.NewRegistry()
	if err := set.Register(kinds); err != nil {
		t.Fatal(err)
	}
	r, err := kinds.New(strings.ToLower(s.token))
	if err != nil {
		t.Fatal(err)
	}
	r.SetName("a")
	for key, v := range in {
		if err := schema.Set(r, key, v); err != nil {
			t.Fatal(err)
		}
	}
	dir, tell := t.TempDir(), func() { events <- struct{}{} }
	err = r.Init(&engine.Init{
		Host: h, Running: tell, Event: tell, Refresh: func() bool { return false }, Send: func(any) error { return nil },
		Change: func(engine.Change) {}, Logf: t.Logf,
		VarDir: func(p string) (string, error) {
			return filepath.Join(dir, p), os.MkdirAll(filepath.Join(dir, p), 0o700)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	return r
}
