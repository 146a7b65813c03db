package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/gapi"
)

// At rest means converged and watched: no CPU may be used, since nothing happens.
// memoryRows measure the cost of a resource that has nothing to do.
func memoryRows() []row {
	const clock = "resident memory above the empty process, and CPU, a minute after convergence"
	return []row{
		{"10,000 watched files at rest", library, clock, "8 KiB each, no CPU", func(b *bench) result {
			return atRest(b, 8, func() []gapi.Declaration { return files(b.dir, 10_000, 10_000) })
		}},
		{"100,000 noops at rest", library, clock, "5 KiB each, no CPU", func(b *bench) result {
			return atRest(b, 5, func() []gapi.Declaration { return noops(100_000) })
		}},
	}
}

// atRest measures after a minute, during which the collector runs as it does in
// any process; only then freed pages are given back, as the runtime would do a
// little later.
// The first half of the minute settles, the second half is measured. A tenth of a percent
// of one core counts as none.
func atRest(b *bench, limitKiB float64, make func() []gapi.Declaration) result {
	give()
	empty := rss()
	// The declarations are let go below, since a frontend that follows no input keeps none either. The resources stay with the engine.
	decls := make()
	n := len(decls)
	r := start(graphOf(decls), mgmt.Options{})
	decls = nil
	r.rest()
	wait := time.Minute
	if b.quick {
		wait = time.Second
	}
	time.Sleep(wait / 2)
	before := cpu()
	time.Sleep(wait / 2)
	used := cpu() - before
	give()
	each := float64(rss()-empty) / float64(n) / 1024
	r.close()
	percent := 100 * used.Seconds() / (wait / 2).Seconds()
	return result{
		Figure: fmt.Sprintf("%.2f KiB each, CPU %.2f %%", each, percent),
		OK:     each < limitKiB && percent < 0.1,
	}
}

// Figures of memory are taken behind it, so that they show live data and not the
// collector's habits.
// give collects garbage, and gives free pages back to the system.
func give() {
	runtime.GC()
	debug.FreeOSMemory()
}
