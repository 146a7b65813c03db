package gapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/words"
)

// Rewrite is one word of another tool that our word may replace in the source. Of a
// declared graph without positions there is none.
type Rewrite struct {
	Pos   schema.Pos // of the key, the text, or, with nothing but Add, of the map
	To    string     // the key, or the text, is this; empty where it stays
	Drop  bool       // the key and its value are left out
	Value *schema.Node
	Add   []schema.Pair // stand in the map too
}

// Translate returns a declared graph in which words of other tools (package words) are
// ours, and the notes on their replacements. A graph that is not of people's
// writing (Declared.Authored) comes back as it is. Notes and errors are added to Problems:
// a note for each word, not for each resource. d is left alone; parts without a
// translation are shared with it. It is called by Build, and by those who rewrite a
// source.
func Translate(reg *engine.Registry, d *Declared) (*Declared, []Rewrite) {
	d, t := d.translated(reg)
	return d, t.rewrites
}

// Vocabulary is the words that a graph of people's writing may have beside ours. OtherTools implements it.
type Vocabulary interface {
	translate(reg *engine.Registry, d *Declared) (*Declared, translation)
}

// OtherTools is the Vocabulary of package words. The code that takes its words is linked only into a program that has a value of
// this type. A program whose graphs are its own needs none.
type OtherTools struct{}

// translation is what a translation has found.
type translation struct {
	rewrites []Rewrite
	defaults schema.Diagnostics // notes of what nothing means, for a graph without errors
}

// translated is Translate that also returns its further findings.
func (d *Declared) translated(reg *engine.Registry) (*Declared, translation) {
	if d.Authored == nil {
		return d, translation{}
	}
	return d.Authored.translate(reg, d)
}

// translate implements Vocabulary.
func (OtherTools) translate(reg *engine.Registry, d *Declared) (*Declared, translation) {
	t := &translator{reg: reg, kinds: map[string]*foreignKind{}, meta: map[string]bool{}, said: map[*words.Word]bool{}}
	c := *d
	c.Kinds = t.kindList(d.Kinds)
	c.Resources = t.resources(d.Resources)
	c.Edges = t.edges(d.Edges)
	if d.Thorough || t.upstream {
		t.defaults = append(t.defaults, t.quiet...)
	}
	if all := t.found.All(); len(all) > 0 {
		c.Problems = append(slices.Clone(d.Problems), all...)
	}
	return &c, t.translation
}

// translator is one run of Translate.
type translator struct {
	reg      *engine.Registry
	kinds    map[string]*foreignKind // as written
	meta     map[string]bool         // metaparameters: whether there is something to do
	said     map[*words.Word]bool
	found    schema.Findings
	quiet    schema.Diagnostics // those of words.Absent.Quiet
	upstream bool               // the graph has a word of mgmt of purpleidea
	translation
}

// foreignKind is what is known of a kind as it was written.
type foreignKind struct {
	name   string       // our kind
	typ    *schema.Type // nil where there is none
	word   *words.Word  // that the kind was written with; nil where it is ours
	keys   map[string]bool
	absent []words.Absent // that were not told yet
}

// kind finds out about a kind once.
func (t *translator) kind(written string) *foreignKind {
	k := t.kinds[written]
	if k == nil {
		k = t.find(strings.ToLower(written))
		k.keys = map[string]bool{}
		t.kinds[written] = k
	}
	return k
}

func (t *translator) find(kind string) *foreignKind {
	k, err := t.reg.Kind(kind)
	if err == nil {
		return &foreignKind{name: kind, typ: k.Type, absent: words.AbsentOf(kind)}
	}
	if _, unknown := errors.AsType[*engine.UnknownKindError](err); !unknown {
		return &foreignKind{name: kind}
	}
	w := words.Kind(kind)
	ours := words.Qualified(kind)
	if w != nil && !w.Refused() {
		ours = w.Name()
	}
	if k, err = t.reg.Kind(ours); err != nil {
		return &foreignKind{name: kind}
	}
	if w == nil {
		w = &words.Word{Tools: "a", Place: "kind", Theirs: kind, Ours: ours}
	}
	return &foreignKind{name: ours, typ: k.Type, word: w, absent: words.AbsentOf(ours)}
}

