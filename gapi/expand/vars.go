package expand

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Setting is the value of a variable from outside of the graph.
type Setting struct {
	Name string
	Text string // as it was written: the type of the variable says how it is read
	From string // where it is from, for findings: --var, or the name of an environment variable

	Pos schema.Pos // of a setting in a file; zero for any other

	// Shared says that other graphs have it, too, as the environment: a graph without variables goes without it.
	Shared bool
}

// variable is one variable of a graph.
type variable struct {
	pos   schema.Pos
	typ   expr.Type
	word  string // the type as it is written, empty where the value says it
	doc   string
	value any
	known bool // it has a value

	refused bool // its last setting was, which was reported

	taint *taint // of an input: it was made from a secret; else nil
}

// varTypes are the words for types, and the types for expressions.
var varTypes = map[string]expr.Type{
	"text": expr.Text, "int": expr.Int, "float": expr.Float, "bool": expr.Bool, "list": expr.ListOf(expr.Type{}), "map": expr.MapOf(expr.Type{}), "any": {},
}

// variables are those of one graph, or the inputs of a module, by name.
//
// # Laws
//
//   - A variable is declared once, by one document. The settings of a caller give it another value, and no other type.
//   - The last setting wins; files of variables count before single settings.
//   - Each variable has a value after apply, or a finding says that it has none.
type variables map[string]*variable

// declare reads the key vars of a document.
func (vs variables) declare(n *schema.Node, found *findings) {
	for _, p := range found.pairs(n, "vars must be a map from names to values") {
		if !isName(p.Key) {
			found.errorf(p.Pos, "%q can't be the name of a variable: write letters, digits and _", p.Key)
			continue
		}
		if first, twice := vs[p.Key]; twice {
			found.Add(schema.Diagnostic{
				Pos: p.Pos, Message: fmt.Sprintf("the variable %s is declared twice", p.Key),
				Related: []schema.Related{{Pos: first.pos, Message: "first declared here"}},
			})
			continue
		}
		vs[p.Key] = found.variable(p)
	}
}

// isDeclaration reports whether the value of a variable is a declaration, with a type or a default.
func isDeclaration(n *schema.Node) bool {
	return n.Kind == schema.NodeMap && (n.Get("type") != nil || n.Get("default") != nil) &&
		!slices.ContainsFunc(n.Pairs, func(p schema.Pair) bool { return !slices.Contains([]string{"type", "default", "doc"}, p.Key) })
}

// variable reads one variable.
func (f *findings) variable(p schema.Pair) *variable {
	v := &variable{pos: p.Pos}
	if !isDeclaration(p.Value) {
		v.value, v.known = f.literal(p.Value, "a variable"), true
		v.typ = expr.OfValue(v.value)
		v.word = wordOf(v.value)
		return v
	}
	if doc := p.Value.Get("doc"); doc != nil {
		v.doc = doc.Text
	}
	// A declared type counts more than the type of the default.
	def := p.Value.Get("default")
	if t := p.Value.Get("type"); t != nil {
		v.word = t.Text
		known, ok := varTypes[t.Text]
		if !ok {
			words := slices.Sorted(maps.Keys(varTypes))
			f.Add(schema.Diagnostic{
				Pos: t.Pos, Message: fmt.Sprintf("%q is no type of a variable: write %s", t.Text, strings.Join(words, ", ")), Suggestion: schema.Nearest(t.Text, words),
			})
			v.word = "any"
		}
		v.typ = known
	}
	if def == nil {
		return v
	}
	v.value, v.known = f.literal(def, "a variable"), true
	if v.word == "" {
		v.typ, v.word = expr.OfValue(v.value), wordOf(v.value)
	} else if value, ok := fit(v.word, v.value); ok {
		v.value = value
	} else {
		f.errorf(def.Pos, "the default of %s must be %s, not %s", p.Key, v.word, wordOf(v.value))
	}
	return v
}

