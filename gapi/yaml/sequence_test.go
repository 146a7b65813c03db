package yaml_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// sequenceGraph reads every input that a graph of files may have.
const sequenceGraph = `vars: {a: "-"}
data: {files: ["${{ facts.hostname }}.yaml", d.yaml]}
use: [{module: m, when: "${{ facts.cpus != 3 }}"}]
comment: "${{ [facts.hostname, vars.a, data.?k.orValue('-'), read('r'), template('t.tmpl', data), module.m.?o.orValue('-')].join(' ') }}"
defaults: {noop: {comment: "on ${{ facts.hostname }}"}}
resources:
  noop:
  - name: fixed
  - {name: "${{ vars.a }}", depend: ["noop[fixed]"]}
  - {name: after, depend: ["noop[odd]", "noop[fixed]"]}
  - {name: odd, when: "${{ facts.cpus != 2 }}", before: ["noop[after]"]}
  - {name: of one fact, comment: "${{ facts.kernel }}"}
  - {name: "loop ${{ each.value }}", for_each: "${{ ['x', 'y', vars.a] }}", comment: "${{ each.key }} ${{ facts.cpus }}"}
  - {name: short, for_each: "${{ facts.cpus == 1 ? ['only'] : [] }}"}
  - {name: reads, comment: "${{ read('r') }}"}
  - {name: layered, comment: "${{ data.?k.orValue('none') }}"}
  - {name: of the module, comment: "${{ module.m.?o.orValue('-') }}", depend: ["module[m]"]}
  test:
  - {name: a, text: "${{ facts.hostname }}"}
  - {name: b, text: "${{ vars.a }}", recv: {other: "test[a].said"}}
  - {name: c, recv: {other: "test[e].said", text: "test[a].said"}}
  - {for_each: "${{ lists.range(60) }}", name: "many ${{ each.value }}"}
  - {name: e, when: "${{ facts.kernel != 'k3' }}"}
`

// sequenceFiles are the inputs that change, with what they may hold; a text that is empty is a fault in most of them.
var sequenceFiles = map[string][]string{
	"v.yaml":        {"a: v1", "a: v2", "b: unknown"},
	"d.yaml":        {"k: d1", "k: d2", "{}", "{"},
	"w1.yaml":       {"k: of w1", "{}"},
	"r":             {"r1", "r2"},
	"t.tmpl":        {"t1", "{{ index . \"k\" }}", "{{ .k }}", "{{ if }}"},
	"m/module.yaml": {"module: m\nresources: {noop: [{name: inner, comment: \"${{ facts.cpus }}\"}]}\noutputs: {o: \"${{ facts.hostname }}\"}", "module: m\noutputs: {o: \"${{ read('../r') }}\"}", "module: m"},
}

// TestSequence: after any sequence of changes of facts, variables and files, whole ones and faulty ones, the graph is the one that is built from
// the last state first.
func TestSequence(t *testing.T) {
	var parts atomic.Int64
	defer func() {
		if parts.Load() < 20 {
			t.Errorf("only %d graphs came as parts", parts.Load())
		}
	}()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			dir := t.TempDir()
			path := write(t, dir, "g.yaml", sequenceGraph)
			names := slices.Sorted(maps.Keys(sequenceFiles))
			for _, name := range names {
				write(t, dir, name, sequenceFiles[name][0])
			}
			synctest.Test(t, func(t *testing.T) {
				host := &factHost{fakeHost: &fakeHost{}, facts: engine.Facts{Hostname: "w1", CPUs: 1}}
				o := yaml.Options{VarFiles: []string{filepath.Join(dir, "v.yaml")}, Facts: func() map[string]any { facts := host.Facts(); return facts.Map() }}
				f := followOptions(t, path, gapi.Env{Host: host}, o)
				defer func() { f.stop(); <-f.done }()
				for range 20 {
					for range 1 + random.IntN(3) {
						switch n := random.IntN(len(names) + 3); n {
						case 0:
							host.change(func(facts *engine.Facts) { facts.Hostname = fmt.Sprint("w", 1+random.IntN(2)) })
						case 1:
							host.change(func(facts *engine.Facts) { facts.CPUs = 1 + random.IntN(3) })
						case 2:
							host.change(func(facts *engine.Facts) { facts.Kernel = fmt.Sprint("k", 1+random.IntN(3)) })
						default:
							name := names[n-3]
							write(t, dir, name, sequenceFiles[name][random.IntN(len(sequenceFiles[name]))])
							host.touch()
						}
						time.Sleep(time.Duration(1+random.IntN(200)) * time.Millisecond)
					}
					time.Sleep(time.Minute)
					synctest.Wait()
					f.endsAs(t, path, o)
				}
				parts.Add(int64(f.parts))
			})
		})
	}
}

// endsAs compares the last graph, or the last error, with that of a first reading.
func (f *follower) endsAs(t *testing.T, path string, o yaml.Options) {
	t.Helper()
	want := ""
	d, err := yaml.Load(path, o, nil)
	if err == nil {
		err = d.Problems.Err()
	}
	if err != nil {
		want = "error: " + err.Error()
	} else {
		want = d.Comment
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d != nil {
		resources := map[string]string{}
		for i := range d.Resources {
			resources[d.Resources[i].ID()] = declarationText(&d.Resources[i])
		}
		for id := range resources {
			if f.runs[id] != resources[id] && err == nil {
				t.Errorf("%s is\n%s, and a first reading gives\n%s", id, f.runs[id], resources[id])
			}
		}
		if len(f.runs) != len(resources) && err == nil {
			t.Errorf("there are %d resources, and a first reading gives %d", len(f.runs), len(resources))
		}
	}
	if got := f.seen[len(f.seen)-1]; got != want {
		t.Fatalf("the last graph is %q, and a first reading gives %q", got, want)
	}
}
