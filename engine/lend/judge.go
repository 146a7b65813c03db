package lend

import (
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/internal/params"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Foreign is a resource that another host wants here.
type Foreign struct {
	Kind, Name string
	Value      *schema.Node // the parameters that the other host gives; nil for none
	Meta       *schema.Node // the metaparameters; nil for none
	Wiring     []string     // the keys of its wiring that are not empty: recv, before, and so on

	// The graph of this host that collects it: the pattern of its identity, its own parameters, and the fields that it lends in addition.
	Pattern string
	Set     *schema.Node
	Fields  []string
}

// ElsewhereError says that a resource is about another thing than the pattern of the graph asks for.
type ElsewhereError struct {
	Key, Value, Pattern string // the identity field, or name
}

// Error implements error.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("its %s is %q, which name: %q does not fit; a name that fits does not count", e.Key, schema.Shorten(e.Value), e.Pattern)
}

// RefusedError says that this host does not take a resource over. Its text says how to proceed.
type RefusedError struct{ Reason, Advice string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason + ": " + e.Advice }

// refuse makes a RefusedError.
func refuse(advice, reason string, args ...any) error {
	return &RefusedError{fmt.Sprintf(reason, args...), advice}
}

// Taken is a resource that is taken over, as it is to be declared.
type Taken struct{ Value, Meta *schema.Node }

// Judge returns a resource as this host takes it over, or why it does not: a *RefusedError, an *ElsewhereError, or the error of a value that
// can't be read. kinds are those of the graph.
func (r *Rules) Judge(kinds *engine.Registry, f Foreign) (Taken, error) {
	if r == nil {
		r = stock
	}
	k := r.kinds[f.Kind]
	if k == nil && r.stock {
		return Taken{}, refuse(fmt.Sprintf("to take it over, set accept, such as accept: [%s, %s]", strings.Join(Default, ", "), f.Kind),
			"the setting accept does not name the kind %s, and by default only %s come from other hosts", f.Kind, r.words())
	}
	if k == nil {
		return Taken{}, refuse(fmt.Sprintf("add %s=PATTERN to it, or %s for any place", f.Kind, f.Kind), "this host takes over the kinds %s (setting accept)", r.words())
	}
	j := judge{Foreign: f, rule: k}
	if err := j.decode(kinds); err != nil {
		return Taken{}, err
	}
	if err := j.verdict(); err != nil {
		return Taken{}, err
	}
	return Taken{Value: j.value, Meta: j.meta()}, nil
}

// judge judges one resource.
type judge struct {
	Foreign
	*rule
	res      engine.Res
	value    *schema.Node // its parameters
	collects bool
	typ      *schema.Type
	own      map[string]bool   // the fields that this host sets
	given    map[string]any    // what the other host gives, by key: what differs from the defaults
	identity map[string]string // of the resource as it would run
	first    string            // the key of the identity that the patterns are about; name where there is no such field
}

// decode makes the resource twice: of what the other host gives, and with what this host sets.
func (j *judge) decode(kinds *engine.Registry) error {
	alone, err := j.made(kinds, j.Value)
	if err != nil {
		return err
	}
	if j.typ, err = schema.TypeOf(alone); err != nil {
		return err
	}
	if j.given, err = params.Of(alone); err != nil {
		return err
	}
	j.res = alone
	if j.merge(); j.Set != nil {
		if j.res, err = j.made(kinds, j.value); err != nil {
			return err
		}
	}
	maps.DeleteFunc(j.given, func(key string, v any) bool { return j.own[key] || j.typ.Field(key).Required && isZero(v) })
	a, err := engine.AbilitiesOf(j.res)
	if err != nil {
		return err
	}
	j.collects = a.Collectable
	return j.identify()
}

// isZero reports whether a plain value is the zero value of its type, which a required field has where it is missing.
func isZero(v any) bool {
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Slice, reflect.Map:
		return rv.Len() == 0
	default:
		return !rv.IsValid() || rv.IsZero()
	}
}

// made makes the resource of some parameters. A fault in them is the error: what can't be read here is not run.
func (j *judge) made(kinds *engine.Registry, value *schema.Node) (engine.Res, error) {
	return lifecycle.Make(kinds, lifecycle.Wanted{Kind: j.Kind, Name: j.Name}, func(res engine.Res) error {
		t, err := schema.TypeOf(res)
		if err != nil || value == nil {
			return err
		}
		if t.Field("comment") == nil && value.Get("comment") != nil { // free text
			c := *value
			c.Pairs = slices.DeleteFunc(slices.Clone(value.Pairs), func(p schema.Pair) bool { return p.Key == "comment" })
			value = &c
		}
		return lifecycle.DecodePart(t, value, res).Err()
	})
}

// merge puts what this host sets in the place of what the other host gives, by whatever word each of them calls a field.
func (j *judge) merge() {
	if j.value, j.own = j.Value, map[string]bool{}; j.Set == nil {
		return
	}
	for _, p := range j.Set.Pairs {
		j.own[j.canonical(p.Key)] = true
	}
	c := schema.Node{Kind: schema.NodeMap, Pos: j.Set.Pos}
	if j.Value != nil {
		c = *j.Value
	}
	c.Pairs = slices.DeleteFunc(slices.Clone(c.Pairs), func(p schema.Pair) bool { return j.own[j.canonical(p.Key)] })
	c.Pairs = append(c.Pairs, j.Set.Pairs...)
	j.value = &c
}

