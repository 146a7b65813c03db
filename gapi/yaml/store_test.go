package yaml_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// txn writes one key of a store, or deletes it.
func txn(t *testing.T, w world.World, op world.Op) {
	t.Helper()
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{op}); err != nil {
		t.Fatal(err)
	}
}

// member is the record of a host.
func member(t *testing.T, name string, ok int, facts map[string]any) world.Op {
	t.Helper()
	b, err := json.Marshal(hosts.Member{Name: name, Facts: facts, State: hosts.MemberState{OK: ok}})
	if err != nil {
		t.Fatal(err)
	}
	return world.Op{Key: hosts.MemberKey(name), Value: b}
}

// TestStoreWakes: the facts of other hosts and the choice of a schedule make a new graph when they change, and nothing else of the store does.
func TestStoreWakes(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "g.yaml", `{comment: "${{ hosts.map(h, h + '=' + string(hosts[h].cpus)).join(' ') }} ${{ scheduled('b').join(',') }}", resources: {}}`)
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		defer w.Close()
		host := &factHost{fakeHost: &fakeHost{}, facts: engine.Facts{Hostname: "w1", CPUs: 1}}
		f := followEnv(t, path, gapi.Env{Host: host, World: w, Hostname: "w1"})
		f.host = host.fakeHost
		defer func() { f.stop(); <-f.done }()
		f.expect("w1=1 ")
		txn(t, w, member(t, "w2", 0, map[string]any{"cpus": 2}))
		f.expect("w1=1 w2=2 ")
		txn(t, w, member(t, "w2", 7, map[string]any{"cpus": 2})) // its state, which is no fact
		f.expect()
		txn(t, w, world.Op{Key: hosts.ScheduleKey("all", "b", "w2"), Value: []byte(`{"strategy":"alpha","count":1}`)})
		f.expect("w1=1 w2=2 w2")
		txn(t, w, world.Op{Key: hosts.ScheduleKey("all", "other", "w2"), Value: []byte(`{"strategy":"alpha","count":1}`)})
		f.expect()
		txn(t, w, world.Op{Key: hosts.ScheduleKey("all", "b", "w1"), Value: []byte(`{"strategy":"alpha","count":1}`)})
		f.expect("w1=1 w2=2 w1")
		txn(t, w, world.Op{Key: hosts.MemberKey("w2"), Delete: true})
		f.expect("w1=1 w1")
		host.change(func(facts *engine.Facts) { facts.CPUs = 8 })
		f.expect("w1=8 w1")
	})
}

// TestScheduled: a call of scheduled alone is a condition on this machine, and a list anywhere else. What another machine's facts do not have is told.
func TestScheduled(t *testing.T) {
	for _, c := range []struct{ name, item, want, wrong string }{
		{name: "chosen", item: `{name: /a, when: "${{ scheduled('b') }}"}`, want: "file[/a]"},
		{name: "not chosen", item: `{name: /a, when: "${{ scheduled('c') }}"}`},
		{name: "in a list", item: `{name: /a, when: "${{ facts.hostname in scheduled('b') }}"}`, want: "file[/a]"},
		{name: "of a group", item: `{name: "/${{ scheduled('b', 'group:db')[0] }}"}`, want: "file[/db]"},
		{name: "a list is no condition", item: `{name: /a, when: "${{ scheduled('b') + ['x'] }}"}`, wrong: "3:27: when must be true or false, and this expression is a list whose items are text"},
		{name: "no topic", item: `{name: "/${{ scheduled('b', 'db').join('') }}"}`, wrong: "3:27: scheduled takes the name of a schedule, and a topic: all, group:ROLE or host:NAME"},
		{name: "the facts of a host", item: `{name: "/${{ hosts['w2'].hostname }}"}`, want: "file[/w2]"},
		{name: "no such fact", item: `{name: "/${{ hosts['w2'].hostnam }}"}`, wrong: `3:30: hosts[...] has no "hostnam" (did you mean "hostname"?)`},
		{name: "no such host", item: `{name: "/${{ hosts['w3'].hostname }}"}`, wrong: `there is no key "w3"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := yaml.Options{
				Hosts: func() map[string]map[string]any { return map[string]map[string]any{"w2": {"hostname": "w2"}} },
				Scheduled: func(topic, name string) ([]string, string) {
					return map[string][]string{"all/b": {"w1"}, "group:db/b": {"db"}}[topic+"/"+name], ""
				},
			}
			files := map[string]string{"g.yaml": "resources:\n  file:\n  - " + c.item + "\n"}
			if got := told(t, files, o); !strings.Contains(got, c.wrong) || (got == "") != (c.wrong == "") {
				t.Errorf("\n got %s\nwant %s", got, c.wrong)
			}
			d, _, err := loadFiles(t, files, o)
			if err != nil || c.wrong != "" {
				return
			}
			var got strings.Builder
			for _, r := range d.Resources {
				got.WriteString(r.Kind + "[" + r.Name + "]")
			}
			if got.String() != c.want {
				t.Errorf("the graph has %s, want %s", got.String(), c.want)
			}
		})
	}
}
