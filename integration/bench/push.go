package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
)

// pushRows measure programs that change resources of a running graph as events come.
// Beside them stands what two libraries for such programs take to tell another goroutine of a change. They check nothing and bring nothing
// about, so there is no ratio to hold.
func pushRows() []row {
	return []row{{
		"push of one of 1,000 resources, and of 50 at once", library,
		"CPU of the process for each resource, from its declaration to its swap in effect, with the runs; beside a table of statedb and a queue of client-go", "60µs and 15µs of CPU",
		func(*bench) result {
			one, many := pushEach(1), pushEach(50)
			return result{
				Figure: round(one) + " and " + round(many),
				Floor:  peers("integration/bench/peers"),
				OK:     one <= 60*time.Microsecond && many <= 15*time.Microsecond,
			}
		},
	}}
}

// pushEach changes as many resources in each call of Upsert as a batch has.
// Each gets a value that it did not have before.
func pushEach(batch int) time.Duration {
	const n, pushes = 1000, 50_000
	r := start(nil, mgmt.Options{NoAutoGroup: true})
	part := func(from, n, round int) *static.Graph {
		g := static.NewGraph("push")
		for i := range n {
			g.Add("noop", fmt.Sprint("n", from+i), &basic.NoopRes{Comment: fmt.Sprint(round)})
		}
		return g
	}
	_, err := r.e.Apply(context.Background(), part(0, n, 0).Declared())
	must(err)
	<-r.swapped
	var begin time.Duration
	for at := 0; at <= pushes; at += batch {
		must(r.e.Patch(context.Background(), mgmt.Patch{Upsert: part(at%n/batch*batch, batch, 1+at/n).Declared()}))
		select {
		case <-r.converged: // none is missed, and there is room for the next ones
		default:
		}
		if s := <-r.swapped; s.Changed != batch {
			panic(fmt.Sprintf("%d of %d changed", s.Changed, batch))
		}
		if at == 0 { // it makes the index
			begin = cpu()
		}
	}
	each := (cpu() - begin) / pushes
	r.close()
	return each
}

// peers measures the other libraries, which are a module of their own in a folder.
// Where that can't be built, as without a network, the row says so and is still good.
func peers(folder string) string {
	var f struct{ StateDB, Workqueue map[int]time.Duration }
	out, err := exec.Command("go", "-C", folder, "run", ".").Output()
	if err == nil {
		err = json.Unmarshal(out, &f)
	}
	if err != nil {
		return "statedb and workqueue not measured: " + err.Error()
	}
	return fmt.Sprintf("statedb %s and %s, workqueue %s and %s", round(f.StateDB[1]), round(f.StateDB[50]), round(f.Workqueue[1]), round(f.Workqueue[50]))
}
