package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/file"
)

// largeRows are graphs of 100,000 and of a million.
func largeRows() []row {
	return []row{
		{"1,000,000 noops", library, "a graph handed to the reactor, to converged; then resident memory above the empty process", "10 s, 4.5 KiB each", millionNoops},
		{"1,000,000 vertices with 3,000,000 edges, shuffled", scheduler, "scheduling alone, from the first arrival to the last run", "1.5 s", schedRow("ConvergeRandomShuffled", 1500*time.Millisecond)},
		{"event with 64 held of 100,000", scheduler, "event given to the scheduler, to its run done", "p50 1µs, p99 100µs", heldEvents},
		{"event on a quiet graph of 1,000,000", scheduler, "event given to the scheduler, to its run done; beside a graph of 1,000", "p50 1µs, no more runs and edges looked at than with 1,000", quietEvents},
		{"autoedge and autogroup of 100,000", library, "a checked graph, to the one that runs", "1 s", transforms},
		{"one of 100,000 changed", library, "the parsed graph handed over, to the right content", "150 ms, no other touched", swapLarge},
	}
}

// The scheduler has no clock of its own; its benchmark reports the percentiles as
// figures.
// heldEvents reads the row of 64 held vertices. An event elsewhere must cost the same as on a quiet graph.
func heldEvents(*bench) result {
	f := schedBench("Held$")["Held"]
	p50, p99 := f.time("p50-ns"), f.time("p99-ns")
	return result{
		Figure: fmt.Sprintf("p50 %s, p99 %s", round(p50), round(p99)),
		OK:     p50 < time.Microsecond && p99 < 100*time.Microsecond,
	}
}

// The time may vary with the caches of the processor. The number of runs and of edges
// looked at may not vary at all.
// quietEvents compares a graph of a million with one of a thousand: an event costs its vertex, not the graph.
func quietEvents(*bench) result {
	all := schedBench("Quiet$")
	small, large := all["Quiet/1000"], all["Quiet/1000000"]
	p50 := large.time("p50-ns")
	same := true
	for _, unit := range []string{"runs/event", "looks/event"} {
		same = same && small.of(unit) == large.of(unit)
	}
	return result{
		Figure: fmt.Sprintf("p50 %s, %g run and %g edges; with 1,000 %g and %g",
			round(p50), large.of("runs/event"), large.of("looks/event"), small.of("runs/event"), small.of("looks/event")),
		OK: same && p50 < time.Microsecond,
	}
}

// The graph is dropped before memory is read, since the reactor keeps only its own form
// of it. KiB are 1,024 bytes.
// millionNoops measures the memory of a vertex in the reactor, without a frontend.
func millionNoops(*bench) result {
	const n = 1_000_000
	give()
	empty := rss()
	g := plain(n)
	r := newReactor()
	begin := time.Now()
	must(r.Swap(context.Background(), g))
	took := (<-r.rested).Sub(begin)
	g = nil
	give()
	each := float64(rss()-empty) / n / 1024
	r.close()
	return result{Figure: fmt.Sprintf("%s, %.2f KiB each", round(took), each), OK: took < 10*time.Second && each < 4.5}
}

// The files ask for their folders by path, so autoedge has as many edges to find. A
// thousand noops become one group.
// transforms measures the two automatic steps between a checked graph and the one that runs. Nothing is applied.
func transforms(b *bench) result {
	decls := files(b.dir, 100_000, 100)
	for i := range 100 { // each managed folder is asked for by its files
		decls = append(decls, static.Declare("file", filepath.Join(b.dir, fmt.Sprint(i))+"/", &file.Res{State: "exists"}))
	}
	decls = append(decls, noopsIn(1000)...)
	var took []time.Duration
	for range 5 {
		g, diags := gapi.Build(engine.DefaultRegistry(), &gapi.Declared{Name: "bench", Resources: decls})
		if g == nil {
			panic(diags.Error())
		}
		begin := time.Now()
		_, err := transform.Run(context.Background(), g, []transform.Step{transform.AutoEdge(nil), transform.AutoGroup()}, &transform.Notes{})
		must(err)
		took = append(took, time.Since(begin))
	}
	return under(median(took), time.Second)
}

// noopsIn declares noops that become one group.
// Grouping is the default of a noop, which noops switches off.
func noopsIn(n int) []gapi.Declaration {
	decls := make([]gapi.Declaration, n)
	for i := range decls {
		decls[i] = static.Declare("noop", fmt.Sprint(i), &basic.NoopRes{})
	}
	return decls
}

// swapLarge changes one file of a hundred thousand, many times: while the collector of
// garbage runs, which is in a third of them, it takes twice as long.
func swapLarge(b *bench) result {
	// The frontend hands over the whole graph each time, as a program without Upsert does. The counters belong to the loop of the
	// reactor, and are read when it is at rest.
	const n, perDir = 100_000, 1000
	graphs := make(chan *gapi.Declared)
	var others, runs int
	changed := ""
	o := mgmt.Options{Observer: mgmt.Observer{Ran: func(r reactor.Run) {
		runs++
		if changed != "" && r.Resource != changed {
			others++
		}
	}}}
	r := start(static.From(func(yield func(*gapi.Declared) bool) {
		for g := range graphs {
			if !yield(g) {
				return
			}
		}
	}), o)
	declare := func(odd int, text string) *gapi.Declared {
		decls := files(b.dir, n, perDir)
		if odd >= 0 {
			decls[odd] = static.Declare("file", filePath(b.dir, odd, perDir), &file.Res{Content: &text})
		}
		return &gapi.Declared{Name: "bench", Resources: decls}
	}
	graphs <- declare(-1, "")
	r.rest()
	time.Sleep(3 * time.Second) // the events of our own writes pass
	var took []time.Duration
	for round := range 31 {
		path := filePath(b.dir, 5, perDir)
		text := fmt.Sprintf("changed %d", round)
		g := declare(5, text)
		changed = "file[" + path + "]"
		begin := time.Now()
		graphs <- g
		// The end is the content on the disk, and no report of the engine.
		for {
			if got, err := os.ReadFile(path); err == nil && string(got) == text {
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		took = append(took, time.Since(begin))
		time.Sleep(300 * time.Millisecond)
	}
	r.stop()
	close(graphs)
	must(<-r.done)
	d := median(took)
	return result{Figure: fmt.Sprintf("%s, %d others ran", round(d), others), OK: d < 150*time.Millisecond && others == 0}
}
