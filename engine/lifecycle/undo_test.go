package lifecycle_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/reversal"
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

var noteReversal = reversal.Reversal{Kind: "note", Name: "n[1]", After: []string{"a[1]", "a[2]"}, Before: []string{"b[1]"}}

// written writes an image down and reads it again.
func written(t *testing.T, img *reversal.Image) (*reversal.Reversal, *reversal.Image) {
	t.Helper()
	writes, err := noteReversal.Writes(img)
	if err != nil {
		t.Fatal(err)
	}
	rev, err := reversal.Decode(records.Record{Key: writes[0].Key, Value: writes[0].Value})
	if err != nil {
		t.Fatal(err)
	}
	if img == nil {
		return rev, nil
	}
	img, err = reversal.DecodeImage(records.Record{Key: writes[1].Key, Value: writes[1].Value})
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
	img, err := reversal.Take(declared, was, []string{"text"})
	if err != nil {
		t.Fatal(err)
	}
	rev, img := written(t, img)
	if !reflect.DeepEqual(*rev, noteReversal) || !slices.Equal(img.Secret, []string{"text"}) {
		t.Errorf("it was written down as %+v, secret %v", rev, img.Secret)
	}
	res, err := lifecycle.Undo(img, rev, makeNote, false)
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
	if res, err = lifecycle.Undo(img, rev, makeNote, true); err != nil || !*res.MetaParams().Noop {
		t.Errorf("in a graph that only looks: %v, %v", res.MetaParams().Noop, err)
	}
}

// TestUndoAbsent: nothing is not an empty something.
func TestUndoAbsent(t *testing.T) {
	for _, nothing := range []engine.Res{nil, (*note)(nil)} {
		img, err := reversal.Take(newNote("x"), nothing, nil)
		if err != nil {
			t.Fatal(err)
		}
		rev, img := written(t, img)
		if res, err := lifecycle.Undo(img, rev, makeNote, false); err != nil || res.(*note).Text != "gone" {
			t.Errorf("%v, %v", res, err)
		}
	}
	img, err := reversal.Take(newNote("x"), &note{Level: "low", Count: new(7)}, nil) // all defaults
	if err != nil {
		t.Fatal(err)
	}
	rev, img := written(t, img)
	if res, err := lifecycle.Undo(img, rev, makeNote, false); err != nil || res.(*note).Text != "" {
		t.Errorf("%v, %v", res, err)
	}
}

// TestUndoRefuses: each fault is an error, and the text says it.
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
		"another kind":   {"x", func(string) (engine.Res, error) { return &thing{s: &script{}}, nil }, "does not fit the kind note"},
		"not reversible": {"x", func(string) (engine.Res, error) { return &mute{thing: thing{s: &script{}}}, nil }, "can't be reversed"},
	} {
		t.Run(name, func(t *testing.T) {
			img, err := reversal.Take(newNote(c.text), newNote(c.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			if res, err := lifecycle.Undo(img, &noteReversal, c.make, false); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v, %v", res, err)
			}
		})
	}
}

// mute has the parameters of a note and can't be undone.
type mute struct {
	thing
	Text string `yaml:"text"`
}
