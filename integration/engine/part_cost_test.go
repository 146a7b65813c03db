package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/password"
)

// TestFindingG8WholeNumbersOfJSON: a whole number that comes from JSON is a length of time, and a count, wherever a parameter or a
// metaparameter is one.
func TestFindingG8WholeNumbersOfJSON(t *testing.T) {
	e, ctx := applied(t, mgmt.Options{})
	var values, meta map[string]any
	for text, to := range map[string]*map[string]any{`{"interval": 7}`: &values, `{"timeout": 5, "retry": 2}`: &meta} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatal(err)
		}
	}
	g := static.NewGraph("json")
	g.AddValues("timer", "t", values).Meta(meta)
	if _, err := e.Apply(ctx, g.Declared()); err != nil {
		t.Fatal(err)
	}
	err := e.Look(ctx, func(r mgmt.Running) error {
		res := r.Find("timer[t]").Res.(*basic.TimerRes)
		if m := res.MetaParams(); time.Duration(res.Interval) != 7*time.Second || m.Timeout != 5*time.Millisecond || m.Retry != 2 {
			t.Errorf("%v, %+v", res.Interval, m)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// wide are graphs of any size, each with a part of which the size is the same in all of them.
var wide = map[string]struct {
	graph func(g *static.Graph, dir string, n int)
	part  func(g *static.Graph, dir string, n, round int)
	extra []string // what the part adds, to be deleted
}{
	"edges": {
		func(g *static.Graph, _ string, n int) {
			before := g.Add("noop", "n0", plainNoop(0))
			for i := 1; i < n; i++ {
				before = g.Add("noop", fmt.Sprint("n", i), plainNoop(0)).Depend(before)
			}
		},
		func(g *static.Graph, _ string, n, round int) {
			g.Add("noop", fmt.Sprint("n", n/2), plainNoop(1+round%2))
		},
		nil,
	},
	"automatic edges": {
		func(g *static.Graph, dir string, n int) {
			for i := range n {
				if i%100 == 0 {
					g.Add("file", fmt.Sprintf("%s/%d/", dir, i/100), &file.Res{})
				}
				g.Add("file", fmt.Sprintf("%s/%d/%d", dir, i/100, i), &file.Res{Content: new("x")})
			}
		},
		func(g *static.Graph, dir string, n, round int) {
			g.Add("file", fmt.Sprintf("%s/%d/new", dir, n/200), &file.Res{Content: new(fmt.Sprint(round))})
		},
		nil,
	},
	"comes and goes": {
		func(g *static.Graph, _ string, n int) {
			for i := range n {
				g.Add("noop", fmt.Sprint("n", i), plainNoop(0))
			}
		},
		func(g *static.Graph, _ string, _, _ int) { g.Add("noop", "extra", plainNoop(0)) },
		[]string{"noop[extra]"},
	},
	"values": {
		func(g *static.Graph, dir string, n int) {
			for i := range n / 2 {
				conf := &file.Res{Mode: "0600"}
				key := g.Add("password", fmt.Sprint(i), &password.Res{Length: 20})
				g.Add("file", fmt.Sprintf("%s/%d", dir, i), conf).Recv(&conf.Content, key.Sent("password"))
			}
		},
		func(g *static.Graph, _ string, n, round int) {
			g.Add("password", fmt.Sprint(n/4), &password.Res{Length: 20 + round%2})
		},
		nil,
	},
	"beside groups": {
		func(g *static.Graph, _ string, n int) {
			for i := range n {
				g.Add("noop", fmt.Sprint("n", i), &basic.NoopRes{})
			}
			g.Add("noop", "alone", plainNoop(0))
		},
		func(g *static.Graph, _ string, _, round int) { g.Add("noop", "alone", plainNoop(1+round%2)) },
		nil,
	},
}

// plainNoop joins no group.
func plainNoop(retry int) *basic.NoopRes {
	res := &basic.NoopRes{}
	res.MetaParams().AutoGroup, res.MetaParams().Retry = new(false), retry
	return res
}

// TestFindingG11PartCosts: Upsert and Delete allocate as much in a graph of 500 as in one of 10,000: also where the part has edges, is
// found by the automatic edges, sends values, or stands beside groups. Seen failing with: apply.go, alter: c.Whole != "".
func TestFindingG11PartCosts(t *testing.T) {
	for name, w := range wide {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cost := func(n int) (least uint64) {
				ctx, cancel := context.WithCancel(t.Context())
				e, err := mgmt.Open(ctx, mgmt.Options{Noop: reactor.NoopAll, Host: enginetest.NewHost()}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { cancel(); _ = e.Wait() }()
				g := static.NewGraph("g")
				w.graph(g, dir, n)
				if _, err := e.Apply(ctx, g.Declared()); err != nil {
					t.Fatal(err)
				}
				atRest(t, ctx, e)
				least = math.MaxUint64
				for round := range 20 {
					part := static.NewGraph("part")
					w.part(part, dir, n, round)
					d := part.Declared()
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					if err := e.Patch(ctx, mgmt.Patch{Upsert: d}); err != nil {
						t.Fatal(err)
					}
					if w.extra != nil {
						if err := e.Patch(ctx, mgmt.Patch{Delete: w.extra}); err != nil {
							t.Fatal(err)
						}
					}
					runtime.ReadMemStats(&after)
					if round > 0 { // the first one makes the index
						least = min(least, after.TotalAlloc-before.TotalAlloc)
					}
				}
				return least
			}
			small, large := cost(500), cost(10_000)
			t.Logf("%d bytes, and %d", small, large)
			if large > 2*small+16<<10 {
				t.Errorf("a part costs %d bytes in a graph of 500, and %d in one of 10,000", small, large)
			}
		})
	}
}

// atRest waits until an engine has converged.
func atRest(t *testing.T, ctx context.Context, e *mgmt.Engine) {
	t.Helper()
	for {
		now, err := e.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if now.Rest.Converged {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
