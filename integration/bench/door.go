package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// doorRows are graphs with many edges that come through the front door.
func doorRows() []row {
	return []row{
		{"1,000,000 vertices with 3,000,000 edges through the front door", library, "CPU from the declared graph handed to Run, to converged; then resident memory above the empty process", "12µs of CPU and 1.0 KB each", millionThroughDoor},
		{"10,000 vertices with 30,000 edges from Go", library, "the declared graph handed to Run, to converged; median of nine, and its CPU", "25ms", tenThousandThroughDoor},
	}
}

// woven declares noops of which each depends on three random ones before it.
func woven(n int) []gapi.Declaration {
	const edges = 3
	rng := rand.New(rand.NewPCG(5, 5))
	decls := noops(n)
	refs := make([]gapi.RefDecl, edges*n)
	for i := 1; i < n; i++ {
		own := refs[edges*i : edges*(i+1) : edges*(i+1)]
		for e := range own {
			own[e].Ref = schema.Ref{Kind: "noop", Name: strconv.Itoa(rng.IntN(i))}
		}
		decls[i].Depend = own
	}
	return decls
}

// bringAbout returns what it took until a graph had converged, and what runs it.
func bringAbout(decls []gapi.Declaration) (took, used time.Duration, r *running) {
	begin, before := time.Now(), cpu()
	r = start(graphOf(decls), mgmt.Options{})
	took = r.rest().Sub(begin)
	return took, cpu() - before, r
}

func millionThroughDoor(b *bench) result {
	n := 1_000_000
	if b.quick {
		n = 100_000
	}
	give()
	empty := rss()
	_, used, r := bringAbout(woven(n))
	time.Sleep(time.Second)
	give()
	kb := float64(rss()-empty) / float64(n) / 1000
	r.close()
	each := used / time.Duration(n)
	return result{Figure: fmt.Sprintf("%s, %.2f KB each", round(each), kb), OK: each <= 12*time.Microsecond && kb <= 1}
}

func tenThousandThroughDoor(*bench) result {
	var times, uses []time.Duration
	for range 9 {
		decls := woven(10_000)
		give()
		took, used, r := bringAbout(decls)
		times, uses = append(times, took), append(uses, used)
		r.close()
	}
	m := median(times)
	return result{Figure: fmt.Sprintf("%s, CPU %s", round(m), round(median(uses))), OK: m <= 25*time.Millisecond}
}
