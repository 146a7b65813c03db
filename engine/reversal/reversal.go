package reversal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/internal/params"
	"github.com/reactivegraph/mgmt/engine/internal/plain"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// The tables of a Store that keep the records to undo resources with the
// metaparameter reverse. All have the id as key, and are written together: a run of
// the reactor writes them before the first change, step reverse of package
// transform reads them when the id has left the graph, and the reactor deletes them
// when the reversal has succeeded. The table of the images is read only then,
// because they may be large. Wanted is written again before the first change that
// wants something else than the one before.
const (
	Table       = "reversal" // Reversal
	TableImage  = "image"    // Image
	TableWanted = "wanted"   // Wanted
)

// MaxImage is how many bytes an image may take in a Store, which has a limit for
// one Commit of its own. Anything larger can't be reversed.
const MaxImage = 12 << 20

// Reversal is the record of a resource for as long as it can be undone: its
// declaration, and its place in the graph of its first change.
type Reversal struct {
	Kind, Name string

	After, Before []string // ids of those that it came after, and before, sorted

	// Why says why there is no Image: it can't be undone. Empty if it can.
	Why string
}

// ID returns the id of the resource.
func (r *Reversal) ID() string { return schema.Ref{Kind: r.Kind, Name: r.Name}.ID() }

// Image is the state before the first change of a resource, and the state that the
// resource wanted then, as plain values. It may hold secrets.
type Image struct {
	Declared map[string]any // the parameters
	Meta     map[string]any // the metaparameters that are not the defaults
	Was      map[string]any // what Read showed; nil for nothing
	Secret   []string       // parameters that must not be shown, though their type is plain
}

// Wanted has all parameters that a resource has managed since its first change,
// over all edits of the graph. A parameter that it has managed once is brought
// back, too.
type Wanted struct {
	Thing  string   // tells which thing it is, by the parameters that identify it
	Print  string   // tells what was wanted last
	Fields []string // the parameters that were given at any time, sorted

	Declared map[string]any // those of last; nil where they are those of the image
	Secret   []string       // the parts of these that must not be shown, though their type is plain
}

// WantedOf says what a resource wants, and has wanted before, nil for the first time.
// It neither keeps nor alters its arguments.
func WantedOf(res engine.Res, secret []string, before *Wanted) (*Wanted, error) {
	declared, err := params.Of(res)
	if err != nil {
		return nil, fmt.Errorf("what %s wants: %w", res, err)
	}
	t, err := schema.TypeOf(res)
	if err != nil {
		return nil, err
	}
	thing := map[string]any{}
	for _, f := range t.Fields {
		if v, ok := declared[f.Key]; ok && f.Role == schema.RoleIdentity {
			thing[f.Key] = v
		}
	}
	w := &Wanted{Fields: slices.Sorted(maps.Keys(declared)), Secret: secret}
	if before != nil {
		w.Declared = declared
		w.Fields = union(before.Fields, w.Fields)
		w.Secret = union(before.Secret, secret)
	}
	if w.Thing, err = digest(thing); err != nil {
		return nil, err
	}
	w.Print, err = digest(declared)
	return w, err
}

func union(a, b []string) []string {
	list := slices.Concat(a, b)
	slices.Sort(list)
	return slices.Compact(list)
}

func digest(v map[string]any) (string, error) {
	b, err := plain.Marshal(v)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), err
}

// Write returns the write that keeps it. The error is an *SizeError if it is
// too large.
func (w *Wanted) Write(id string) (records.Write, error) {
	b, err := plain.Marshal(map[string]any{
		"thing": w.Thing, "print": w.Print, "fields": listOf(w.Fields), "declared": anyMap(w.Declared), "secret": listOf(w.Secret),
	})
	if err == nil && len(b) > MaxImage {
		err = &SizeError{Size: len(b)}
	}
	return records.Write{Table: TableWanted, Key: id, Value: b}, err
}

// DecodeWanted reads a record of TableWanted.
func DecodeWanted(rec records.Record) (*Wanted, error) {
	m, err := readMap(rec)
	if err != nil {
		return nil, err
	}
	w := &Wanted{Fields: texts(m["fields"]), Secret: texts(m["secret"])}
	w.Thing, _ = m["thing"].(string)
	w.Print, _ = m["print"].(string)
	w.Declared, _ = m["declared"].(map[string]any)
	return w, nil
}

// Later has the image undo later wishes, too: the last value of each parameter, and
// the parameters that were wanted in between.
func (img *Image) Later(w *Wanted) {
	if w.Declared == nil {
		return
	}
	for _, f := range w.Fields {
		if v, ok := img.Was[f]; ok && img.Declared[f] == nil {
			img.Declared[f] = v
		}
	}
	maps.Copy(img.Declared, w.Declared)
	img.Secret = union(img.Secret, w.Secret)
}

