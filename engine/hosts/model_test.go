package hosts_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// hostRig is a store with two hosts that can be read and one whose record is damaged, and the objects over it.
func hostRig(t *testing.T) (world.World, *model.NB, *model.Model) {
	w := memory.New()
	t.Cleanup(func() { _ = w.Close() })
	m, err := hosts.Model()
	if err != nil {
		t.Fatal(err)
	}
	reg := model.NewRegistry(nil)
	if err := reg.Add(m); err != nil {
		t.Fatal(err)
	}
	putKey(t, w, hosts.MemberKey("bad"), []byte("{"))
	putHost(t, w, hosts.Member{Name: "db/1", Version: "1.2", Since: time.Unix(7, 0).UTC(), Facts: map[string]any{"os": "Debian", "cpus": 4, "disks": []any{map[string]any{"name": "sda"}}}})
	putHost(t, w, hosts.Member{Name: "web1", Version: "1.2", State: hosts.MemberState{Failed: 1, OK: 2}})
	return w, model.Open(w, reg, model.Options{}), m
}

func putHost(t *testing.T, w world.World, m hosts.Member) {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	putKey(t, w, hosts.MemberKey(m.Name), text)
}

func putKey(t *testing.T, w world.World, key string, value []byte) {
	t.Helper()
	if _, ok, err := w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: value}}); err != nil || !ok {
		t.Fatal(ok, err)
	}
}

// TestHostsAreAModel: hosts are read as any objects, by id and by index, and a damaged record hides no other.
func TestHostsAreAModel(t *testing.T) {
	_, nb, m := hostRig(t)
	o, err := nb.Get(t.Context(), m, "db/1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := o.MarshalJSON()
	const want = `{"blocked":0,"facts":{"cpus":4,"disks":[{"name":"sda"}],"os":"Debian"},"failed":0,"graph":"","id":"db/1","ok":0,"other":0,"release":"1.2","started":"1970-01-01T00:00:07Z","state":"working"}`
	if err != nil || string(text) != want || o.Revision() == 0 {
		t.Errorf("%s at %d, %v", text, o.Revision(), err)
	}
	list, err := nb.List(t.Context(), model.Query{Model: m, Index: "state", Where: map[string]any{"state": "failing"}})
	if err != nil || len(list) != 1 || list[0].ID() != "web1" {
		t.Error(list, err)
	}
	var ids []string
	for o, err := range nb.All(t.Context(), model.Query{Model: m}) {
		if err != nil {
			ids = append(ids, string(model.CodeOf(err))+" "+model.Faults(err)[0].ID)
			continue
		}
		ids = append(ids, o.ID())
	}
	if !slices.Equal(ids, []string{"bad_record bad", "db/1", "web1"}) {
		t.Errorf("%q", ids)
	}
	if list, err := nb.List(t.Context(), model.Query{Model: m, After: "db/1", Limit: 1}); err != nil || len(list) != 1 || list[0].ID() != "web1" {
		t.Error(list, err)
	}
	if _, err := nb.Get(t.Context(), m, "none"); !errors.Is(err, model.NotFound) {
		t.Error(err)
	}
}

// TestHostsCanOnlyBeRead: every way to change a host is refused with one class, and nothing is written.
func TestHostsCanOnlyBeRead(t *testing.T) {
	w, nb, m := hostRig(t)
	before, err := w.List(t.Context(), "", world.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := m.New(map[string]any{"id": "web1", "state": "converged"})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"create":  func() error { _, err := nb.Create(t.Context(), o, model.Write{}); return err },
		"update":  func() error { _, err := nb.Update(t.Context(), o, model.Write{}); return err },
		"replace": func() error { _, err := nb.Replace(t.Context(), o, model.Write{DryRun: true}); return err },
		"delete":  func() error { _, err := nb.Delete(t.Context(), m, "web1", model.Write{}); return err },
		"unread":  func() error { _, err := nb.Delete(t.Context(), m, "bad", model.Write{}); return err },
	} {
		if err := change(); !errors.Is(err, model.ReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if done, err := nb.Migrate(t.Context(), false); err != nil || len(done) != 0 {
		t.Error(done, err)
	}
	after, err := w.List(t.Context(), "", world.ListOptions{})
	if err != nil || after.Revision != before.Revision {
		t.Errorf("revision %d after %d, %v", after.Revision, before.Revision, err)
	}
}

// TestHostsAreWatched: a reader that names the hosts is told of them beside the records, and one that names nothing is not.
func TestHostsAreWatched(t *testing.T) {
	w, nb, m := hostRig(t)
	page, err := w.List(t.Context(), "", world.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	other, err := model.Define(model.Spec{Name: "Zone", Table: "zone", Mixins: []model.Mixin{model.Version}})
	if err != nil {
		t.Fatal(err)
	}
	if err := nb.Registry().Add(other); err != nil {
		t.Fatal(err)
	}
	putHost(t, w, hosts.Member{Name: "web1", State: hosts.MemberState{Converged: true}})
	zone, err := other.New(map[string]any{"id": "z"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nb.Create(t.Context(), zone, model.Write{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: hosts.MemberKey("db/1"), Delete: true}}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   model.Interest
		want []string // in any order, since prefixes are watched by themselves
	}{
		"hosts alone": {model.Interest{Models: []*model.Model{m}}, []string{"delete hosts db/1", "set hosts web1"}},
		"both":        {model.Interest{Models: []*model.Model{m, other}}, []string{"create zone z", "delete hosts db/1", "set hosts web1"}},
		"all":         {model.Interest{}, []string{"create zone z"}},
		"no topic":    {model.Interest{Models: []*model.Model{m, other}, Topics: []string{""}}, []string{"create zone z", "delete hosts db/1", "set hosts web1"}},
		"a topic":     {model.Interest{Models: []*model.Model{m, other}, Topics: []string{"all", ""}}, []string{"create zone z", "delete hosts db/1", "set hosts web1"}},
	} {
		var got []string
		for b, err := range nb.Watch(t.Context(), c.in, page.Revision) {
			if err != nil {
				t.Fatal(name, err)
			}
			for _, change := range b.Changes {
				got = append(got, change.Action.String()+" "+change.Model.Table()+" "+change.ID)
			}
			if len(got) >= len(c.want) {
				break
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
