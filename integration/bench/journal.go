package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
)

// A notify edge is the case in which the journal must write before the work goes on, see
// package journal.
// journalRows measure the records that a run waits for.
func journalRows() []row {
	return []row{{
		"cold converge of 10,000 files that notify, with the journal", library, "graph in Go handed to Run, to converged; the other of each pair keeps its records in memory",
		"1.15 x without, median of 9 pairs", notifyingFiles,
	}}
}

// notifyingFiles converges files that each notify one vertex, with a journal on
// the same file system and with records in memory, one after the other.
// Nine pairs, and both on the file system of the bench folder: on a disk the ratio is
// another one.
func notifyingFiles(b *bench) result {
	const n, pairs = 10_000, 9
	var with, without []time.Duration
	for i := range pairs {
		without = append(without, convergeNotifying(filepath.Join(b.dir, fmt.Sprint("without", i)), n, mgmt.Options{Store: journal.NewMemory()}))
		state := filepath.Join(b.dir, fmt.Sprint("state", i))
		must(os.Mkdir(state, 0o700))
		with = append(with, convergeNotifying(filepath.Join(b.dir, fmt.Sprint("with", i)), n, mgmt.Options{State: mgmt.StateIn(state)}))
		must(os.RemoveAll(state))
	}
	return versus(median(with), median(without), 1.15)
}

// The one noop gets all refreshes, which the engine merges. The folder is removed at the
// end.
// convergeNotifying returns the time until n files and the notified vertex have converged, and removes what it made.
func convergeNotifying(dir string, n int, o mgmt.Options) time.Duration {
	decls := files(dir, n, n)
	g := &gapi.Declared{Name: "bench", Resources: append(decls, static.Declare("noop", "told", aloneNoop()))}
	for _, d := range decls {
		g.Edges = append(g.Edges, gapi.EdgeDecl{
			From: gapi.EdgeEnd{Kind: d.Kind, Name: d.Name}, To: gapi.EdgeEnd{Kind: "noop", Name: "told"}, Notify: true,
		})
	}
	// The edges are made before the clock starts.
	begin := time.Now()
	r := start(static.New(g), o)
	took := r.rest().Sub(begin)
	checkFiles(dir, n, n)
	r.close()
	must(os.RemoveAll(dir))
	return took
}