// apply gives the variables their values from outside: files first, then the single settings in their order. ok is false where a file
// can't be read.
func (vs variables) apply(o *Options, in *inputs, found *findings) (ok bool) {
	ok = true
	for _, path := range o.VarFiles {
		root, is := in.document(path, schema.Pos{File: path}, false, found)
		ok = ok && is
		if root == nil {
			continue
		}
		for _, p := range found.pairs(root, "a file of variables is a map from names to values") {
			if v := vs.named(p.Key, p.Pos, "", found); v != nil {
				v.set(p.Key, found.literal(p.Value, "a file of variables"), p.Pos, "", found)
			}
		}
	}
	for _, s := range o.Vars {
		if s.Shared && len(vs) == 0 {
			continue
		}
		v := vs.named(s.Name, s.Pos, s.unplaced(), found)
		if v == nil {
			continue
		}
		value, is := s.parsed(v, in, found)
		if v.refused = !is; is {
			v.set(s.Name, value, s.Pos, s.unplaced(), found)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vs)) {
		if v := vs[name]; !v.known && !v.refused {
			found.errorf(v.pos, "the variable %s has no value: it has no default, so write --var %s=VALUE", name, name)
		}
	}
	return ok
}

// parsed reads a setting as its variable wants it.
func (s Setting) parsed(v *variable, in *inputs, found *findings) (any, bool) {
	// Text is taken as it is, so that 1.10 and true need no quotes.
	if v.word == "text" {
		return s.Text, true
	}
	var value any
	n, ds := in.parse(s.From, []byte(s.Text))
	if n == nil || ds.Err() != nil || schema.Decode(n, &value).Err() != nil {
		// The text may be a secret, so no finding repeats it.
		found.errorf(s.Pos, "%sthe value is no YAML of the type %s", prefix(s.unplaced()), v.word)
		return nil, false
	}
	return value, true
}

// named returns a variable, or reports that there is none of this name.
func (vs variables) named(name string, pos schema.Pos, from string, found *findings) *variable {
	if v, ok := vs[name]; ok {
		return v
	}
	known := slices.Sorted(maps.Keys(vs))
	list := make([]string, len(known))
	for i, k := range known {
		list[i] = k + " (" + vs[k].word + ")"
	}
	message := fmt.Sprintf("%sthe graph has no variable %q, it has %s", prefix(from), name, strings.Join(list, ", "))
	if len(known) == 0 {
		message = fmt.Sprintf("%sthe graph has no variable %q: it declares none, which the key vars does", prefix(from), name)
	}
	found.Add(schema.Diagnostic{Pos: pos, Message: message, Suggestion: schema.Nearest(name, known)})
	return nil
}

// lacking returns the place of a variable that an expression reads and that has no value, which was reported.
func (vs variables) lacking(p *expr.Program) (told schema.Pos, lacks bool) {
	for _, in := range p.Reads() {
		if v := vs[in.Field]; in.Name == "vars" && v != nil && !v.known {
			return v.pos, true
		}
	}
	return schema.Pos{}, false
}

// unplaced is From where the setting has no place that says the same.
func (s Setting) unplaced() string {
	if s.Pos.IsZero() {
		return s.From
	}
	return ""
}

// prefix begins a finding about a setting, which has no place in a file.
func prefix(from string) string {
	if from == "" {
		return ""
	}
	return from + ": "
}

// set gives a variable a value from outside, if it fits.
func (v *variable) set(name string, value any, pos schema.Pos, from string, found *findings) {
	fitting, ok := fit(v.word, value)
	if v.refused = !ok; v.refused {
		found.Add(schema.Diagnostic{
			Pos: pos, Message: fmt.Sprintf("%sthe variable %s is %s, not %s", prefix(from), name, v.word, wordOf(value)),
			Related: []schema.Related{{Pos: v.pos, Message: "declared here"}},
		})
		return
	}
	v.take(fitting)
}

// take gives a variable a value that fits. Where the type leaves it open, the value says what an expression may ask of it.
func (v *variable) take(fitting any) {
	v.value, v.known = fitting, true
	if v.word == "list" || v.word == "map" || v.word == "any" {
		v.typ = expr.OfValue(fitting)
	}
}
