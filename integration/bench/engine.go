package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	_ "github.com/reactivegraph/mgmt/resources/all"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/file"
)

// running is an engine that runs.
// Its channels have room for 1,024 events each, so that a callback of the engine does not
// wait for a slow row.
type running struct {
	e         *mgmt.Engine
	stop      context.CancelFunc
	done      chan error
	converged chan time.Time
	swapped   chan reactor.Swap
}

// start runs a frontend.
// Strict makes a warning about the graph an error, so that a row does not measure a graph
// that was read differently. The caller calls close.
func start(f gapi.Frontend, o mgmt.Options) *running {
	r := &running{
		done:      make(chan error, 1),
		converged: make(chan time.Time, 1024),
		swapped:   make(chan reactor.Swap, 1024),
	}
	o.Strict = true
	o.Observer.Converged = func(yes bool, _ reactor.Counts) {
		if yes {
			r.converged <- time.Now()
		}
	}
	o.Observer.Swapped = func(s reactor.Swap) { r.swapped <- s }
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	e, err := mgmt.Open(ctx, o, f)
	must(err)
	r.e = e
	go func() { r.done <- e.Wait() }()
	return r
}

// rest waits for convergence, and says when it came.
// The time is that of the engine's own callback, so a slow reader does not lengthen a
// figure. It panics after five minutes or when the engine ends.
func (r *running) rest() time.Time {
	select {
	case t := <-r.converged:
		return t
	case err := <-r.done:
		panic(fmt.Sprintf("ended before it converged: %v", err))
	case <-time.After(5 * time.Minute):
		panic("not converged in five minutes")
	}
}

// It waits until every resource is cleaned up, so that the next round starts alone.
func (r *running) close() {
	r.stop()
	must(<-r.done)
}

// graphOf declares resources made in Go.
// They need no parser and no decoding, so such rows measure the engine alone.
func graphOf(decls []gapi.Declaration) *static.Frontend {
	return static.New(&gapi.Declared{Name: "bench", Resources: decls})
}

// The size is small on purpose: the row is about system calls and not about the bandwidth
// of a disk.
const fileSize = 64

// content returns the 64 bytes that file i is to have.
// The number of the file is in it, so a mixed-up content is found out.
func content(i int) string { return fmt.Sprintf("%-*d\n", fileSize-1, i) }

// files declares n files, perDir in each folder, and makes the folders.
// The folders are made here and not by the graph, because the floor finds them made too.
func files(dir string, n, perDir int) []gapi.Declaration {
	decls := make([]gapi.Declaration, n)
	for i := range decls {
		path := filePath(dir, i, perDir)
		if i%perDir == 0 {
			must(os.MkdirAll(filepath.Dir(path), 0o755))
		}
		text := content(i)
		decls[i] = static.Declare("file", path, &file.Res{Content: &text})
	}
	return decls
}

// Each folder has a number and perDir files.
func filePath(dir string, i, perDir int) string {
	return filepath.Join(dir, fmt.Sprint(i/perDir), fmt.Sprintf("f%06d", i))
}

// checkFiles panics if a file is wrong.
// A fast row with wrong files would otherwise count as good.
func checkFiles(dir string, n, perDir int) {
	for i := range n {
		b, err := os.ReadFile(filePath(dir, i, perDir))
		must(err)
		if string(b) != content(i) {
			panic(fmt.Sprintf("file %d is wrong", i))
		}
	}
}

// noops declares vertices that stay vertices: grouped they would be one.
func noops(n int) []gapi.Declaration {
	decls := make([]gapi.Declaration, n)
	for i := range decls {
		decls[i] = static.Declare("noop", fmt.Sprint(i), aloneNoop())
	}
	return decls
}

// Each declaration needs a resource of its own, since the engine owns it from then on.
func aloneNoop() *basic.NoopRes {
	res := &basic.NoopRes{}
	res.MetaParams().AutoGroup = new(false)
	return res
}
