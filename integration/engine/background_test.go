package engine_test

import (
	"context"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/journal"
)

// TestBackground: what runs beside the graph has the engine and its history until all
// of the graph has ended, and Run waits for it.
func TestBackground(t *testing.T) {
	dir := t.TempDir()
	ended := false
	var sum int
	with, f := from("resources: {noop: [{name: a}]}", mgmt.Options{
		State: mgmt.StateIn(dir), ConvergedExit: true,
		Background: func(ctx context.Context, e *mgmt.Engine) {
			<-ctx.Done()
			c, _ := countsOf(t.Context(), e)
			for _, n := range c {
				sum += n
			}
			e.History().Append(journal.Entry{Outcome: "stopped"})
			ended = true
		},
	})
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	if !ended || sum != 0 {
		t.Errorf("it has ended: %t; it sees %d vertices of a graph that has ended", ended, sum)
	}
	j, err := journal.Open(dir+"/journal.db", journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	n := 0
	for range j.History().Query(t.Context(), journal.Query{}) {
		n++
	}
	if n != 1 {
		t.Errorf("the history has %d entries", n)
	}
}
