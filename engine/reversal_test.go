package engine_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// note is a kind that can be undone. The text says how.
type note struct {
	traits.Base
	traits.Reversible

	Text  string        `yaml:"text" mgmt:"required"`
	Key   schema.Secret `yaml:"key"`
	Level string        `yaml:"level" mgmt:"enum=low|high"`
	Count *int          `yaml:"count"`
}

func (*note) Default() engine.Res { return &note{Level: "low", Count: new(7)} }
func (n *note) Validate() error {
	if n.Text == "invalid" {
		return errors.New("text is not valid")
	}
	return nil
}
func (*note) Init(*engine.Init) error                        { return nil }
func (*note) Cleanup() error                                 { return nil }
func (*note) Watch(context.Context) error                    { return nil }
func (*note) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (n *note) Cmp(o engine.Res) error                       { return engine.CmpFields(n, o) }
func (n *note) Read(context.Context) (engine.Res, error)     { return n, nil }

func (n *note) Reversed(was engine.Res) (engine.Res, error) {
	switch n.Text {
	case "panic":
		panic("no")
	case "nothing":
		return nil, nil
	case "refuse":
		return nil, errors.New("it is too late")
	}
	if was == nil {
		return &note{Text: "gone", Level: n.Level}, nil
	}
	return &note{Text: was.(*note).Text, Level: "low", Key: was.(*note).Key, Count: was.(*note).Count}, nil
}

func newNote(text string) *note {
	n := &note{Text: text, Level: "low", Count: new(7)}
	n.SetKind("note")
	n.SetName("n[1]")
	return n
}

func makeNote(string) (engine.Res, error) { return (&note{}).Default(), nil }

var noteReversal = engine.Reversal{Kind: "note", Name: "n[1]", After: []string{"a[1]", "a[2]"}, Before: []string{"b[1]"}}

// written writes an image down and reads it again.
func written(t *testing.T, img *engine.Image) (*engine.Reversal, *engine.Image) {
	t.Helper()
	writes, err := noteReversal.Writes(img)
	if err != nil {
		t.Fatal(err)
	}
	rev, err := engine.DecodeReversal(engine.Record{Key: writes[0].Key, Value: writes[0].Value})
	if err != nil {
		t.Fatal(err)
	}
	if img == nil {
		return rev, nil
	}
	img, err = engine.DecodeImage(engine.Record{Key: writes[1].Key, Value: writes[1].Value})
	if err != nil {
		t.Fatal(err)
	}
	return rev, img
}

// TestUndo: what was there comes back from what was written down: parameters that
// are not set, not the default, secret or no text among them.
func TestUndo(t *testing.T) {
	was := newNote("was \xff")
	was.Key, was.Count = schema.NewSecret("key"), nil
	declared := newNote("")
	declared.Level = "high"
	declared.SetMetaParams(&engine.MetaParams{
		Retry: 3, Delay: time.Second, Sema: []string{"a:2"}, Noop: new(false),
		Reverse: true, Realize: true, Export: []string{"*"},
	})
	img, err := engine.Take(declared, was, []string{"text"})
	if err != nil {
		t.Fatal(err)
	}
	rev, img := written(t, img)
	if !reflect.DeepEqual(*rev, noteReversal) || !slices.Equal(img.Secret, []string{"text"}) {
		t.Errorf("it was written down as %+v, secret %v", rev, img.Secret)
	}
	res, err := img.Undo(makeNote, rev, false)
	if err != nil {
		t.Fatal(err)
	}
	n := res.(*note)
	if n.String() != "note[n[1]]" || n.Text != was.Text || n.Key.Reveal() != "key" || n.Count != nil {
		t.Errorf("%s %q %q %v", n, n.Text, n.Key.Reveal(), n.Count)
	}
	want := &engine.MetaParams{
		Retry: 3, Delay: time.Second, Sema: []string{"a:2"}, Noop: new(false), AutoEdge: new(false), AutoGroup: new(false),
	}
	if err := n.MetaParams().Cmp(want); err != nil {
		t.Error(err)
	}
	if res, err = img.Undo(makeNote, rev, true); err != nil || !*res.MetaParams().Noop {
		t.Errorf("in a graph that only looks: %v, %v", res.MetaParams().Noop, err)
	}
}

// TestUndoAbsent: nothing is not an empty something.
func TestUndoAbsent(t *testing.T) {
	for _, nothing := range []engine.Res{nil, (*note)(nil)} {
		img, err := engine.Take(newNote("x"), nothing, nil)
		if err != nil {
			t.Fatal(err)
		}
		rev, img := written(t, img)
		if res, err := img.Undo(makeNote, rev, false); err != nil || res.(*note).Text != "gone" {
			t.Errorf("%v, %v", res, err)
		}
	}
	img, err := engine.Take(newNote("x"), &note{Level: "low", Count: new(7)}, nil) // all defaults
	if err != nil {
		t.Fatal(err)
	}
	rev, img := written(t, img)
	if res, err := img.Undo(makeNote, rev, false); err != nil || res.(*note).Text != "" {
		t.Errorf("%v, %v", res, err)
	}
}

