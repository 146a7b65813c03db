package yaml_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// storeModel is the state of a store, and what has been sent: the inputs of TestModelOfStore.
type storeModel struct {
	cpus   map[string]int // of the other hosts
	chosen []string       // by the schedule b
	output string         // of exec[a]
	code   int64
}

// storeParts are what the texts of TestModelOfStore are made of, each with its value.
var storeParts = []struct {
	src   string
	value func(m *storeModel) string
}{
	{"x", func(*storeModel) string { return "x" }},
	{"$${{ k }}", func(*storeModel) string { return "${{ k }}" }},
	{"${{ facts.hostname }}", func(*storeModel) string { return "w1" }},
	{"${{ size(hosts) }}", func(m *storeModel) string { return fmt.Sprint(len(m.cpus) + 1) }},
	{"${{ hosts.map(h, h).join('+') }}", func(m *storeModel) string { return strings.Join(append([]string{"w1"}, sortedKeys(m.cpus)...), "+") }},
	{"${{ hosts[?'w2'].?cpus.orValue(0) }}", func(m *storeModel) string { return fmt.Sprint(m.cpus["w2"]) }},
	{"${{ scheduled('b').join(',') }}", func(m *storeModel) string { return strings.Join(m.chosen, ",") }},
	{"${{ 'w1' in scheduled('b') ? 'in' : 'out' }}", func(m *storeModel) string {
		if slices.Contains(m.chosen, "w1") {
			return "in"
		}
		return "out"
	}},
	{"${{ sent('exec[a].output') }}", func(m *storeModel) string { return m.output }},
	{"${{ sent('exec[a].code') + size(hosts) }}", func(m *storeModel) string { return fmt.Sprint(m.code + int64(len(m.cpus)) + 1) }},
	{"${{ sent('exec[a].code') > 5 ? sent('exec[a].output') : 'low' }}", func(m *storeModel) string {
		if m.code > 5 {
			return m.output
		}
		return "low"
	}},
}

// TestModelOfStore compares texts made of facts of other hosts, schedules and sent values with a model, for random texts and stores. A condition on the
// schedule decides whether the resource is there.
func TestModelOfStore(t *testing.T) {
	reg := registry(t)
	rapid.Check(t, func(r *rapid.T) {
		m := &storeModel{
			cpus:   rapid.MapOfN(rapid.SampledFrom([]string{"w2", "w3", "w4"}), rapid.IntRange(1, 64), 0, 3).Draw(r, "hosts"),
			chosen: slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"w1", "w2", "w3"}), 0, 3, rapid.ID[string]).Draw(r, "chosen"))),
			output: rapid.SampledFrom([]string{"", "out", "${{ x }}", "é\n"}).Draw(r, "output"),
			code:   rapid.Int64Range(0, 9).Draw(r, "code"),
		}
		var src, want strings.Builder
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(storeParts), 1, 5).Draw(r, "text") {
			src.WriteString(p.src)
			want.WriteString(p.value(m))
		}
		graph := fmt.Sprintf("resources:\n  exec: [{name: a, cmd: c}]\n  file:\n  - {name: /f, content: \"= %s\", when: \"${{ scheduled('b') }}\"}\n", src.String())
		d, _, err := loadFiles(t, map[string]string{"g.yaml": graph}, yaml.Options{
			Registry: func() *engine.Registry { return reg },
			Hosts: func() map[string]map[string]any {
				all := map[string]map[string]any{}
				for name, cpus := range m.cpus {
					all[name] = map[string]any{"hostname": name, "cpus": int64(cpus)}
				}
				return all
			},
			Scheduled: func(topic, name string) ([]string, string) {
				if topic+"/"+name != "all/b" {
					return nil, ""
				}
				return m.chosen, ""
			},
		})
		if err == nil {
			err = d.Problems.Err()
		}
		if err != nil {
			r.Fatalf("%v\n%s", err, graph)
		}
		at := slices.IndexFunc(d.Resources, func(x gapi.Declaration) bool { return x.Name == "/f" })
		switch is := at >= 0; {
		case is != slices.Contains(m.chosen, "w1"):
			r.Fatalf("the resource is there: %v, and %v are chosen", is, m.chosen)
		case !is:
			return
		}
		f := d.Resources[at]
		got := ""
		if len(f.Recv) > 0 {
			v, _, err := f.Recv[0].Formula.Make(map[string]any{"exec[a].output": m.output, "exec[a].code": m.code})
			if err != nil {
				r.Fatalf("%v\n%s", err, graph)
			}
			got = fmt.Sprint(v)
		} else {
			got = f.Value.Get("content").Text
		}
		if got != "= "+want.String() {
			r.Fatalf("%q, want %q\n%s", got, "= "+want.String(), graph)
		}
	})
}
