//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
)

// pushing starts an Engine with a graph of 1,000 resources. Each call of the function pushes the next ones, as many as a batch has, with a
// value that they did not have before.
func pushing(tb testing.TB, batch int) (push func()) {
	ctx, cancel := context.WithCancel(tb.Context())
	e, err := mgmt.Open(ctx, mgmt.Options{NoAutoGroup: true}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { cancel(); _ = e.Wait() })
	const n = 1000
	part := func(from, n, round int) *static.Graph {
		g := static.NewGraph("push")
		for i := range n {
			g.Add("noop", fmt.Sprint("n", from+i), &basic.NoopRes{Comment: fmt.Sprint(round)})
		}
		return g
	}
	if _, err := e.Apply(ctx, part(0, n, 0).Declared()); err != nil {
		tb.Fatal(err)
	}
	at := 0
	push = func() {
		if err := e.Patch(ctx, mgmt.Patch{Upsert: part(at%n/batch*batch, batch, 1+at/n).Declared()}); err != nil {
			tb.Fatal(err)
		}
		at += batch
	}
	push() // makes the index
	return push
}

// TestFindingM1Allocations: a push of one resource, with its run, makes few things, and one of many fewer of them for each.
func TestFindingM1Allocations(t *testing.T) {
	for batch, most := range map[int]float64{1: 220, 50: 50 * 34} {
		// The count is that of the process, so what else it does can only add: the least of some is the push.
		push, n := pushing(t, batch), math.Inf(1)
		for range 5 {
			n = min(n, testing.AllocsPerRun(40, push))
		}
		if n > most {
			t.Errorf("%v allocations for a push of %d, want at most %v", n, batch, most)
		}
	}
}

// BenchmarkPush is a program that changes resources of a graph that runs, one in each call of Upsert or 50, of 1,000. The run of each
// is a part of the cost.
func BenchmarkPush(b *testing.B) {
	for _, batch := range []int{1, 50} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			push := pushing(b, batch)
			b.ReportAllocs()
			begin := cpu()
			for b.Loop() {
				push()
			}
			took := cpu() - begin
			b.ReportMetric(float64(took)/float64(time.Microsecond)/float64(b.N*batch), "CPU-us/resource")
		})
	}
}
