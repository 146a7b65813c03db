//go:build linux

package providers_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// calls is how many calls TestFigures measures of each sample, and launches how many starts.
const calls, launches = 500, 5

// TestFigures measures a call that does no work, and the time from the launch of a process to its first answer. Others use the
// machine, so the bounds of the test are ten times the promised figures; the log has the measured ones.
func TestFigures(t *testing.T) {
	for name, most := range map[string]struct{ call, launch time.Duration }{
		"go":     {2 * time.Millisecond, 300 * time.Millisecond},
		"node":   {3500 * time.Microsecond, 10 * time.Second},
		"python": {3500 * time.Microsecond, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := samples[name]
			st := s.make(t, "")
			var launched, asked []time.Duration
			for range launches {
				p, h := s.plugin(t, st)
				began := time.Now()
				conn, end, err := p.Connect(t.Context(), h)
				if err != nil {
					t.Fatal(err)
				}
				launched = append(launched, time.Since(began))
				r := &protocol.DiffRequest{Subject: protocol.Subject{Token: s.token, Name: "a"}, Old: st.inputs, New: st.inputs}
				for range calls {
					began := time.Now()
					if err := conn.Call(t.Context(), protocol.MethodDiff, r, nil); err != nil {
						t.Fatal(err)
					}
					asked = append(asked, time.Since(began))
				}
				end()
			}
			call, p99, launch := part(asked, 50), part(asked, 99), part(launched, 50)
			t.Logf("a call takes %s (p99 %s), a launch %s", call, p99, launch)
			if call > most.call || launch > most.launch {
				t.Errorf("a call takes %s and a launch %s, and may take %s and %s", call, launch, most.call, most.launch)
			}
		})
	}
}

// part returns a percentile.
func part(times []time.Duration, percent int) time.Duration {
	slices.Sort(times)
	return times[len(times)*percent/100]
}

// TestBack kills a provider whose resource is watched. The resource looks once, and is right again. No call of it fails. The time
// runs from the kill to the end of the call that has found the thing right. The bounds are ten times the promised figures.
func TestBack(t *testing.T) {
	for name, most := range map[string]time.Duration{"go": 2 * time.Second, "node": 10 * time.Second, "python": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			s := samples[name]
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
			select {
			case <-events:
			case <-time.After(most):
				t.Fatal("no event comes after the kill")
			}
			if ok, err := r.CheckApply(t.Context(), true); !ok || err != nil {
				t.Errorf("the resource is right: %t, %v", ok, err)
			}
			took := time.Since(began)
			t.Logf("the resource is right %s after the kill", took)
			if took > most {
				t.Errorf("the resource is right after %s, and may need %s", took, most)
			}
			end()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// resource makes a resource of a sample, which tells each event and the begin of its watch. Its end comes with the test.
func (s *sample) resource(t *testing.T, set *plugin.Set, h *host.Host, in protocol.Bag, events chan<- struct{}) engine.Res {
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
