package enginetest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// lawMetadata: the kind is registered, can be described, and documents every parameter.
// The pages of documentation, the flags and the schema for editors are made from these
// texts.
func lawMetadata(e *env) error {
	kind, err := e.Registry.Kind(e.Kind)
	if err != nil {
		return err
	}
	res, err := e.Registry.New(e.Kind)
	if err != nil {
		return err
	}
	res.SetName("a name")
	if want := e.Kind + "[a name]"; res.String() != want {
		return fmt.Errorf("String returns %q, not %q", res.String(), want)
	}
	if err := kind.Type.CheckReserved(); err != nil {
		return err
	}
	if !e.Undocumented {
		if missing := undocumented(kind.Type, "", 0); len(missing) > 0 {
			return fmt.Errorf("these parameters have no doc text: %v", missing)
		}
	}
	// Without any parameter set, it may be refused, but not by a panic.
	return guard("Validate of a resource without parameters", func() error { return ignore(res.Validate()) })
}

// ignore drops an error: the law asks only whether the call panics.
func ignore(error) error { return nil }

// undocumented returns the paths of the fields without a doc text. The depth is
// bounded, since a type may hold itself by name.
func undocumented(t *schema.Type, path string, depth int) []string {
	var missing []string
	if t == nil || depth > 8 {
		return nil
	}
	for _, f := range t.Fields {
		if f.Doc == "" {
			missing = append(missing, path+f.Key)
		}
		missing = append(missing, undocumented(f.Type, path+f.Key+".", depth+1)...)
	}
	return append(missing, undocumented(t.Elem, path, depth+1)...)
}

// lawDefault: Default makes a new resource each time, that shares nothing with another
// one. The engine decodes into the result of Default. A shared map would carry values
// of one resource into the next.
func lawDefault(e *env) error {
	res, err := e.Registry.New(e.Kind)
	if err != nil {
		return err
	}
	a, b := res.Default(), res.Default()
	switch {
	case a == nil || b == nil:
		return errors.New("nothing came from Default")
	case a == b || a == res:
		return errors.New("the same resource twice came from Default")
	case reflect.TypeOf(a) != reflect.TypeOf(res):
		return fmt.Errorf("what Default of a %T returned is a %T", res, a)
	case !schema.Equal(a, b):
		return errors.New("different values came from Default")
	}
	// Only exported parts count: those are where a graph's values go.
	for _, other := range []engine.Res{b, res} {
		if path := aliased(sideOf(a), sideOf(other), ""); path != "" {
			return fmt.Errorf("two results of Default share what is in %s", path)
		}
	}
	return nil
}

// aliased returns the first exported part through which altering a alters b. The path
// is that of Go fields. An empty slice without room shares nothing that can be altered.
func aliased(a, b reflect.Value, path string) string {
	switch a.Kind() {
	case reflect.Slice:
		if a.Cap() > 0 && b.Cap() > 0 && a.Pointer() == b.Pointer() {
			return path
		}
	case reflect.Map, reflect.Pointer:
		if !a.IsNil() && !b.IsNil() && a.Pointer() == b.Pointer() {
			return path
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() {
				if p := aliased(a.Field(i), b.Field(i), path+"."+f.Name); p != "" {
					return p
				}
			}
		}
	}
	return ""
}

// lawDecode: the parameters of a resource, written as a graph and read again into the
// defaults, are the same. Only values that differ from the defaults are written, as an
// import writes them.
func lawDecode(e *env) error {
	res, err := e.loose()
	if err != nil {
		return err
	}
	again, err := e.Registry.New(e.Kind)
	if err != nil {
		return err
	}
	values, err := schema.EncodeChanged(res, again)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	node, err := schema.NodeOf(reveal(values))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if err := schema.Decode(node, again).Err(); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return sameFields(res, again, func(*schema.Field) bool { return true })
}

// reveal returns plain values as a graph file would hold them. Secrets are in clear
// here, because a file of a graph has them so. The result goes to the decoder alone.
func reveal(v any) any {
	switch v := v.(type) {
	case schema.Secret:
		return v.Reveal()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = reveal(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = reveal(v[k])
		}
		return out
	}
	return v
}

// sameFields compares the parameters that which selects. The differences show values;
// secrets among them print as redacted.
func sameFields(want, got engine.Res, which func(*schema.Field) bool) error {
	t, err := schema.Of(want)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range schema.Diff(t, want, got) {
		if d.Field == nil || which(d.Field) {
			errs = append(errs, fmt.Errorf("%s: wanted %v, got %v", d.Path, d.From, d.To))
		}
	}
	return errors.Join(errs...)
}

