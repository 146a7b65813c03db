package modeltest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/model/store"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

var (
	text   = &schema.Type{Kind: schema.KindString}
	number = &schema.Type{Kind: schema.KindInt, Bits: 64}
)

// rig is an NB with a model of most things, on one World.
type rig struct {
	t   *testing.T
	w   world.World
	nb  *model.NB
	m   *model.Model
	reg *model.Registry
}

func define(t testing.TB, s model.Spec) *model.Model {
	t.Helper()
	m, err := model.Define(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func item(schemaNow int, more ...model.Field) model.Spec {
	s := model.Spec{
		Name: "Item", Table: "item", Mixins: []model.Mixin{model.Topic, model.Version}, Schema: schemaNow, Reads: 1,
		Fields:  append([]model.Field{{Key: "n", Type: number}, {Key: "tags", Type: &schema.Type{Kind: schema.KindList, Elem: text}}, {Key: "label", Type: text}}, more...),
		Indexes: map[string][]string{"label": {"label"}},
	}
	for from := 1; from < schemaNow; from++ {
		s.Migrations = append(s.Migrations, model.Migration{From: from, Up: func(f map[string]any) error {
			f["more"] = fmt.Sprint(f["label"], from)
			return nil
		}})
	}
	return s
}

// eachWorld runs a test on a fresh rig for each World.
func eachWorld(t *testing.T, test func(r *rig)) {
	for _, w := range config(t).Worlds {
		t.Run(w.Name, func(t *testing.T) {
			world, err := w.Open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = world.Close() })
			test(newRig(t, world, item(1)))
		})
	}
}

func newRig(t *testing.T, w world.World, s model.Spec) *rig {
	r := &rig{t: t, w: w, m: define(t, s), reg: model.NewRegistry(nil)}
	if err := r.reg.Add(r.m); err != nil {
		t.Fatal(err)
	}
	r.nb = model.Open(w, r.reg, model.Options{Prefix: "p/", Origin: "test"})
	return r
}

