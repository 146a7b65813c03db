package reversal_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/internal/plain"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/reversal"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// note is a kind whose state is kept.
type note struct {
	traits.Base

	Text  string        `yaml:"text" mgmt:"required"`
	Key   schema.Secret `yaml:"key"`
	Level string        `yaml:"level" mgmt:"enum=low|high"`
	Count *int          `yaml:"count"`
}

func (*note) Default() engine.Res                            { return &note{Level: "low", Count: new(7)} }
func (*note) Validate() error                                { return nil }
func (*note) Init(*engine.Init) error                        { return nil }
func (*note) Cleanup() error                                 { return nil }
func (*note) Watch(context.Context) error                    { return nil }
func (*note) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (n *note) Cmp(o engine.Res) error                       { return engine.CmpFields(n, o) }
func (n *note) Read(context.Context) (engine.Res, error)     { return n, nil }

func newNote(text string) *note {
	n := &note{Text: text, Level: "low", Count: new(7)}
	n.SetKind("note")
	n.SetName("n[1]")
	return n
}

var noteReversal = reversal.Reversal{Kind: "note", Name: "n[1]", After: []string{"a[1]", "a[2]"}, Before: []string{"b[1]"}}

// TestLater: what was wanted later, at last or in between, is undone as what was wanted
// at first is.
func TestLater(t *testing.T) {
	was := newNote("was")
	was.Level, was.Count = "high", new(1)
	first, between, last := newNote("first"), newNote("between"), newNote("last")
	between.Count = new(5)
	last.Key = schema.NewSecret("canary")
	img, err := reversal.Take(first, was, nil)
	if err != nil {
		t.Fatal(err)
	}
	var w *reversal.Wanted
	for i, r := range []*note{first, between, last} {
		secret := [][]string{nil, {"count"}, {"text"}}[i]
		before := w
		if w, err = reversal.WantedOf(r, secret, before); err != nil {
			t.Fatal(err)
		}
		rec, err := w.Write("note[n[1]]")
		if err != nil {
			t.Fatal(err)
		}
		read, err := reversal.DecodeWanted(records.Record{Key: rec.Key, Value: rec.Value})
		if err != nil || !reflect.DeepEqual(read, w) {
			t.Errorf("%+v becomes %+v, %v", w, read, err)
		}
		if before != nil && (w.Print == before.Print || w.Thing != before.Thing) {
			t.Errorf("%s and the one before are told from each other by %q and %q", r.Text, w.Print, before.Print)
		}
		w = read
	}
	img.Later(w)
	if d := img.Declared; d["text"] != "last" || d["count"] != int64(1) || d["key"] == nil || d["level"] != nil {
		t.Errorf("undone is what wants %v", d)
	}
	if !slices.Equal(img.Secret, []string{"count", "text"}) {
		t.Errorf("hidden are %v", img.Secret)
	}
}

// TestReversalWrites: both records are written and forgotten together; what can't
// be undone has no image; what is too large is refused.
func TestReversalWrites(t *testing.T) {
	why := reversal.Reversal{Kind: "note", Name: "x", Why: "it is a pity"}
	writes, err := why.Writes(nil)
	if err != nil || len(writes) != 1 {
		t.Fatalf("%v, %v", writes, err)
	}
	rev, err := reversal.Decode(records.Record{Key: writes[0].Key, Value: writes[0].Value})
	if err != nil || rev.Why != why.Why || rev.ID() != "note[x]" {
		t.Errorf("%+v, %v", rev, err)
	}
	img, err := reversal.Take(newNote(strings.Repeat("x", reversal.MaxImage)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = noteReversal.Writes(img)
	if large, ok := errors.AsType[*reversal.SizeError](err); !ok || large.Size <= reversal.MaxImage {
		t.Errorf("a large image: %v", err)
	}
	for _, w := range reversal.Forget("note[x]") {
		if w.Key != "note[x]" || w.Value != nil {
			t.Errorf("%+v does not delete", w)
		}
	}
}

// TestReversalDamaged: a record of something else is refused.
func TestReversalDamaged(t *testing.T) {
	marshal := func(v any) []byte {
		data, err := plain.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, data := range map[string][]byte{
		"empty": {}, "no map": marshal("x"), "noise": []byte("noise"), "another id": marshal(map[string]any{"kind": "a", "name": "b"}),
	} {
		if rev, err := reversal.Decode(records.Record{Key: "note[x]", Value: data}); err == nil || !strings.Contains(err.Error(), "note[x]") {
			t.Errorf("%s: %v, %v", name, rev, err)
		}
		if w, err := reversal.DecodeWanted(records.Record{Key: "note[x]", Value: data}); name != "another id" && (err == nil || !strings.Contains(err.Error(), "note[x]")) {
			t.Errorf("%s: %v, %v", name, w, err)
		}
		if img, err := reversal.DecodeImage(records.Record{Key: "note[x]", Value: data}); err == nil || !strings.Contains(err.Error(), "note[x]") {
			t.Errorf("%s: %v, %v", name, img, err)
		}
	}
}
