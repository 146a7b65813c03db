package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
)

// partRows are changes of one vertex of a large graph with three times as many edges. They count the processor time and
// the garbage of the process, which a busy machine alters little.
// Upsert changes a part at the cost of the part, so its limits hardly grow with the
// graph.
// partRows compare the two ways of a change: the whole graph again, and the changed part alone.
// Both must cost less than what a user notices.
func partRows() []row {
	const clock = "processor time and garbage of the process, for the graph handed over to the swap in effect"
	return []row{
		{"one of 100,000 with 300,000 edges, handed over whole", library, clock, "200 ms of CPU, 80 MB", func(*bench) result {
			return changeOne(100_000, true, 200*time.Millisecond, 80<<20)
		}},
		{"one of 100,000 with 300,000 edges, by Upsert", library, clock, "2 ms of CPU", func(*bench) result {
			return changeOne(100_000, false, 2*time.Millisecond, 80<<20)
		}},
		{"one of 1,000,000 with 3,000,000 edges, by Upsert", library, clock, "5 ms of CPU", func(*bench) result {
			return changeOne(1_000_000, false, 5*time.Millisecond, 80<<20)
		}},
	}
}

// wovenGraph declares n noops, each of which depends on three earlier ones.
// The seed is fixed: two calls give equal graphs, which is how one vertex alone can
// differ.
func wovenGraph(n int) *gapi.Declared {
	dice := rand.New(rand.NewPCG(3, 3))
	d := &gapi.Declared{Name: "bench", Resources: noops(n)}
	for i := 3; i < n; i++ {
		for range 3 {
			ref := schema.Ref{Kind: "noop", Name: fmt.Sprint(dice.IntN(i))}
			d.Resources[i].Depend = append(d.Resources[i].Depend, gapi.RefDecl{Ref: ref})
		}
	}
	return d
}

// changeOne changes one vertex, many times.
// Whole hands over all vertices again, nine times; otherwise Upsert hands over one, two
// hundred times. Time and
// garbage are means, since the time of one Upsert varies.
func changeOne(n int, whole bool, most time.Duration, garbage uint64) result {
	graphs := make(chan *gapi.Declared)
	r := start(static.Chan(graphs), mgmt.Options{})
	graphs <- wovenGraph(n)
	<-r.swapped
	r.rest()
	rounds := 200
	if whole {
		rounds = 9
	}
	var took time.Duration
	var waste uint64
	for i := range rounds {
		d := oneChanged(n, i, whole) // not counted: where it comes from is its own business
		// ReadMemStats stops the program for a moment, so it stands outside of the measured time.
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := cpu()
		if whole {
			graphs <- d
		} else {
			must(r.e.Patch(context.Background(), mgmt.Patch{Upsert: d}))
		}
		<-r.swapped
		took += cpu() - begin
		runtime.ReadMemStats(&after)
		waste += after.TotalAlloc - before.TotalAlloc
	}
	took, waste = took/time.Duration(rounds), waste/uint64(rounds)
	r.close()
	return result{Figure: fmt.Sprintf("%s, %.1f MB", round(took), float64(waste)/(1<<20)), OK: took <= most && waste <= garbage}
}

// oneChanged declares the graph, or the part, in which the vertex in the middle is another one than before.
// The metaparam retry alternates, so each round differs from the one before and no
// CheckApply has work.
func oneChanged(n, round int, whole bool) *gapi.Declared {
	var d *gapi.Declared
	if whole {
		d = wovenGraph(n)
	} else {
		d = &gapi.Declared{Name: "bench", Resources: []gapi.Declaration{static.Declare("noop", fmt.Sprint(n/2), aloneNoop())}}
		for i := range 3 {
			ref := schema.Ref{Kind: "noop", Name: fmt.Sprint(i * n / 7)}
			d.Resources[0].Depend = append(d.Resources[0].Depend, gapi.RefDecl{Ref: ref})
		}
	}
	at := len(d.Resources) / 2
	d.Resources[at].Res.MetaParams().Retry = round%2 + 1
	return d
}