// TestUndoRefuses: whatever goes wrong is an error, and says what.
// TestLater: what was wanted later, at last or in between, is undone as what was wanted
// at first is.
func TestLater(t *testing.T) {
	was := newNote("was")
	was.Level, was.Count = "high", new(1)
	first, between, last := newNote("first"), newNote("between"), newNote("last")
	between.Count = new(5)
	last.Key = schema.NewSecret("canary")
	img, err := engine.Take(first, was, nil)
	if err != nil {
		t.Fatal(err)
	}
	var w *engine.Wanted
	for i, r := range []*note{first, between, last} {
		secret := [][]string{nil, {"count"}, {"text"}}[i]
		before := w
		if w, err = engine.WantedOf(r, secret, before); err != nil {
			t.Fatal(err)
		}
		rec, err := w.Write("note[n[1]]")
		if err != nil {
			t.Fatal(err)
		}
		read, err := engine.DecodeWanted(engine.Record{Key: rec.Key, Value: rec.Value})
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

func TestUndoRefuses(t *testing.T) {
	other := engine.NewRegistry()
	for name, c := range map[string]struct {
		text string
		make func(string) (engine.Res, error)
		why  string
	}{
		"panics":         {"panic", makeNote, "Reversed panicked: no"},
		"nothing":        {"nothing", makeNote, "returned nothing"},
		"refuses":        {"refuse", makeNote, "too late"},
		"not valid":      {"invalid", makeNote, "not valid"},
		"no kind":        {"x", other.New, "unknown resource kind"},
		"another kind":   {"x", func(string) (engine.Res, error) { return &plain{}, nil }, "does not fit the kind note"},
		"not reversible": {"x", func(string) (engine.Res, error) { return &mute{}, nil }, "can't be reversed"},
	} {
		t.Run(name, func(t *testing.T) {
			img, err := engine.Take(newNote(c.text), newNote(c.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			if res, err := img.Undo(c.make, &noteReversal, false); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v, %v", res, err)
			}
		})
	}
}

// mute has the parameters of a note and can't be undone.
type mute struct {
	plain
	Text string `yaml:"text"`
}

// TestReversalWrites: both records are written and forgotten together; what can't
// be undone has no image; what is too large is refused.
func TestReversalWrites(t *testing.T) {
	why := engine.Reversal{Kind: "note", Name: "x", Why: "it is a pity"}
	writes, err := why.Writes(nil)
	if err != nil || len(writes) != 1 {
		t.Fatalf("%v, %v", writes, err)
	}
	rev, err := engine.DecodeReversal(engine.Record{Key: writes[0].Key, Value: writes[0].Value})
	if err != nil || rev.Why != why.Why || rev.ID() != "note[x]" {
		t.Errorf("%+v, %v", rev, err)
	}
	img, err := engine.Take(newNote(strings.Repeat("x", engine.MaxImage)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = noteReversal.Writes(img)
	if large, ok := errors.AsType[*engine.ImageSizeError](err); !ok || large.Size <= engine.MaxImage {
		t.Errorf("a large image: %v", err)
	}
	for _, w := range engine.ForgetReversal("note[x]") {
		if w.Key != "note[x]" || w.Value != nil {
			t.Errorf("%+v does not delete", w)
		}
	}
}

// TestReversalDamaged: a record of something else is refused.
func TestReversalDamaged(t *testing.T) {
	marshal := func(v any) []byte {
		data, err := engine.MarshalPlain(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, data := range map[string][]byte{
		"empty": {}, "no map": marshal("x"), "noise": []byte("noise"), "another id": marshal(map[string]any{"kind": "a", "name": "b"}),
	} {
		if rev, err := engine.DecodeReversal(engine.Record{Key: "note[x]", Value: data}); err == nil || !strings.Contains(err.Error(), "note[x]") {
			t.Errorf("%s: %v, %v", name, rev, err)
		}
		if w, err := engine.DecodeWanted(engine.Record{Key: "note[x]", Value: data}); name != "another id" && (err == nil || !strings.Contains(err.Error(), "note[x]")) {
			t.Errorf("%s: %v, %v", name, w, err)
		}
		if img, err := engine.DecodeImage(engine.Record{Key: "note[x]", Value: data}); err == nil || !strings.Contains(err.Error(), "note[x]") {
			t.Errorf("%s: %v, %v", name, img, err)
		}
	}
}
