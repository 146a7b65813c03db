package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestAdmit: a transaction is asked about once, with each object as it was and as it will be, and a refusal writes nothing.
func TestAdmit(t *testing.T) {
	eachWorld(t, func(r *rig) {
		var asked []string
		var refuse error
		nb := model.Open(r.w, r.reg, model.Options{Prefix: "p/", Admit: func(_ context.Context, tx *model.Tx, changes []model.Altered) error {
			var text strings.Builder
			for _, c := range changes {
				text.WriteString(fmt.Sprintf("%s>%s ", label(c.Was), label(c.Now)))
			}
			if o, err := tx.Peek(r.m, "a"); err == nil {
				text.WriteString("a=" + label(o))
			}
			asked = append(asked, text.String())
			return refuse
		}})
		change := func(what string, f func(tx *model.Tx) error) {
			t.Helper()
			asked = nil
			if _, err := nb.Txn(t.Context(), f); !errors.Is(err, refuse) {
				t.Errorf("%s: %v", what, err)
			}
			if len(asked) != 1 || asked[0] != what {
				t.Errorf("asked %q, not %q", asked, what)
			}
		}
		make2 := func(tx *model.Tx) error {
			_, err := tx.Create(r.object(map[string]any{"id": "a", "topic": "t", "label": "1"}), model.Write{})
			_, err2 := tx.Create(r.object(map[string]any{"id": "b", "topic": "t", "label": "2"}), model.Write{})
			_, err3 := tx.Update(r.object(map[string]any{"id": "a", "label": "3"}), model.Write{})
			return errors.Join(err, err2, err3)
		}
		refuse = errors.New("no")
		change("->3 ->2 a=3", make2)
		if list, err := nb.List(t.Context(), model.Query{Model: r.m}); err != nil || len(list) > 0 {
			t.Errorf("%d objects were written: %v", len(list), err)
		}
		refuse = nil
		change("->3 ->2 a=3", make2)
		change("3>- ", func(tx *model.Tx) error { _, err := tx.Delete(r.m, "a", model.Write{}); return err })
	})
}

// label tells an object, or - for none.
func label(o *model.Object) string {
	if o == nil {
		return "-"
	}
	return fmt.Sprint(o.Get("label"))
}

// TestMany: changes that are too many for one transaction are admitted together and made in several; a fault in the last one
// leaves all of them out.
func TestMany(t *testing.T) {
	eachWorld(t, func(r *rig) {
		asked := 0
		nb := model.Open(r.w, r.reg, model.Options{Prefix: "p/", Admit: func(_ context.Context, _ *model.Tx, changes []model.Altered) error {
			asked += len(changes)
			return nil
		}})
		const n = 300
		fault := errors.New("a fault in the last one")
		create := func(tx *model.Tx, i int) error {
			_, err := tx.Create(r.object(map[string]any{"id": fmt.Sprint(i), "topic": "t", "label": "x"}), model.Write{})
			return err
		}
		_, _, _, err := nb.Many(t.Context(), n, func(tx *model.Tx, i int) error {
			if i == n-1 {
				return fault
			}
			return create(tx, i)
		})
		if list, bad := nb.List(t.Context(), model.Query{Model: r.m}); !errors.Is(err, fault) || bad != nil || len(list) > 0 {
			t.Fatalf("%d objects in spite of %v: %v", len(list), err, bad)
		}
		done, txns, revision, err := nb.Many(t.Context(), n, create)
		most := r.w.Limits().Ops
		if err != nil || done != n || txns < 2*n/most || revision == 0 || asked != n {
			t.Errorf("%d done in %d transactions, %d asked: %v", done, txns, asked, err)
		}
		list, err := nb.List(t.Context(), model.Query{Model: r.m})
		if err != nil || len(list) != n {
			t.Errorf("%d objects: %v", len(list), err)
		}
		if _, txns, _, err := nb.Many(t.Context(), 2, func(tx *model.Tx, i int) error { return create(tx, n+i) }); err != nil || txns != 1 {
			t.Errorf("two changes take %d transactions: %v", txns, err)
		}
	})
}

// TestLoose: only where the source has no quotes does a scalar stand for text.
func TestLoose(t *testing.T) {
	m := define(t, item(1))
	node := func(kind schema.NodeKind, text string) *schema.Node { return &schema.Node{Kind: kind, Text: text} }
	n := &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{
		{Key: "id", Value: node(schema.NodeString, "1")},
		{Key: "label", Value: node(schema.NodeFloat, "1.10")},
		{Key: "tags", Value: &schema.Node{Kind: schema.NodeList, Items: []*schema.Node{node(schema.NodeBool, "true")}}},
	}}
	if _, err := m.Decode(n); err == nil {
		t.Error("a number is text")
	}
	o, err := m.DecodeLoose(n)
	if err != nil || label(o) != "1.10" || fmt.Sprint(o.Get("tags")) != "[true]" {
		t.Errorf("%v: %v", o, err)
	}
}

// TestManyStoreLost: an error of the store ends the changes, and comes alone: the store is not asked for the rest.
func TestManyStoreLost(t *testing.T) {
	r := newRig(t, memory.New(), item(1))
	asked := 0
	away := fmt.Errorf("the store is away: %w", world.ErrUnavailable)
	_, _, _, err := r.nb.Many(t.Context(), 10, func(_ *model.Tx, i int) error {
		asked++
		if i == 3 {
			return away
		}
		return &model.Error{Code: model.Validation, Message: "a fault"}
	})
	if err != away || asked != 4 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
