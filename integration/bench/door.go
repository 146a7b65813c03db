package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	yamllib "go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// doorRows are graphs with many edges that come through the front door.
// The front door is package mgmt: it decodes, validates and transforms a graph before
// the reactor runs it.
func doorRows() []row {
	return []row{
		{"1,000,000 vertices with 3,000,000 edges through the front door", library, "CPU from the declared graph handed to Run, to converged; then resident memory above the empty process", "12µs of CPU and 1.0 KB each", millionThroughDoor},
		{"10,000 vertices with 30,000 edges from Go", library, "the declared graph handed to Run, to converged; median of nine, and its CPU", "25ms", tenThousandThroughDoor},
		{"10,000 vertices with 30,000 edges from YAML", library, "CPU from a file of 3.3 MB, to converged; floor: the YAML library alone parses the same bytes; medians of nine in turn; then what is allocated", "1.3 x floor, 150 MB", tenThousandFromYAML},
	}
}

// woven declares noops of which each depends on three random ones before it.
// The seed is fixed, so every run and both sides of a comparison have the same graph. All
// references share one array: the declaring side must not be the garbage that is
// measured.
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

// bringAbout returns the time and the processor time until a graph had converged, and its engine.
// The clock starts with the declared graph in hand. The caller closes r.
func bringAbout(decls []gapi.Declaration) (took, used time.Duration, r *running) {
	begin, before := time.Now(), cpu()
	r = start(graphOf(decls), mgmt.Options{})
	took = r.rest().Sub(begin)
	return took, cpu() - before, r
}

// Memory is read a second after convergence, when the goroutines of the start have ended.
// It is in KB of 1,000 bytes for each vertex.
// millionThroughDoor measures CPU and memory of a large graph that comes by package mgmt.
func millionThroughDoor(b *bench) result {
	// A quick run takes a tenth, which shows that the row works; its figure per vertex is not compared.
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

// The graph is made and the garbage of the round before is collected outside of the
// clock.
// tenThousandThroughDoor measures a graph of common size, from Go values.
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

// wovenFile writes the graph of woven, each vertex and each edge as an entry of its own.
// Edges are entries and not metaparams, since that is the longest way to write them: 3.3
// MB for 10,000 vertices.
func wovenFile(dir string, n int) string {
	var b bytes.Buffer
	b.WriteString("graph: bench\nresources:\n  noop:\n")
	decls := woven(n)
	for i := range decls {
		fmt.Fprintf(&b, "  - name: \"%d\"\n    meta: {autogroup: false}\n", i)
	}
	b.WriteString("edges:\n")
	for i := range decls {
		for e, r := range decls[i].Depend {
			fmt.Fprintf(&b, "- name: edge %d of %d\n  from: {kind: noop, name: \"%s\"}\n  to: {kind: noop, name: \"%d\"}\n", e, i, r.Ref.Name, i)
		}
	}
	path := filepath.Join(dir, "woven.yaml")
	must(os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// spent returns the processor time and the bytes allocated of a deed.
// Allocations are those of all goroutines of the process, so nothing else may run.
func spent(do func()) (used time.Duration, alloc uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := cpu()
	do()
	used = cpu() - begin
	runtime.ReadMemStats(&after)
	return used, after.TotalAlloc - before.TotalAlloc
}

// The floor parses the same bytes into nodes and drops them. Both take turns, and the
// limit is 1.3 times the floor and 150 MiB.
func tenThousandFromYAML(b *bench) result {
	path := wovenFile(b.dir, 10_000)
	src, err := os.ReadFile(path)
	must(err)
	var floors, ours []time.Duration
	var floorBytes, bytesOurs uint64
	for range 9 {
		used, alloc := spent(func() {
			l, err := yamllib.NewLoader(bytes.NewReader(src))
			must(err)
			must(l.Load(new(yamllib.Node)))
		})
		floors, floorBytes = append(floors, used), alloc
		var r *running
		used, alloc = spent(func() {
			r = start(yaml.New(path, yaml.Options{}), mgmt.Options{NoWatch: true})
			r.rest()
		})
		r.close()
		ours, bytesOurs = append(ours, used), alloc
	}
	got, floor := median(ours), median(floors)
	const mb = 1 << 20
	return result{
		Figure: fmt.Sprintf("%s = %.2f x, %d MB", round(got), float64(got)/float64(floor), bytesOurs/mb),
		Floor:  fmt.Sprintf("%s, %d MB for %.1f MB of text", round(floor), floorBytes/mb, float64(len(src))/1e6),
		OK:     10*got <= 13*floor && bytesOurs <= 150*mb,
	}
}
