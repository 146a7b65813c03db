package mgmt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/traits"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stubborn does not end before its test says so, whatever its context says.
type stubborn struct {
	traits.Base
	init    *engine.Init
	release <-chan struct{}
}

func (s *stubborn) Default() engine.Res       { return &stubborn{release: s.release} }
func (s *stubborn) Validate() error           { return nil }
func (s *stubborn) Init(i *engine.Init) error { s.init = i; return nil }
func (s *stubborn) Cleanup() error            { return nil }
func (s *stubborn) Cmp(engine.Res) error      { return nil }

func (s *stubborn) Watch(ctx context.Context) error {
	s.init.Running()
	<-ctx.Done()
	return nil
}

func (s *stubborn) CheckApply(context.Context, bool) (bool, error) {
	<-s.release
	return true, nil
}

// TestMaxRuntimeIsKept: a method that ignores the end of its context does not keep
// Run from ending in time, and the error says both.
func TestMaxRuntimeIsKept(t *testing.T) {
	release := make(chan struct{})
	defer close(release) // the method ends with the test
	kinds, err := engine.DefaultRegistry().With("stubborn", func() engine.Res { return &stubborn{release: release} })
	if err != nil {
		t.Fatal(err)
	}
	var late *mgmt.MaxRuntimeError
	for max := 10 * time.Millisecond; max < time.Minute; max *= 2 { // a busy machine may need longer to begin
		graph := &gapi.Declared{Resources: []gapi.Declaration{{Kind: "stubborn", Name: "a"}}}
		if err = mgmt.RunWithGrace(t.Context(), mgmt.Options{Registry: kinds, MaxRuntime: max}, static.New(graph), 10*time.Millisecond); !errors.As(err, &late) || len(late.Restless) > 0 {
			break
		}
	}
	if late == nil || len(late.Restless) != 1 {
		t.Errorf("the error is %v", err)
	}
	if left, ok := errors.AsType[*reactor.AbandonedError](err); !ok || len(left.Resources) != 1 || left.Resources[0] != "stubborn[a]" {
		t.Errorf("the error is %v", err)
	}
}
