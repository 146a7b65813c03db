package reactor_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// slowHost runs commands with a cost that last until they are let go, or killed.
type slowHost struct {
	nullHost
	goOn, killed chan struct{}
}

func newSlowHost() *slowHost {
	return &slowHost{goOn: make(chan struct{}), killed: make(chan struct{})}
}

func (h *slowHost) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case <-h.goOn:
		return &engine.Result{}, nil
	case <-h.killed:
		return &engine.Result{Signal: "SIGKILL"}, errors.New("killed")
	}
}

var breaking = engine.Command{Argv: []string{"/usr/bin/dpkg", "-i", "x"}, Cost: "the database is left half written"}

// transacting is a check that runs such a command once.
func transacting(h *slowHost) func(context.Context, *fake, bool) (bool, error) {
	var done bool
	return func(ctx context.Context, f *fake, _ bool) (bool, error) {
		if done {
			return true, nil
		}
		f.init.Change(engine.Change{Field: "state"})
		_, err := f.init.Host.Command(ctx, breaking)
		done = err == nil
		return false, err
	}
}

// quietBuffer may be written to by several.
type quietBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (q *quietBuffer) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.Write(p)
}

func (q *quietBuffer) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.String()
}

// TestFindingB1SwapWaitsForTheLeavingTransactionOnly: all else of the new graph takes effect at once, and a
// resource of the same name begins when the transaction has ended.
func TestFindingB1SwapWaitsForTheLeavingTransactionOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, w, log := newSlowHost(), newWorld(), &quietBuffer{}
		rg := newRig(t, reactor.Options{Host: h, Logger: textLogger(log)})
		defer rg.close()
		rg.swap(newDecl(t).add("p", &lapping{fake: fake{w: w, check: transacting(h)}}))
		synctest.Wait()
		rg.swap(newDecl(t).add("other", &fake{w: w}))
		synctest.Wait()
		if rg.state("other").State != resgraph.StateOK {
			t.Errorf("other is %s while the transaction runs", rg.state("other").State)
		}
		if !strings.Contains(log.String(), "is let finish") || !strings.Contains(log.String(), "resource=fake[p] command=dpkg") || !strings.Contains(log.String(), "half written") {
			t.Errorf("the log says %q", log)
		}
		rg.swap(newDecl(t).add("other", &fake{w: w}).add("p", &lapping{fake: fake{w: w}}))
		time.Sleep(time.Hour)
		if n := len(rg.runs("p")); n != 0 {
			t.Errorf("p ran %d times beside its own transaction", n)
		}
		close(h.goOn)
		rg.rest()
		if runs := rg.runs("p"); len(runs) != 2 || !runs[0].Changed || runs[1].State != resgraph.StateOK {
			t.Errorf("%+v", runs)
		}
	})
}

// TestFindingB1StopAndTimeoutWait: the end of Run, and the metaparameter timeout, wait for it as long as it takes.
func TestFindingB1StopAndTimeoutWait(t *testing.T) {
	for name, prepare := range map[string]func(*fake, *rig){
		"stop":    func(_ *fake, rg *rig) { rg.stop() },
		"timeout": func(f *fake, _ *rig) { f.MetaParams().Timeout = time.Second },
	} {
		bubble(t, func(t *testing.T) {
			h, w := newSlowHost(), newWorld()
			rg := newRig(t, reactor.Options{Host: h, Sweep: -1})
			p := &lapping{fake: fake{w: w, check: transacting(h)}}
			if name == "timeout" {
				prepare(&p.fake, rg)
			}
			rg.swap(newDecl(t).add("p", p))
			synctest.Wait()
			if name == "stop" {
				prepare(&p.fake, rg)
			}
			time.Sleep(10 * time.Minute)
			if !rg.r.Finishing() {
				t.Fatalf("%s: it was cut", name)
			}
			close(h.goOn)
			synctest.Wait()
			if runs := rg.runs("p"); len(runs) != 1 || !runs[0].Changed || runs[0].Err != nil {
				t.Errorf("%s: %+v", name, runs)
			}
			if rg.r.Finishing() {
				t.Error("it has ended, and is still counted")
			}
			rg.close()
		})
	}
}

// TestFindingB1AbandonNamesTheCost: whoever does not wait learns what was cut, and Run is no success.
func TestFindingB1AbandonNamesTheCost(t *testing.T) {
	for _, dies := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			h, w := newSlowHost(), newWorld()
			rg := newRig(t, reactor.Options{Host: h})
			rg.swap(newDecl(t).add("p", &lapping{fake: fake{w: w, check: transacting(h)}}))
			synctest.Wait()
			rg.stop()
			time.Sleep(time.Minute)
			rg.r.Abandon()
			if dies {
				close(h.killed)
			}
			err := <-rg.done
			ab, ok := errors.AsType[*reactor.AbandonedError](err)
			want := []string{"dpkg of fake[p]: the database is left half written"}
			if !ok || !slices.Equal(ab.Cut, want) || !strings.Contains(err.Error(), "cut off: "+want[0]) {
				t.Errorf("%v", err)
			}
			if !dies {
				close(h.killed)
			}
			synctest.Wait()
		})
	}
}
