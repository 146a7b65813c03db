package engine_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/internal/await"
)

// TestMemoryIsFlat swaps one graph of files for the next, each of other contents,
// and checks that what has left is let go of. What the Go runtime holds is
// measured and not what the process does: the race detector keeps much of its own
// for every goroutine that ever was, which looks like a leak and is none.
func TestMemoryIsFlat(t *testing.T) {
	const swaps, half, files = 200, 100, 10
	dir := t.TempDir()
	done, measured := make(chan struct{}, 1), make(chan struct{})
	var live, held [2]uint64
	graphs := func(ctx context.Context) iter.Seq[*gapi.Declared] {
		return func(yield func(*gapi.Declared) bool) {
			defer close(measured)
			for i := range swaps {
				if !yield(filesSaying(dir, files, i)) {
					return
				}
				select {
				case <-done:
				case <-ctx.Done():
					return
				}
				if at := (i + 1) / half; at > 0 && (i+1)%half == 0 {
					live[at-1], held[at-1] = memory()
				}
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	defer cancel()
	var seen reactor.Counts
	ended := make(chan error, 1)
	run, stop := context.WithCancel(ctx)
	e, err := mgmt.Open(run, mgmt.Options{ConvergedTimeout: time.Millisecond, Observer: mgmt.Observer{
		Converged: func(is bool, c reactor.Counts) {
			if seen = c; !is {
				return
			}
			select {
			case done <- struct{}{}:
			default:
			}
		},
	}}, static.From(graphs(run)))
	if err != nil {
		t.Fatal(err)
	}
	go func() { ended <- e.Wait() }()
	<-measured
	stop()
	if err := <-ended; err != nil || ctx.Err() != nil || seen[resgraph.StateOK] != files {
		t.Fatalf("%v, %v, %v", err, ctx.Err(), seen)
	}
	t.Logf("after %d swaps: live %d KiB, held %d KiB; after %d: %d and %d", half, live[0]>>10, held[0]>>10, swaps, live[1]>>10, held[1]>>10)
	if live[1] > live[0]+1<<20 {
		t.Errorf("what is live has grown from %d to %d bytes", live[0], live[1])
	}
	if held[1] > held[0]+8<<20 {
		t.Errorf("what the runtime holds has grown from %d to %d bytes", held[0], held[1])
	}
}

func filesSaying(dir string, n, what int) *gapi.Declared {
	d := &gapi.Declared{Name: "files"}
	for i := range n {
		text := &schema.Node{Kind: schema.NodeString, Text: fmt.Sprintf("%d of %d", i, what)}
		d.Resources = append(d.Resources, gapi.Declaration{Kind: "file", Name: fmt.Sprintf("%s/%d", dir, i),
			Value: &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: "content", Value: text}}}})
	}
	return d
}

// TestColdFileAllocates bounds what a file costs that is made, in objects: its declaration, its Watch, its run with the question who writes,
// the report, and its end in the next graph. A converge of many files is mostly that, and the collection of it.
func TestColdFileAllocates(t *testing.T) {
	const files, most = 1000, 70
	converged := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	e, err := mgmt.Open(ctx, mgmt.Options{Observer: mgmt.Observer{Converged: func(is bool, c reactor.Counts) {
		if is && c[resgraph.StateOK] == files {
			select {
			case converged <- struct{}{}:
			default:
			}
		}
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = e.Wait() })
	n := testing.AllocsPerRun(3, func() {
		dir := t.TempDir()
		if _, err := e.Apply(ctx, filesSaying(dir, files, 0)); err != nil {
			t.Fatal(err)
		}
		for made := false; !made; {
			<-converged
			_, err := os.Stat(fmt.Sprintf("%s/%d", dir, files-1))
			made = err == nil // else it was the graph before
		}
	})
	if n /= files; n > most {
		t.Errorf("a file makes %v objects, want at most %v", n, most)
	}
}

// memory returns what is reachable, and what the runtime has of the system.
func memory() (live, held uint64) {
	runtime.GC()
	s := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64() - s[2].Value.Uint64()
}
