package undo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/transcript"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/undo"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/reversal"
	"github.com/reactivegraph/mgmt/traits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTranscripts plays the files of testdata. The commands are in script.one.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Play(t, 5, func(t *testing.T) func([]string) string {
		s := &script{t: t, kept: new(undo.Store), is: map[string]string{}, notes: map[string]*note{}, store: store{}}
		s.restart()
		return s.do
	})
}

// note is a kind that can be undone. Its text says how, and is tells what Read shows.
type note struct {
	traits.Base
	traits.Reversible

	Thing string `yaml:"thing" mgmt:"identity"`
	Text  string `yaml:"text" mgmt:"required"`

	is string
}

func (*note) Default() engine.Res                            { return &note{} }
func (*note) Validate() error                                { return nil }
func (*note) Init(*engine.Init) error                        { return nil }
func (*note) Cleanup() error                                 { return nil }
func (*note) Watch(context.Context) error                    { return nil }
func (*note) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (n *note) Cmp(o engine.Res) error                       { return engine.CmpFields(n, o) }

func (n *note) Read(context.Context) (engine.Res, error) {
	switch n.is {
	case "panic":
		panic("no")
	case "unreadable":
		return nil, errors.New("it can't be read")
	case "":
		return nil, nil
	}
	return newNote(n.Name(), n.is), nil
}

func (n *note) Reversed(engine.Res) (engine.Res, error) {
	if n.Text == "once" {
		return nil, errors.New("it is gone for good")
	}
	return &note{Text: "back"}, nil
}

func newNote(name, text string) *note {
	n := &note{Text: text}
	n.SetKind("note")
	n.SetName(name)
	return n
}

// store has records by table and key.
type store map[string]map[string][]byte

func (s store) Records(_ context.Context, table string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(s[table])) {
			if !yield(records.Record{Key: key, Value: s[table][key]}, nil) {
				return
			}
		}
	}
}

func (s store) Commit(_ context.Context, ws []records.Write) error {
	for _, w := range ws {
		if s[w.Table] == nil {
			s[w.Table] = map[string][]byte{}
		}
		if delete(s[w.Table], w.Key); w.Value != nil {
			s[w.Table][w.Key] = w.Value
		}
	}
	return nil
}

type script struct {
	t     *testing.T
	kept  *undo.Store
	is    map[string]string // what is there, by id
	notes map[string]*note  // what is declared, by id
	rows  line
	store store
	with  *map[string]*engine.Send // what each was sent last
	full  bool                     // the store takes nothing
}

// line is a graph in which each vertex comes after the one before.
type line []string

func (l line) ID(i int32) string { return l[i] }

func (l line) Above(i int32) []int32 {
	if i == 0 {
		return nil
	}
	return []int32{i - 1}
}

func (l line) Below(i int32) []int32 {
	if int(i) == len(l)-1 {
		return nil
	}
	return []int32{i + 1}
}

func (s *script) do(input []string) string {
	var out strings.Builder
	for _, line := range input {
		words := strings.Fields(line)
		s.one(&out, words[0], words[1:])
	}
	return out.String()
}

// one obeys: "graph a b c" for three that come after each other, "is a old" for what is there,
// "want a new" for what is declared, or "want a new x" about the thing x, "apply a" for a run that is about to alter a,
// "over a" for the success of what undoes a, "prune" for a graph that has taken effect, and "restart". "receive a newer" alters what a wants by a received value, "spoil a" its record,
// and after "full" the store takes nothing, once.
func (s *script) one(out *strings.Builder, word string, args []string) {
	switch word {
	case "graph":
		s.rows = nil
		for _, a := range args {
			s.rows = append(s.rows, "note["+a+"]")
		}
	case "is":
		s.is[args[0]] = args[1]
	case "want":
		n := newNote(args[0], args[1])
		if len(args) > 2 {
			n.Thing = args[2]
		}
		s.notes[args[0]] = n
	case "receive":
		s.notes[args[0]].Text = args[1]
		s.with = new(map[string]*engine.Send)
	case "spoil":
		s.store[reversal.Table]["note["+args[0]+"]"] = []byte("no record")
	case "full":
		s.full = true
	case "apply":
		s.apply(out, args[0])
	case "over":
		s.write(out, s.kept.Over("note["+args[0]+"]"))
		s.kept.Forget("note[" + args[0] + "]")
	case "prune":
		writes := s.kept.Prune(func(id string) bool { return slices.Contains(s.rows, id) })
		s.write(out, writes)
		for _, w := range writes {
			s.kept.Forget(w.Key)
		}
	case "restart":
		s.restart()
	default:
		fmt.Fprintf(out, "no command %q\n", word)
	}
}

func (s *script) restart() {
	s.kept = new(undo.Store)
	if err := s.kept.Recall(s.t.Context(), s.store); err != nil {
		s.t.Error(err)
	}
}

func (s *script) apply(out *strings.Builder, name string) {
	n, id := s.notes[name], "note["+name+"]"
	n.is = s.is[name]
	if !s.kept.Wants(id, n, s.with) {
		fmt.Fprintln(out, "nothing to keep")
		return
	}
	step, err := s.kept.Keep(s.t.Context(), &undo.Subject{
		ID: id, Res: n, Clean: func(s string) string { return s },
		At: undo.Look(s.kept, undo.Graph{
			Above: s.rows.Above, Below: s.rows.Below, ID: s.rows.ID,
			Reverses: func(i int32) bool { return s.notes[s.name(int(i))] != nil },
		}, int32(slices.Index(s.rows, id))),
	})
	if err != nil {
		fmt.Fprintln(out, err)
		return
	}
	if s.full {
		fmt.Fprintln(out, step.NotWritten(errors.New("no room")))
		s.full = false
		return
	}
	if step.Why != "" {
		fmt.Fprintf(out, "%s: %s\n", step.Warning(), step.Why)
	}
	s.write(out, step.Writes)
	s.kept.Kept(step)
}

// name is the name in the id of a vertex.
func (s *script) name(i int) string {
	return strings.TrimSuffix(strings.TrimPrefix(s.rows[i], "note["), "]")
}

func (s *script) write(out *strings.Builder, ws []records.Write) {
	for _, w := range ws {
		if w.Value == nil {
			fmt.Fprintln(out, "delete", w.Table, w.Key)
		} else if rev, err := reversal.Decode(records.Record{Key: w.Key, Value: w.Value}); w.Table == reversal.Table && err == nil {
			fmt.Fprintf(out, "put %s %s after %v before %v\n", w.Table, w.Key, rev.After, rev.Before)
		} else {
			fmt.Fprintln(out, "put", w.Table, w.Key)
		}
	}
	if err := s.store.Commit(s.t.Context(), ws); err != nil {
		s.t.Error(err)
	}
}
