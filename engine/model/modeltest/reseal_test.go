package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// ring is a cipher of a test: a sealed text names its readers.
type ring struct{ readers map[string]string } // by topic

func (r *ring) seal(_ context.Context, topic string, clear schema.Secret) (string, error) {
	return "sealed to " + r.readers[topic] + ": " + clear.Reveal(), nil
}

func sealed(text string) bool { return strings.HasPrefix(text, "sealed to ") }

// as opens texts that are sealed to a reader.
func as(reader string) func(string) (string, error) {
	return func(text string) (string, error) {
		to, clear, _ := strings.Cut(strings.TrimPrefix(text, "sealed to "), ": ")
		switch {
		case !sealed(text):
			return text, nil
		case !slices.Contains(strings.Split(to, "+"), reader):
			return "", errors.New("not for " + reader)
		}
		return clear, nil
	}
}

// vaultModel has secrets by itself and in its parts.
func vaultModel(t *testing.T) *model.Model {
	t.Helper()
	secret := &schema.Type{Kind: schema.KindString, Secret: true}
	m, err := model.Define(model.Spec{
		Name: "Vault", Table: "vault", Mixins: []model.Mixin{model.Version},
		Fields: []model.Field{{Key: "topic", Type: &schema.Type{Kind: schema.KindString}}, {Key: "key", Type: secret}, {Key: "keys", Type: &schema.Type{Kind: schema.KindList, Elem: secret}}, {Key: "note", Type: &schema.Type{Kind: schema.KindString}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReseal: the secrets of the topics are encrypted to those who read them now. Objects that cannot be read, of other topics, or without a secret
// stay; the first are told, and hide no other.
func TestReseal(t *testing.T) {
	w, m, reg := memory.New(), vaultModel(t), model.NewRegistry(nil)
	defer w.Close()
	if err := reg.Add(m); err != nil {
		t.Fatal(err)
	}
	r := &ring{map[string]string{"web": "a", "db": "a", "lone": "other"}}
	refuse := errors.New("refused")
	var asked int
	nb := model.Open(w, reg, model.Options{Seal: r.seal, Sealed: sealed, Admit: func(context.Context, *model.Tx, []model.Altered) error {
		if asked++; asked > 5 {
			return refuse
		}
		return nil
	}})
	for id, fields := range map[string]map[string]any{
		"one": {"topic": "web", "key": "k1"}, "two": {"topic": "web", "keys": []any{"k2", "k3"}}, "plain": {"topic": "web", "note": "n"},
		"elsewhere": {"topic": "db", "key": "k4"}, "unread": {"topic": "lone", "key": "k5"},
	} {
		fields["id"] = id
		o, err := m.New(fields)
		if err == nil {
			_, err = nb.Create(t.Context(), o, model.Write{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{
		{Key: "m/web/vault/broken", Value: []byte("{")}, {Key: "i/vault/broken", Value: []byte("web")},
		{Key: "m/web/strange/x", Value: []byte("{}")}, {Key: "i/strange/x", Value: []byte("web")},
	}); err != nil {
		t.Fatal(err)
	}
	look := func() string {
		var all []string
		for o, err := range nb.All(t.Context(), model.Query{Model: m}) {
			if err == nil {
				var text strings.Builder
				text.WriteString(fmt.Sprintf("%s %d", o.ID(), o.Version()))
				for _, key := range []string{"key", "keys"} {
					switch v := o.Get(key).(type) {
					case schema.Secret:
						text.WriteString(" " + v.Reveal())
					case []any:
						for _, s := range v {
							text.WriteString(" " + s.(schema.Secret).Reveal())
						}
					}
				}
				all = append(all, text.String())
			}
		}
		return strings.Join(all, "\n")
	}
	before := look()
	r.readers["web"] = "a+b"
	topics := []string{"web", "lone"}
	for _, dry := range []bool{true, false} {
		n, err := nb.Reseal(t.Context(), topics, as("a"), dry)
		var told []string
		for _, f := range model.Faults(err) {
			told = append(told, fmt.Sprint(f.Code, " ", f.Table, " ", f.ID))
		}
		slices.Sort(told)
		if want := "[bad_record vault broken secret_refused vault unread unknown_model strange ]"; n != 2 || !strings.EqualFold(fmt.Sprint(told), want) {
			t.Errorf("dry %t: %d objects, %v: %v", dry, n, told, err)
		}
		if dry && look() != before {
			t.Error("a dry run writes:", look())
		}
	}
	want := "elsewhere 1 sealed to a: k4\none 2 sealed to a+b: k1\nplain 1\ntwo 2 sealed to a+b: k2 sealed to a+b: k3\nunread 1 sealed to other: k5"
	if got := look(); got != want {
		t.Errorf("afterwards:\n%s", got)
	}
}

// TestResealMeetsAWriter: a writer who is faster is not undone, and an object that goes meanwhile does not come back.
func TestResealMeetsAWriter(t *testing.T) {
	w, m, reg := memory.New(), vaultModel(t), model.NewRegistry(nil)
	defer w.Close()
	if err := reg.Add(m); err != nil {
		t.Fatal(err)
	}
	r := &ring{map[string]string{"web": "a"}}
	nb := model.Open(w, reg, model.Options{Seal: r.seal, Sealed: sealed})
	for _, id := range []string{"altered", "gone"} {
		o, err := m.New(map[string]any{"id": id, "topic": "web", "key": "old"})
		if err == nil {
			_, err = nb.Create(t.Context(), o, model.Write{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var met int
	open := func(text string) (string, error) { // between the read and the write of the first object
		if met++; met == 1 {
			o, err := m.New(map[string]any{"id": "altered", "key": "new"})
			if err == nil {
				_, err = nb.Update(t.Context(), o, model.Write{})
			}
			if _, gone := nb.Delete(t.Context(), m, "gone", model.Write{}); err != nil || gone != nil {
				t.Error(err, gone)
			}
			r.readers["web"] = "a+b"
		}
		return as("a")(text)
	}
	if n, err := nb.Reseal(t.Context(), []string{"web"}, open, false); n != 1 || err != nil {
		t.Error(n, err)
	}
	o, err := nb.Get(t.Context(), m, "altered")
	if err != nil || o.Get("key").(schema.Secret).Reveal() != "sealed to a+b: new" {
		t.Error(o, err)
	}
	if _, err := nb.Get(t.Context(), m, "gone"); model.CodeOf(err) != model.NotFound {
		t.Error("it came back:", err)
	}
}

// TestDropStatuses: all statuses of one host go, more than a transaction holds, also those of unknown tables, and none of a host whose name begins alike.
func TestDropStatuses(t *testing.T) {
	w, m, reg := memory.New(), vaultModel(t), model.NewRegistry(nil)
	defer w.Close()
	if err := reg.Add(m); err != nil {
		t.Fatal(err)
	}
	nb := model.Open(w, reg, model.Options{})
	for host, n := range map[string]int{"a/b": 300, "a/bc": 2, "a": 1} {
		var all []model.StatusOf
		for i := range n {
			all = append(all, model.StatusOf{Model: m, ID: fmt.Sprint(i), JSON: []byte("{}")})
		}
		if err := nb.PutStatus(t.Context(), host, all...); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "s/a%2Fb/strange/x", Value: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{301, 0} {
		if n, err := nb.DropStatuses(t.Context(), "a/b"); n != want || err != nil {
			t.Errorf("%d are dropped, not %d: %v", n, want, err)
		}
	}
	if page, err := w.List(t.Context(), "s/", world.ListOptions{}); err != nil || len(page.KVs) != 3 {
		t.Errorf("%d are left: %v", len(page.KVs), err)
	}
}