// loose makes a resource that is never initialised.
func (e *env) loose() (engine.Res, error) {
	dir, err := e.dir()
	if err != nil {
		return nil, err
	}
	return e.make(dir)
}

// lawValidate: Validate accepts the resource of the suite each time, alters nothing in
// it and nothing outside. It looks at nothing outside either, but that cannot be seen
// from here.
func lawValidate(e *env) error {
	dir, err := e.dir()
	if err != nil {
		return err
	}
	res, err := e.make(dir)
	if err != nil {
		return err
	}
	world := e.Snapshot(e.scope, dir)
	err = pure("Validate", func() error {
		return errors.Join(res.Validate(), res.Validate())
	}, res)
	return errors.Join(err, world.same(e.Snapshot(e.scope, dir)))
}

// pure calls f and returns an error if a resource was altered by it, even in its
// unexported fields. Two texts of the whole resource are compared, so the cost is that
// of its size.
func pure(what string, f func() error, rs ...engine.Res) error {
	before := make([]string, len(rs))
	for i, r := range rs {
		before[i] = dump(r)
	}
	if err := guard(what, f); err != nil {
		return err
	}
	for i, r := range rs {
		if dump(r) != before[i] {
			return fmt.Errorf("%s alters a resource", what)
		}
	}
	return nil
}

// lawUIDs: the answers of a resource for automatic edges and grouping are the same each
// time, alters nothing, and comes to an end. Automatic edges are made once for a graph.
// An answer that differs each time would make another graph of the same file.
func lawUIDs(e *env) error {
	res, err := e.loose()
	if err != nil {
		return err
	}
	if g, ok := engine.As[engine.GroupableRes](res); ok {
		if err := stableKey(res, g.GroupKey); err != nil {
			return err
		}
	}
	if b, ok := engine.As[engine.Batcher](res); ok {
		if err := stableKey(res, b.GroupKey); err != nil {
			return err
		}
	}
	edgeable, ok := engine.As[engine.EdgeableRes](res)
	if !ok {
		return nil
	}
	var a, b []autoedge.UID
	err = pure("UIDs", func() error { a, b = edgeable.UIDs(), edgeable.UIDs(); return nil }, res)
	if err != nil {
		return err
	}
	if err := sameUIDs(a, b); err != nil {
		return err
	}
	return pure("AutoEdges", func() error { return drain(edgeable) }, res)
}

// stableKey holds that a key is the same each time: resources with equal keys form a
// group.
func stableKey(res engine.Res, key func() string) error {
	var a, b string
	if err := pure("GroupKey", func() error { a, b = key(), key(); return nil }, res); err != nil {
		return err
	}
	if a != b {
		return fmt.Errorf("first GroupKey returns %q and then %q", a, b)
	}
	return nil
}

// sameUIDs holds that two answers have equal UIDs in one order, and that each UID
// matches itself.
func sameUIDs(a, b []autoedge.UID) error {
	if len(a) != len(b) {
		return fmt.Errorf("first UIDs returns %d and then %d", len(a), len(b))
	}
	for i, u := range a {
		switch {
		case u.String() != b[i].String():
			return fmt.Errorf("first UIDs returns %s and then %s", u, b[i])
		case !u.IFF(b[i]) || !b[i].IFF(u):
			return fmt.Errorf("the UID %s does not match itself", u)
		// A hash that differs would hide a match from the index of UIDs.
		case hashOf(u) != hashOf(b[i]):
			return fmt.Errorf("the UID %s has two hashes", u)
		}
	}
	return nil
}

// hashOf returns the hash of a UID, empty where it has none: the method is optional.
func hashOf(u autoedge.UID) string {
	if h, ok := u.(interface{ Hash() string }); ok {
		return h.Hash()
	}
	return ""
}

// drain asks for edges until there are no more, finding none of them. The bound is far
// above the edges of any resource in use.
func drain(r engine.EdgeableRes) error {
	edges, err := r.AutoEdges()
	if err != nil || edges == nil {
		return err
	}
	for range 100_000 {
		next := edges.Next()
		if len(next) == 0 || !edges.Test(make([]bool, len(next))) {
			return nil
		}
	}
	return errors.New("what AutoEdges returned never comes to an end")
}