// Take makes the image of a resource. was is what Read showed, nil for nothing.
// It neither keeps nor alters the resources.
func Take(res, was engine.Res, secret []string) (*Image, error) {
	img := &Image{Secret: secret}
	var err error
	if img.Declared, err = params.Of(res); err != nil {
		return nil, fmt.Errorf("what %s wants: %w", res, err)
	}
	if img.Meta, err = encodeMeta(res.MetaParams()); err != nil {
		return nil, fmt.Errorf("the metaparameters of %s: %w", res, err)
	}
	if absent(was) {
		return img, nil
	}
	if img.Was, err = params.Of(was); err != nil {
		return nil, fmt.Errorf("what was there before %s: %w", res, err)
	}
	return img, nil
}

// absent reports whether Read has found nothing: it may return a nil pointer of its type.
func absent(r engine.Res) bool {
	return r == nil || reflect.ValueOf(r).Kind() == reflect.Pointer && reflect.ValueOf(r).IsNil()
}

// Writes returns the writes that keep the reversal and its image, which is nil with
// Why.
func (r *Reversal) Writes(img *Image) ([]records.Write, error) {
	head, err := plain.Marshal(map[string]any{
		"kind": r.Kind, "name": r.Name, "after": listOf(r.After), "before": listOf(r.Before), "why": r.Why,
	})
	if err != nil || img == nil {
		return []records.Write{{Table: Table, Key: r.ID(), Value: head}}, err
	}
	body, err := plain.Marshal(map[string]any{
		"declared": img.Declared, "meta": img.Meta, "was": anyMap(img.Was), "secret": listOf(img.Secret),
	})
	if err != nil {
		return nil, err
	}
	if len(body) > MaxImage {
		return nil, &SizeError{Size: len(body)}
	}
	return []records.Write{
		{Table: Table, Key: r.ID(), Value: head},
		{Table: TableImage, Key: r.ID(), Value: body},
	}, nil
}

// SizeError says that the earlier state, or the wanted one, takes more than
// MaxImage.
type SizeError struct{ Size int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("what has to be kept takes %s, and not more than %s are kept", schema.Size(e.Size), schema.Size(MaxImage))
}

// Forget returns the writes that delete a reversal and all that belongs to
// it.
func Forget(id string) []records.Write {
	return []records.Write{{Table: Table, Key: id}, {Table: TableImage, Key: id}, {Table: TableWanted, Key: id}}
}

// Decode reads a record of Table.
func Decode(rec records.Record) (*Reversal, error) {
	m, err := readMap(rec)
	if err != nil {
		return nil, err
	}
	r := &Reversal{After: texts(m["after"]), Before: texts(m["before"])}
	r.Kind, _ = m["kind"].(string)
	r.Name, _ = m["name"].(string)
	r.Why, _ = m["why"].(string)
	if r.ID() != rec.Key {
		return nil, fmt.Errorf("the record of %s is of %s", rec.Key, r.ID())
	}
	return r, nil
}

// DecodeImage reads a record of TableImage.
func DecodeImage(rec records.Record) (*Image, error) {
	m, err := readMap(rec)
	if err != nil {
		return nil, err
	}
	img := &Image{Secret: texts(m["secret"])}
	img.Declared, _ = m["declared"].(map[string]any)
	img.Meta, _ = m["meta"].(map[string]any)
	img.Was, _ = m["was"].(map[string]any)
	if img.Declared == nil || img.Meta == nil {
		return nil, fmt.Errorf("the record of %s is incomplete", rec.Key)
	}
	return img, nil
}

func readMap(rec records.Record) (map[string]any, error) {
	v, err := plain.Unmarshal(rec.Value)
	if err != nil {
		return nil, fmt.Errorf("the record of %s: %w", rec.Key, err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the record of %s is no map", rec.Key)
	}
	return m, nil
}

// anyMap returns nil for a nil map, which is not the empty map.
func anyMap(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

func listOf(s []string) any {
	list := make([]any, len(s))
	for i := range s {
		list[i] = s[i]
	}
	return list
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// encodeMeta returns the metaparameters that are not the defaults, as DecodeMeta reads
// them.
func encodeMeta(m *engine.MetaParams) (map[string]any, error) {
	plain, err := schema.EncodeChanged(m, new(engine.MetaParams))
	if err == nil && m.Retry == engine.RetryNever {
		plain["retry"] = int64(0)
	}
	return plain, err
}