// canonical returns the key of the field that a word names, else the word.
func (j *judge) canonical(word string) string {
	if f := j.typ.Field(word); f != nil {
		return f.Key
	}
	return word
}

// identify finds the identity.
func (j *judge) identify() error {
	params, err := params.Of(j.res)
	if err != nil {
		return err
	}
	j.identity = map[string]string{}
	required := false
	for _, f := range j.typ.Fields {
		if f.Role != schema.RoleIdentity {
			continue
		}
		if j.first == "" {
			j.first, required = f.Key, f.Required
		}
		if v := params[f.Key]; v != nil {
			j.identity[f.Key] = fmt.Sprint(v)
		}
	}
	if r, ok := engine.As[declaration.Identified](j.res); ok {
		id, err := r.Identity()
		if err != nil {
			return err
		}
		maps.Copy(j.identity, id)
	}
	if j.first == "" {
		j.first = "name"
	}
	if j.identity[j.first] == "" && !required {
		j.identity[j.first] = j.Name
	}
	return nil
}

// verdict judges the kind, the place, the fields and the wiring, in this order.
func (j *judge) verdict() error {
	own, at := j.own[j.first], j.identity[j.first]
	if own {
		at = j.Name // what this host sets is not judged, and the pattern chooses by the name
	}
	if !Fits(j.Pattern, at) || j.first == "name" && !Fits(j.Pattern, j.Name) {
		return &ElsewhereError{j.first, at, j.Pattern}
	}
	if !j.collects && !own && !j.widened(j.first) {
		return refuse(fmt.Sprintf("the setting accept lends it whole with %s.%s", j.Kind, Whole), "no %s comes from another host as it is, since the kind does not say that its name does no harm", j.Kind)
	}
	if !j.accepts(j.identity[j.first]) {
		return refuse(fmt.Sprintf("add %s=PATTERN to accept", j.Kind), "its %s is %q, and the setting accept takes a %s only at %s", j.first,
			schema.Shorten(j.identity[j.first]), j.Kind, strings.Join(j.places, ", "))
	}
	for key, v := range j.identity {
		if key != j.first && v != "" && !j.own[key] {
			j.given[key] = v // also where the name gives it
		}
	}
	delete(j.given, j.first)
	for _, key := range slices.Sorted(maps.Keys(j.given)) {
		if why := j.held(j.typ.Field(key), j.given[key]); why != "" && !j.widened(key) {
			return refuse(j.advice(key), "it gives %s, %s", key, why)
		}
	}
	for _, key := range j.Wiring {
		if !slices.Contains(wiring, key) && !j.widened(key) {
			return refuse(j.advice(key), "it has %s, which reaches other resources of this host", key)
		}
	}
	return nil
}

// wiring is what another host may give: it depends on resources, and holds none back, and starts nothing but itself.
var wiring = []string{"depend", "listen"}

// advice says how to lend a key.
func (j *judge) advice(key string) string {
	return fmt.Sprintf("add %s.%s to the setting accept, or fields: [%s] or set: to the collect of the graph, if other hosts may decide it", j.Kind, key, key)
}

// widened reports whether this host lends a key with every value.
func (j *judge) widened(key string) bool {
	return j.fields[key] || j.fields[Whole] || slices.Contains(j.Fields, key) || slices.Contains(j.Fields, Whole)
}

// held says why the kind does not lend a value, "" where it does.
func (j *judge) held(f *schema.Field, v any) string {
	absence, word := j.typ.Absence()
	text, isText := v.(string)
	switch {
	case f.Lend == schema.LendNone:
		return "which the kind does not lend to other hosts"
	case isText && (f.Key == absence && text == word || f.Absent != "" && text == f.Absent || text == "absent" && (f.Key == "state" || f.Key == "ensure")):
		return "which takes the thing away"
	case f.Lend == schema.LendName && !j.fit(v):
		return "with a name that does not fit as that of the resource does"
	}
	m, isMode := v.(schema.Mode)
	if isText && f.Key == "mode" { // of a type from a file
		m, isMode = schema.Mode(text), true
	}
	if isMode && beyond(m) {
		return "a mode with bits above 0777"
	}
	return ""
}

// fit reports whether the texts of a value fit the patterns that the identity fits.
func (j *judge) fit(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return Fits(j.Pattern, v) && j.accepts(v)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !j.fit(item) })
	}
	return false
}

// beyond reports whether a mode may set bits above 0777: of a present file without such bits, or with them.
func beyond(m schema.Mode) bool {
	const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	for _, was := range []fs.FileMode{0, fs.ModePerm, fs.ModeDir | fs.ModePerm} {
		if now, err := m.Apply(was, was.IsDir()); err != nil || now&special != 0 {
			return true
		}
	}
	return false
}

// meta returns the metaparameters that count. An export never does: nobody here has asked for it.
func (j *judge) meta() *schema.Node {
	if !j.widened("meta") || j.Meta == nil {
		return Meta(j.Meta)
	}
	c := *j.Meta
	c.Pairs = slices.DeleteFunc(slices.Clone(c.Pairs), func(p schema.Pair) bool { return p.Key == "export" })
	return &c
}
