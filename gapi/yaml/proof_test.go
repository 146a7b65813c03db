package yaml_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestFindingR1Proofs: a resource that is there because this host is chosen carries the lease that proves it, however the graph says so. Other resources
// carry none.
func TestFindingR1Proofs(t *testing.T) {
	const module = "module: m\ninputs: {given: {type: any, default: 1}}\noutputs: {out: \"${{ module.inputs.given }}\"}\nresources: {file: [{name: /module}]}\n"
	for _, c := range []struct {
		name, graph string
		more        string // a file m.yaml
		want        string // the resources with the lease
	}{
		{name: "a condition", graph: `resources: {file: [{name: /a, when: "${{ scheduled('b') }}"}, {name: /z}]}`, want: "/a"},
		{name: "a condition on the list", graph: `resources: {file: [{name: /a, when: "${{ facts.hostname in scheduled('b') }}"}, {name: /z}]}`, want: "/a"},
		{name: "not chosen", graph: `resources: {file: [{name: /a, when: "${{ scheduled('c') == ['w2'] }}"}]}`},
		{name: "a parameter", graph: `resources: {file: [{name: /a, content: "for ${{ scheduled('b').join('') }}"}, {name: /z}]}`, want: "/a"},
		{name: "a loop", graph: `resources: {file: [{name: "/${{ each.value }}", for_each: "${{ scheduled('b') }}"}, {name: /z}]}`, want: "/w1"},
		{name: "a turn", graph: `resources: {file: [{name: "/${{ each.value }}", for_each: [a, b], when: "${{ each.value == 'a' || scheduled('b').size() == 1 }}"}]}`, want: "/b"},
		{name: "a default", graph: `{defaults: {file: {content: "${{ scheduled('b').join('') }}"}}, resources: {file: [{name: /a}, {name: /z, content: own}]}}`, want: "/a"},
		{name: "a module", graph: `{use: [{module: ./m, when: "${{ scheduled('b') }}"}], resources: {file: [{name: /z}]}}`, want: "/module"},
		{name: "an input", graph: `{use: [{module: ./m, with: {given: "${{ scheduled('b') }}"}}], resources: {file: [{name: /z}]}}`, want: "/module"},
		{name: "an output", graph: `{use: [{module: ./m, with: {given: "${{ scheduled('b') }}"}}, {module: ./m, name: n}], resources: {file: [{name: /a, content: "${{ string(module.m.out[0]) }}"}, {name: /z, content: "${{ string(module.n.out) }}"}]}}`, want: "/a /module"},
		{name: "a layer of data", graph: `{data: {files: ["${{ scheduled('b').size() == 1 ? 'd.yaml' : 'g.yaml' }}"]}, resources: {file: [{name: "/${{ data.d }}"}, {name: /z}]}}`, more: `d: a`, want: "/a /z"},
		{name: "an include", graph: `{include: ["${{ scheduled('b').size() == 1 ? 'm.yaml' : 'g.yaml' }}"], resources: {file: [{name: /a}]}}`, more: `resources: {file: [{name: /b}]}`, want: "/a /b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := yaml.Options{Hostname: "w1", Facts: func() map[string]any { return map[string]any{"hostname": "w1"} }, Scheduled: func(_, name string) ([]string, string) {
				if name == "b" {
					return []string{"w1"}, "7"
				}
				return []string{"w2"}, ""
			}}
			files := map[string]string{"g.yaml": c.graph, "m/module.yaml": module}
			if strings.Contains(c.name, "output") {
				files["m/module.yaml"] = strings.ReplaceAll(module, "{file: [{name: /module}]}", "{file: [{name: \"/module\", when: \"${{ module.name == 'm' }}\"}]}")
			}
			if c.more != "" {
				files["m.yaml"], files["d.yaml"] = c.more, c.more
			}
			d, _, err := loadFiles(t, files, o)
			if err == nil {
				err = d.Problems.Err()
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range d.Resources {
				for i, p := range r.Proofs {
					if p.Lease != "7" || !strings.Contains(p.Of, "all/b") {
						t.Errorf("%s has %+v", r.Name, p)
					}
					if i == 0 {
						got = append(got, r.Name)
					}
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("the lease is with %v, want %s", got, c.want)
			}
		})
	}
}

// doubtful is a World whose leases have run out by the time since boot, though nothing has told it yet. Its Watch is silent from then on.
type doubtful struct {
	world.World
	out atomic.Bool
}

type doubtfulLease struct {
	world.Lease
	out *atomic.Bool
}

func (l doubtfulLease) Holds() bool { return !l.out.Load() && l.Lease.Holds() }

func (d *doubtful) Held(id string) world.Lease {
	if l := d.World.Held(id); l != nil {
		return doubtfulLease{l, &d.out}
	}
	return nil
}

func (d *doubtful) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) {
		for b, err := range d.World.Watch(ctx, prefix, from) {
			if d.out.Load() {
				<-ctx.Done()
				return
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// TestFindingR1LostLease: a host whose lease may have run out is not chosen, though the last state of the store says so, and it is again when the
// lease turns out to hold. The record of a lease that another process has, such as of one of its name, proves nothing.
func TestFindingR1LostLease(t *testing.T) {
	path := write(t, t.TempDir(), "g.yaml", `{comment: "${{ scheduled('b').join(',') }}", resources: {}}`)
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		defer w.Close()
		own, other := &doubtful{World: w}, w.Join()
		defer other.Close()
		host := &factHost{fakeHost: &fakeHost{}, facts: engine.Facts{Hostname: "w1"}}
		f := followEnv(t, path, gapi.Env{Host: host, World: own, Hostname: "w1", Proves: true})
		defer func() { f.stop(); <-f.done }()
		f.expect("")
		stand := func(w world.World, host string) world.Lease {
			l, err := w.Lease(t.Context(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			txn(t, w, world.Op{Key: hosts.ScheduleKey("all", "b", host), Value: []byte(`{"strategy":"sticky","count":2}`), Lease: l})
			return l
		}
		stand(other, "w1")
		f.expect()
		lease := stand(own, "w1")
		f.expect("w1")
		stand(other, "w2")
		f.expect("w1,w2")
		own.out.Store(true) // nothing tells it: the next look finds it
		stand(other, "w3")
		if err := lease.Revoke(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.expect("w2")
	})
}