// unknownKind says what is known of a kind that is none.
func unknownKind(kind string) string {
	w := words.Kind(kind)
	switch {
	case w == nil:
		return ""
	case w.Refused():
		return ": " + w.Note
	case w.Note != "":
		return ": it is " + w.Name() + " here, " + w.Note
	default:
		return ": it is " + w.Name() + " here"
	}
}

// note says once how a word was understood.
func (t *translator) note(w *words.Word, pos schema.Pos, id, path, format string, args ...any) {
	if t.said[w] {
		return
	}
	t.said[w] = true
	t.upstream = t.upstream || w.Tools == "m"
	text := fmt.Sprintf(format, args...)
	if w.Note != "" {
		text += ": " + w.Note
	}
	t.found.Add(schema.Diagnostic{Severity: schema.Note, Pos: pos, Resource: id, Path: path, Message: text + " (" + w.Origin() + ")"})
}

func (t *translator) refuse(w *words.Word, pos schema.Pos, id, path, what string) {
	t.found.Add(schema.Diagnostic{Pos: pos, Resource: id, Path: path, Message: what + ": " + w.Note})
}

func (t *translator) rewrite(r Rewrite) {
	if r.Pos.Line > 0 {
		t.rewrites = append(t.rewrites, r)
	}
}

func (t *translator) kindList(list []KindDecl) []KindDecl {
	out := list
	for i, k := range list {
		f := t.kind(k.Kind)
		if f.word == nil {
			continue
		}
		if len(out) > 0 && &out[0] == &list[0] {
			out = slices.Clone(list)
		}
		t.note(f.word, k.Pos, "", "", "the kind %q is %s here", k.Kind, f.word.Ours)
		t.rewrite(Rewrite{Pos: k.Pos, To: f.name})
		out[i].Kind = f.name
	}
	return out
}

func (t *translator) resources(list []Declaration) []Declaration {
	out, copied := list, false
	d := new(Declaration) // one for all of them
	for i := range list {
		*d = list[i]
		if d.Res != nil || !t.resource(d) {
			continue
		}
		if !copied {
			out, copied = slices.Clone(list), true
		}
		out[i] = *d
	}
	return out
}

// resource translates one declaration, and reports whether it is another one now.
func (t *translator) resource(d *Declaration) bool {
	k := t.kind(d.Kind)
	one := &foreignRes{translator: t, d: d, k: k}
	if w := words.Named(d.Name); w != nil {
		t.refuse(w, orPos(d.NamePos, d.Pos), one.id(), "", "the name "+quote(d.Name))
	}
	one.refs()
	if k.typ == nil {
		return one.changed
	}
	one.params()
	one.metas()
	one.recvs()
	one.ours()
	one.absences()
	return one.changed
}

// ref translates the kind of a reference, and reports whether it was another one.
func (t *translator) ref(r *schema.Ref) bool {
	k := t.kind(r.Kind)
	if k.word == nil {
		return false
	}
	r.Kind = k.name
	return true
}

// end translates the kind of an end, and reports whether it was another one.
func (t *translator) end(e *EdgeEnd) bool {
	r := e.Ref()
	changed := t.ref(&r)
	e.Kind, e.Name = r.Kind, r.Name
	return changed
}

func (t *translator) edges(list []EdgeDecl) []EdgeDecl {
	out, copied := list, false
	for i := range list {
		e := list[i]
		from, to := t.end(&e.From), t.end(&e.To)
		if !from && !to {
			continue
		}
		if !copied {
			out, copied = slices.Clone(list), true
		}
		if from {
			t.rewrite(Rewrite{Pos: e.PosOf(e.From), To: e.From.Ref().String()})
		}
		if to {
			t.rewrite(Rewrite{Pos: e.PosOf(e.To), To: e.To.Ref().String()})
		}
		out[i] = e
	}
	return out
}
