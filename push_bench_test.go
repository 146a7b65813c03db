package mgmt_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
)

// BenchmarkPush is a program that changes resources of a graph that runs, one in each call of Upsert or 50, of 1,000. Each push is of
// a value that the resource did not have before; its run is a part of the cost.
func BenchmarkPush(b *testing.B) {
	for _, batch := range []int{1, 50} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			e, err := mgmt.New(mgmt.Options{NoAutoGroup: true})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			if err := e.Start(ctx, nil); err != nil {
				b.Fatal(err)
			}
			defer func() { cancel(); _ = e.Wait() }()
			const n = 1000
			push := func(from, n, round int) *static.Graph {
				g := static.NewGraph("push")
				for i := range n {
					g.Add("noop", fmt.Sprint("n", from+i), &basic.NoopRes{Comment: fmt.Sprint(round)})
				}
				return g
			}
			if _, err := e.Apply(ctx, push(0, n, 0).Declared()); err != nil {
				b.Fatal(err)
			}
			at := 0
			one := func() {
				if err := e.Upsert(ctx, push(at%n/batch*batch, batch, 1+at/n).Declared()); err != nil {
					b.Fatal(err)
				}
				at += batch
			}
			one() // makes the index
			b.ReportAllocs()
			for b.Loop() {
				one()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*batch), "us/resource")
		})
	}
}