func (r *rig) object(fields map[string]any) *model.Object {
	r.t.Helper()
	o, err := r.m.New(fields)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func (r *rig) create(id, topic string, fields ...any) *model.Object {
	r.t.Helper()
	f := map[string]any{"id": id, "topic": topic}
	for i := 0; i < len(fields); i += 2 {
		f[fields[i].(string)] = fields[i+1]
	}
	o, err := r.nb.Create(r.t.Context(), r.object(f), model.Write{})
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func (r *rig) get(id string) *model.Object {
	r.t.Helper()
	o, err := r.nb.Get(r.t.Context(), r.m, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func TestWritersLoseNoUpdate(t *testing.T) {
	eachWorld(t, func(r *rig) {
		r.create("a", "t")
		const writers, rounds = 4, 10
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range rounds {
					args := map[string]any{"field": "tags", "value": fmt.Sprint(w, "-", i)}
					if _, err := r.nb.Call(r.t.Context(), r.m, "a", "add", args, model.Write{}); err != nil {
						r.t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		o := r.get("a")
		if tags := o.Get("tags").([]any); len(tags) != writers*rounds || o.Version() != writers*rounds+1 {
			r.t.Errorf("%d tags at version %d", len(tags), o.Version())
		}
	})
}

func TestExpectations(t *testing.T) {
	eachWorld(t, func(r *rig) {
		made := r.create("a", "t", "n", 1)
		part := r.object(map[string]any{"id": "a", "n": 2})
		for _, w := range []model.Write{{IfVersion: 2}, {IfRevision: made.Revision() + 1}} {
			if _, err := r.nb.Update(r.t.Context(), part, w); !errors.Is(err, model.Conflict) {
				r.t.Errorf("%+v: %v", w, err)
			}
		}
		dry, err := r.nb.Update(r.t.Context(), part, model.Write{DryRun: true, IfVersion: 1})
		if err != nil || dry.Version() != 2 || dry.Revision() != 0 || r.get("a").Version() != 1 {
			r.t.Errorf("dry run: %v, %v", dry, err)
		}
		now, err := r.nb.Update(r.t.Context(), part, model.Write{IfVersion: 1, IfRevision: made.Revision()})
		if err != nil || now.Version() != 2 || now.Revision() != r.get("a").Revision() || now.Created() != made.Created() {
			r.t.Errorf("%v, %v", now, err)
		}
		again, err := r.nb.Update(r.t.Context(), part, model.Write{})
		if err != nil || again.Version() != 2 || again.Revision() != now.Revision() {
			r.t.Errorf("an update without a change: %v, %v", again, err)
		}
		if _, err := r.nb.Delete(r.t.Context(), r.m, "a", model.Write{IfVersion: 1}); !errors.Is(err, model.Conflict) {
			r.t.Error(err)
		}
		if _, err := r.nb.Replace(r.t.Context(), r.object(map[string]any{"id": "a", "label": "x"}), model.Write{}); err != nil {
			r.t.Error(err)
		}
		if o := r.get("a"); o.Has("n") || o.Get("label") != "x" || o.Topic() != "t" || o.Version() != 3 || o.Origin() != "test" {
			r.t.Errorf("replaced: %v", o)
		}
	})
}

// changes returns what a Watch from a revision sees up to another one.
func (r *rig) changes(in model.Interest, from, to int64) (out []string) {
	r.t.Helper()
	for b, err := range r.nb.Watch(r.t.Context(), in, from) {
		if err != nil {
			r.t.Fatal(err)
		}
		var line strings.Builder
		for _, c := range b.Changes {
			line.WriteString(fmt.Sprintf("%s %s@%s", c.Action, c.ID, c.Topic))
			if c.Quiet {
				line.WriteString(" quiet")
			}
			line.WriteString(";")
		}
		if line.String() != "" {
			out = append(out, line.String())
		}
		if b.Revision >= to {
			return out
		}
	}
	return out
}

func TestMoveUnseen(t *testing.T) {
	eachWorld(t, func(r *rig) {
		first := r.create("a", "t")
		r.create("b", "u")
		_, err := r.nb.Txn(r.t.Context(), func(tx *model.Tx) error {
			_, err := tx.Update(r.object(map[string]any{"id": "a", "topic": "u"}), model.Write{})
			_, err2 := tx.Update(r.object(map[string]any{"id": "b", "topic": "t"}), model.Write{})
			return errors.Join(err, err2)
		})
		if err != nil {
			r.t.Fatal(err)
		}
		if _, err := r.nb.Delete(r.t.Context(), r.m, "a", model.Write{Quiet: true}); err != nil {
			r.t.Fatal(err)
		}
		last := r.create("c", "t")
		end := r.create("d", "u")
		for _, tc := range []struct {
			topics []string
			to     int64
			want   []string
		}{
			{nil, end.Revision(), []string{"create b@u;", "set a@u;set b@t;", "delete a@u quiet;", "create c@t;", "create d@u;"}},
			{[]string{"t"}, last.Revision(), []string{"delete a@t;create b@t;", "create c@t;"}},
			{[]string{"u", "x"}, end.Revision(), []string{"create b@u;", "create a@u;delete b@u;", "delete a@u quiet;", "create d@u;"}},
		} {
			got := r.changes(model.Interest{Topics: tc.topics}, first.Revision(), tc.to)
			sortParts(got)
			sortParts(tc.want)
			if !slices.Equal(got, tc.want) {
				r.t.Errorf("topics %v: %q, want %q", tc.topics, got, tc.want)
			}
		}
	})
}

// sortParts sorts the changes of each revision.
func sortParts(lines []string) {
	for i, line := range lines {
		parts := strings.Split(line, ";")
		slices.Sort(parts)
		lines[i] = strings.Join(parts, ";")
	}
}

func TestHostileIDs(t *testing.T) {
	eachWorld(t, func(r *rig) {
		odd := []string{"/etc/motd", "../../x", "a b", "%2F", "ä\x00", ".", "a/quiet", strings.Repeat("x", 500), "item[a]"}
		for i, id := range odd {
			r.create(id, odd[len(odd)-1-i])
		}
		list, err := r.nb.List(r.t.Context(), model.Query{Model: r.m})
		if err != nil || len(list) != len(odd) {
			r.t.Fatalf("%d of %d, %v", len(list), len(odd), err)
		}
		for i, id := range odd {
			if o := r.get(id); o.ID() != id || o.Topic() != odd[len(odd)-1-i] {
				r.t.Errorf("%q is %q", id, o.ID())
			}
			if _, err := r.nb.Delete(r.t.Context(), r.m, id, model.Write{}); err != nil {
				r.t.Error(err)
			}
		}
		if page, err := r.w.List(r.t.Context(), "", world.ListOptions{}); err != nil || len(page.KVs) != 0 {
			r.t.Errorf("left behind: %v, %v", page.KVs, err)
		}
	})
}

func TestLimits(t *testing.T) {
	eachWorld(t, func(r *rig) {
		_, err := r.nb.Create(r.t.Context(), r.object(map[string]any{"id": "a", "topic": "t", "label": strings.Repeat("x", 2<<20)}), model.Write{})
		var limit *world.LimitError
		if !errors.As(err, &limit) || limit.What != "bytes" {
			r.t.Errorf("2 MiB: %v", err)
		}
		many := func(n int) error {
			_, err := r.nb.Txn(r.t.Context(), func(tx *model.Tx) error {
				for i := range n {
					if _, err := tx.Create(r.object(map[string]any{"id": fmt.Sprint(i), "topic": "t"}), model.Write{}); err != nil {
						return err
					}
				}
				return nil
			})
			return err
		}
		if err := many(65); !errors.As(err, &limit) || limit.What != "operations" || limit.Have != 130 {
			r.t.Errorf("130 operations: %v", err)
		}
		if err := many(64); err != nil {
			r.t.Error(err)
		}
	})
}

func TestListPagesAndFilters(t *testing.T) {
	r := newRig(t, memory.New(), item(1))
	for i := range 50 {
		r.create(fmt.Sprintf("o%02d", (i*7)%50), fmt.Sprint("t", i%3), "label", fmt.Sprint(i%5))
	}
	all, err := r.nb.List(t.Context(), model.Query{Model: r.m})
	if err != nil || len(all) != 50 || !slices.IsSortedFunc(all, func(a, b *model.Object) int { return strings.Compare(a.ID(), b.ID()) }) {
		t.Fatalf("%d, %v", len(all), err)
	}
	s := store.Maps()
	for _, o := range all {
		if err := s.Put(o); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []model.Query{
		{Topics: []string{"t1"}}, {After: "o20", Limit: 7}, {Index: "label", Where: map[string]any{"label": "3"}},
		{Index: "label", Where: map[string]any{"label": "3"}, Topics: []string{"t0", "t2"}, After: "o10", Limit: 3}, {Index: "id", Where: map[string]any{"id": "o07"}},
	} {
		q.Model = r.m
		a, err := r.nb.List(t.Context(), q)
		b, err2 := s.List(t.Context(), q)
		if err != nil || err2 != nil || len(a) == 0 || !slices.EqualFunc(a, b, (*model.Object).Equal) {
			t.Errorf("%+v: %d and %d, %v, %v", q, len(a), len(b), err, err2)
		}
	}
}

func TestFallThroughDoesNotResurrect(t *testing.T) {
	r := newRig(t, memory.New(), item(1))
	old := r.create("a", "t")
	s := store.Maps()
	gone, err := r.nb.Delete(t.Context(), r.m, "a", model.Write{})
	if err != nil {
		t.Fatal(err)
	}
	s.Delete(r.m, "a", gone.Revision()+1)
	if s.Fill(old, old.Revision()) {
		t.Error("an old reading was taken after the deletion")
	}
	through := &model.Through{Store: s, NB: r.nb}
	if _, err := through.Get(t.Context(), r.m, "a"); !errors.Is(err, world.ErrNotFound) {
		t.Error(err)
	}
	r.create("b", "t")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if o, err := through.Get(t.Context(), r.m, "b"); err != nil || o.ID() != "b" {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if o, valid := s.Peek(r.m, "b"); o == nil || !valid {
		t.Error("the reading was not kept")
	}
}

// TestTwoVersions: two programs with other schemas work on one store. The newer record says that the older program
// may read it; the older program keeps the field that it does not know.
func TestTwoVersions(t *testing.T) {
	w := memory.New()
	older := newRig(t, w, item(1))
	newer := newRig(t, w.Join(), item(2, model.Field{Key: "more", Type: text}))
	older.create("old", "t", "label", "x")
	if o := newer.get("old"); o.Get("more") != "x1" {
		t.Errorf("read by the newer: %v", o)
	}
	newer.create("new", "t", "label", "y", "more", "z")
	o := older.get("new")
	if o.Get("label") != "y" || !slices.Equal(o.Unknown(), []string{"more"}) {
		t.Errorf("read by the older: %v, unknown %v", o, o.Unknown())
	}
	if _, err := older.nb.Update(t.Context(), older.object(map[string]any{"id": "new", "label": "yy"}), model.Write{}); err != nil {
		t.Fatal(err)
	}
	if o := newer.get("new"); o.Get("more") != "z" || o.Get("label") != "yy" {
		t.Errorf("after the older has written: %v", o)
	}
	done, err := newer.nb.Migrate(t.Context(), true)
	if err != nil || len(done) != 1 || done[0].Records != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := newer.nb.Migrate(t.Context(), false); err != nil {
		t.Error(err)
	}
	if n, err := newer.nb.RecordSchema(t.Context(), newer.m); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if o := older.get("old"); o.Get("label") != "x" {
		t.Errorf("read by the older after the migration: %v", o)
	}
}

func TestUnreadableRecordHidesNoOther(t *testing.T) {
	r := newRig(t, memory.New(), item(1))
	r.create("good", "t")
	for id, object := range map[string]string{"torn": `{"id": "torn", "n": "x"}`, "newer": `{"id": "newer"}`} {
		rec := model.Record{Table: "item", ID: id, Topic: "t", Schema: 1, Object: []byte(object)}
		if id == "newer" {
			rec.Schema = 9
		}
		if err := r.nb.PutRecord(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := r.w.Txn(t.Context(), nil, []world.Op{{Key: "p/i/item/noise", Value: []byte("t")}, {Key: "p/m/t/item/noise", Value: []byte("{")}}); err != nil {
		t.Fatal(err)
	}
	codes := map[string]model.Code{}
	for o, err := range r.nb.All(t.Context(), model.Query{Model: r.m}) {
		if err == nil {
			codes[o.ID()] = "good"
		}
		for _, f := range model.Faults(err) {
			codes[f.ID] = f.Code
		}
	}
	want := map[string]model.Code{"good": "good", "torn": model.BadRecord, "newer": model.SchemaTooNew, "noise": model.BadRecord}
	if fmt.Sprint(codes) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", codes, want)
	}
	for id := range want {
		if _, err := r.nb.Delete(t.Context(), r.m, id, model.Write{}); err != nil {
			t.Errorf("deleting %s: %v", id, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	secret := &schema.Type{Kind: schema.KindString, Secret: true}
	r := newRig(t, memory.New(), item(1, model.Field{Key: "password", Type: secret}))
	o := r.object(map[string]any{"id": "a", "topic": "t", "password": "hush"})
	if _, err := r.nb.Create(t.Context(), o, model.Write{}); !errors.Is(err, model.SecretRefused) || strings.Contains(err.Error(), "hush") {
		t.Errorf("without a key: %v", err)
	}
	sealing := model.Open(r.w, r.reg, model.Options{
		Seal: func(_ context.Context, topic string, s schema.Secret) (string, error) {
			return "ENC[" + topic + fmt.Sprint(len(s.Reveal())) + "]", nil
		},
		Sealed: func(s string) bool { return strings.HasPrefix(s, "ENC[") },
	})
	made, err := sealing.Create(t.Context(), o, model.Write{})
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := made.MarshalJSON()
	page, _ := r.w.List(t.Context(), "", world.ListOptions{})
	var stored strings.Builder
	for _, kv := range page.KVs {
		stored.WriteString(string(kv.Value))
	}
	if strings.Contains(string(shown)+stored.String(), "hush") || !strings.Contains(stored.String(), "ENC[t4]") || strings.Contains(string(shown), "ENC[") {
		t.Errorf("shown %s, stored %s", shown, stored.String())
	}
	if again, err := sealing.Update(t.Context(), r.object(map[string]any{"id": "a", "label": "x"}), model.Write{}); err != nil || again.Version() != 2 {
		t.Errorf("%v, %v", again, err)
	}
}

// TestMarkedIndex: a field that an index finds objects by cannot be named in meta.secret, since the index would have the cipher text.
func TestMarkedIndex(t *testing.T) {
	tree := &schema.Type{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindAny}}
	r := newRig(t, memory.New(), item(1, model.Field{Key: "meta", Type: tree}, model.Field{Key: "free", Type: text}))
	nb := model.Open(r.w, r.reg, model.Options{Seal: func(context.Context, string, schema.Secret) (string, error) { return "ENC[]", nil }})
	create := func(id, secret string) error {
		_, err := nb.Create(t.Context(), r.object(map[string]any{"id": id, "topic": "t", "label": "hush", "free": "hush", "meta": map[string]any{"secret": []any{secret}}}), model.Write{})
		return err
	}
	if err := create("a", "label"); model.CodeOf(err) != model.SecretRefused || !strings.Contains(err.Error(), "the index label") || strings.Contains(err.Error(), "hush") {
		t.Errorf("an indexed field: %v", err)
	}
	if err := create("b", "free"); err != nil {
		t.Errorf("another field: %v", err)
	}
}

func TestStatusWakesNoWatch(t *testing.T) {
	r := newRig(t, memory.New(), item(1))
	first := r.create("a", "t")
	if err := r.nb.PutStatus(t.Context(), "h/1", model.StatusOf{Model: r.m, ID: "a", JSON: []byte(`{"state":"ok"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := r.nb.PutStatus(t.Context(), "h2", model.StatusOf{Model: r.m, ID: "a", JSON: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	all, err := r.nb.Statuses(t.Context(), r.m, "a")
	if err != nil || len(all) != 2 || string(all["h/1"]) != `{"state":"ok"}` {
		t.Errorf("%s, %v", all, err)
	}
	last := r.create("b", "t")
	if got := r.changes(model.Interest{}, first.Revision(), last.Revision()); !slices.Equal(got, []string{"create b@t;"}) {
		t.Errorf("%q", got)
	}
}

// TestStatusTooLarge: a status that no transaction can have is left out with a line in the log, and hides no other one.
func TestStatusTooLarge(t *testing.T) {
	r := newRig(t, memory.New(), item(1))
	var log bytes.Buffer
	nb := model.Open(r.w, r.reg, model.Options{Prefix: "p/", Log: slog.New(slog.NewTextHandler(&log, nil))})
	var all []model.StatusOf
	for i := range 200 {
		s := model.StatusOf{Model: r.m, ID: fmt.Sprint(i), JSON: []byte(`{"state":"ok"}`)}
		switch i {
		case 7:
			s.JSON = bytes.Repeat([]byte("x"), r.w.Limits().Bytes+1)
		case 9:
			s.ID = strings.Repeat("/", r.w.Limits().Key/3+1) // which is escaped in the key
		}
		all = append(all, s)
	}
	if err := nb.PutStatus(t.Context(), "h", all...); err != nil {
		t.Fatal(err)
	}
	written, err := nb.StatusesOf(t.Context(), "h")
	if err != nil || len(written) != len(all)-2 {
		t.Errorf("%d of %d are written: %v", len(written), len(all), err)
	}
	if n := strings.Count(log.String(), "a status is too large"); n != 2 || !strings.Contains(log.String(), "id=7 ") {
		t.Errorf("%d lines in the log: %.500s", n, log.String())
	}
}

// forgetful is a store that forgets its history before each page but the first.
type forgetful struct{ world.World }

// List implements world.World.
func (w forgetful) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if o.At != 0 {
		return world.Page{}, world.ErrCompacted
	}
	return w.World.List(ctx, prefix, o)
}

// TestStatusesWhileOthersWrite: the statuses of a host come whole from a store that forgets between two pages what was before.
func TestStatusesWhileOthersWrite(t *testing.T) {
	r := newRig(t, memory.New(), item(1))
	var all []model.StatusOf
	for i := range 2500 {
		all = append(all, model.StatusOf{Model: r.m, ID: fmt.Sprint(i), JSON: []byte(`{"state":"ok"}`)})
	}
	nb := model.Open(forgetful{r.w}, r.reg, model.Options{})
	if err := nb.PutStatus(t.Context(), "h", all...); err != nil {
		t.Fatal(err)
	}
	if read, err := nb.StatusesOf(t.Context(), "h"); err != nil || len(read) != len(all) {
		t.Errorf("%d of %d statuses came: %v", len(read), len(all), err)
	}
}

// TestReplicaWaits: an object comes after the ones that it refers to, whatever order they are written in.
func TestReplicaWaits(t *testing.T) {
	w := memory.New()
	reg := model.NewRegistry(nil)
	net := define(t, model.Spec{Name: "Net", Table: "net", Mixins: []model.Mixin{model.BasicEvents}})
	port := define(t, model.Spec{Name: "Port", Table: "port", Mixins: []model.Mixin{model.BasicEvents}, Fields: []model.Field{{Key: "net", Type: text, Target: "Net"}}})
	if err := errors.Join(reg.Add(net), reg.Add(port)); err != nil {
		t.Fatal(err)
	}
	nb := model.Open(w, reg, model.Options{})
	var got []string
	events := &model.Events{}
	for _, m := range []*model.Model{net, port} {
		for _, name := range m.Events() {
			if _, err := events.On(m, name, func(_ context.Context, ev model.Event) error {
				got = append(got, ev.Name+" "+ev.Object.ID())
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := &model.Replica{Store: store.Maps(), Source: nb, Reg: reg, Events: events}
	p, err := port.New(map[string]any{"id": "p", "net": "n"})
	if err != nil {
		t.Fatal(err)
	}
	if p, err = nb.Create(t.Context(), p, model.Write{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(t.Context(), model.Change{Action: model.Create, Model: port, ID: "p", Object: p}); err != nil || r.Waiting() != 1 {
		t.Fatalf("%v, %d wait", err, r.Waiting())
	}
	n, err := net.New(map[string]any{"id": "n"})
	if err != nil {
		t.Fatal(err)
	}
	if n, err = nb.Create(t.Context(), n, model.Write{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(t.Context(), model.Change{Action: model.Create, Model: net, ID: "n", Object: n}); err != nil || r.Waiting() != 0 {
		t.Fatalf("%v, %d wait", err, r.Waiting())
	}
	if want := []string{"created n", "created p"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// BenchmarkUpdate is what the NB API adds to a commit: a World in memory costs next to nothing.
func BenchmarkUpdate(b *testing.B) {
	reg, m := model.NewRegistry(nil), define(b, item(1))
	if err := reg.Add(m); err != nil {
		b.Fatal(err)
	}
	nb := model.Open(memory.New(), reg, model.Options{})
	o, _ := m.New(map[string]any{"id": "a", "topic": "host:a", "label": "x"})
	if _, err := nb.Create(b.Context(), o, model.Write{}); err != nil {
		b.Fatal(err)
	}
	parts := [2]*model.Object{}
	for i := range parts {
		parts[i], _ = m.New(map[string]any{"id": "a", "n": i})
	}
	for i := 0; b.Loop(); i++ {
		if _, err := nb.Update(b.Context(), parts[i%2], model.Write{}); err != nil {
			b.Fatal(err)
		}
	}
}
