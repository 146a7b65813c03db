package reactor

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Declared remembers with which declaration each resource was last found right, or made so, also over a restart where its caller
// keeps that. A resource that is declared as then and is no longer right has been altered by somebody else, whatever has asked
// for the run that finds it; or what it is made of was declared otherwise since, and the process was killed before it was made anew.
type Declared struct {
	salt []byte
	keep Keeper

	mu     sync.Mutex
	last   uint64            // number that was given
	placed map[string]Placed // by id
}

// Keeper keeps what is remembered. Put must not block. Flush returns when what was put outlives the process.
type Keeper interface {
	Put(id string, placed any) // a Placed; nil for what has left
	Flush()
}

// Placed is what is remembered of one resource.
type Placed struct {
	Print Print
	since uint64 // numbers the declarations in the order in which they were brought about
	seen  uint64 // the number of the last one before the last run that has found it right
}

// MarshalText writes it as text.
func (p Placed) MarshalText() ([]byte, error) {
	text, err := p.Print.MarshalText()
	return fmt.Appendf(text, " %d %d", p.since, p.seen), err
}

// UnmarshalText reads what MarshalText has written, with the numbers or without.
func (p *Placed) UnmarshalText(text []byte) error {
	print, numbers, _ := strings.Cut(string(text), " ")
	*p = Placed{}
	if numbers != "" {
		if _, err := fmt.Sscan(numbers, &p.since, &p.seen); err != nil {
			return err
		}
	}
	return p.Print.UnmarshalText([]byte(print))
}

// NewDeclared returns what an earlier process has remembered; with nil nothing. The salt is that of the prints: some random
// bytes, which are kept with them.
func NewDeclared(salt []byte, placed map[string]Placed, keep Keeper) *Declared {
	d := &Declared{salt: salt, placed: placed, keep: keep}
	if placed == nil {
		d.placed = map[string]Placed{}
	}
	for _, p := range placed {
		d.last = max(d.last, p.since)
	}
	return d
}

// Placed returns a copy of all that is remembered, by resource. Callable from any goroutine.
func (d *Declared) Placed() map[string]Placed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.placed)
}

// of returns what is remembered of a resource, nil for nothing.
func (d *Declared) of(id string) *Placed {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p, known := d.placed[id]; known {
		return &p
	}
	return nil
}

// begins returns the last number before a run of a resource, and whether one of those above it was declared otherwise since it was right.
func (d *Declared) begins(id string, above iter.Seq[string]) (last uint64, stale bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p, known := d.placed[id]; known {
		for up := range above {
			stale = stale || d.placed[up].since > p.seen
		}
	}
	return d.last, stale
}

// right remembers that a resource is right with this print, empty for the one that is known, after all that came up to a number: so
// where the print is a new one, or one of those above was declared otherwise meanwhile. It returns what was remembered before.
func (d *Declared) right(id string, print Print, seen uint64, stale bool) *Placed {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, known := d.placed[id]
	is := was
	switch {
	case print != "" && print != was.Print:
		d.last++
		is = Placed{print, d.last, seen}
	case stale && known:
		is.seen = seen
	}
	if is != was {
		d.placed[id] = is
		d.keep.Put(id, is)
	}
	if !known {
		return nil
	}
	return &was
}

// leave forgets a resource that has left the graph.
func (d *Declared) leave(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.placed[id]; known {
		delete(d.placed, id)
		d.keep.Put(id, nil)
	}
}

// forget forgets the resources that are not to be kept.
func (d *Declared) forget(keep func(id string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range d.placed {
		if !keep(id) {
			delete(d.placed, id)
			d.keep.Put(id, nil)
		}
	}
}

// Print names a declaration without its values: the key of each parameter that it sets, a zero byte, and a salted digest of the value.
// A received parameter has the digest of where it comes from. An empty Print names none.
type Print string

// digestLen is how much of each digest is kept: enough to tell values apart.
const digestLen = 8

// MarshalText writes it in the digits of base64.
func (p Print) MarshalText() ([]byte, error) {
	return base64.RawStdEncoding.AppendEncode(nil, []byte(p)), nil
}

// UnmarshalText reads what MarshalText has written.
func (p *Print) UnmarshalText(text []byte) error {
	b, err := base64.RawStdEncoding.AppendDecode(nil, text)
	*p = Print(b)
	return err
}

// digests returns the digests by key. What does not fit is left out.
func (p Print) digests() map[string]string {
	m := map[string]string{}
	for rest := string(p); ; {
		key, more, ok := strings.Cut(rest, "\x00")
		if !ok || len(more) < digestLen {
			return m
		}
		m[key], rest = more[:digestLen], more[digestLen:]
	}
}

// differs returns the keys under which two prints differ, in order.
func (p Print) differs(o Print) (keys []string) {
	a, b := p.digests(), o.digests()
	for key, d := range a {
		if b[key] != d {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// metaPrefix stands before the names of metaparameters among those of parameters.
const metaPrefix = "meta."

// print returns the print of the declaration of v, empty where it has none: a group changes with its members, which its parameters do
// not show. It is called while nothing else alters the parameters.
func (d *Declared) print(v *vertex) Print {
	if _, groupable := engine.As[engine.GroupableRes](v.Res); groupable {
		return ""
	}
	encoded, err := schema.Encode(v.Res)
	params, ok := encoded.(map[string]any)
	if err != nil || encoded != nil && !ok {
		return ""
	}
	if params == nil {
		params = map[string]any{}
	}
	for _, f := range v.abil.recvType.Fields {
		if f.Role == schema.RoleReadOnly {
			delete(params, f.Key)
		}
	}
	for _, w := range v.wired().Wires() {
		if !drop(params, w.Field) {
			return ""
		}
	}
	for _, w := range v.wired().Wires() { // all are dropped: a parameter may have several
		params[topKey(w.Field)] = []any{params[topKey(w.Field)], wireText(w)}
	}
	meta, err := schema.EncodeChanged(v.meta, &engine.MetaParams{})
	if err != nil {
		return ""
	}
	for key, value := range meta {
		params[metaPrefix+key] = value
	}
	if v.once {
		params[metaPrefix+"reverse"] = "undoing"
	}
	params[""] = v.Res.Kind() // so that no print is empty
	h, sum := sha256.New(), make([]byte, 0, sha256.Size)
	var p strings.Builder
	for _, key := range slices.Sorted(maps.Keys(params)) {
		h.Reset()
		h.Write(d.salt)
		hashPlain(h, v.ID)
		hashPlain(h, key)
		hashPlain(h, params[key])
		p.WriteString(key)
		p.WriteByte(0)
		p.Write(h.Sum(sum)[:digestLen])
	}
	return Print(p.String())
}

// topKey returns the parameter that a path begins with.
func topKey(path string) string {
	if i := strings.IndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return path
}

// drop removes what stands under a path, which leads through maps; false where it does not.
func drop(m map[string]any, path string) bool {
	key, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		delete(m, key)
		return !strings.Contains(key, "[")
	}
	below, ok := m[key].(map[string]any)
	return ok && drop(below, rest)
}

// wireText says where a parameter gets its value from.
func wireText(w resgraph.Wire) string {
	text := w.Field + "=" + w.From.String()
	if w.Formula != nil {
		text += " " + w.Formula.Sum
	}
	return text
}

// hashPlain writes a plain value so that different values are different bytes.
func hashPlain(h hash.Hash, x any) {
	switch x := x.(type) {
	case string:
		fmt.Fprintf(h, "s%d:", len(x))
		_, _ = io.WriteString(h, x) // a hash takes everything
	case schema.Secret:
		hashPlain(h, x.Reveal())
	case []any:
		fmt.Fprintf(h, "l%d:", len(x))
		for _, e := range x {
			hashPlain(h, e)
		}
	case map[string]any:
		fmt.Fprintf(h, "m%d:", len(x))
		for _, key := range slices.Sorted(maps.Keys(x)) {
			hashPlain(h, key)
			hashPlain(h, x[key])
		}
	default:
		fmt.Fprintf(h, "%T:%v;", x, x)
	}
}

// differing returns the parameters and metaparameters in which a new declaration differs from the running one. A received parameter
// differs where it is received differently.
func differing(old, v *vertex) (keys []string) {
	received := map[string]bool{}
	for _, pair := range [2][2]*vertex{{old, v}, {v, old}} {
		for _, w := range pair[0].wired().Wires() {
			key := topKey(w.Field)
			received[key] = received[key] || !pair[1].wired().Has(w)
		}
	}
	add := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for key, otherwise := range received {
		if otherwise {
			add(key)
		}
	}
	if reflect.TypeOf(old.Res) == reflect.TypeOf(v.Res) && old.abil.recvType.Equal(v.abil.recvType) {
		for f := range schema.Differing(v.abil.recvType, old.Res, v.Res) {
			if f != nil && f.Role != schema.RoleReadOnly {
				if _, is := received[f.Key]; !is {
					add(f.Key)
				}
			}
		}
	}
	if !old.meta.Equal(v.meta) {
		t, _ := schema.TypeOf(v.meta) // it is described in a test
		for f := range schema.Differing(t, old.meta, v.meta) {
			add(metaPrefix + f.Key)
		}
	}
	if old.once != v.once {
		add(metaPrefix + "reverse")
	}
	slices.Sort(keys)
	return keys
}

// ends notes the print of v in the outcome of a run, and remembers it where v is right now: before anybody is told of that. It is
// called by the run.
func (d *Declared) ends(v *vertex) {
	j := v.run.job
	if !v.membership.placed {
		j.out.print = d.print(v)
	}
	if j.out.print == "" && !j.stale {
		return
	}
	if !j.apply || j.out.err != nil {
		j.out.was = d.of(v.ID)
		return
	}
	j.out.was = d.right(v.ID, j.out.print, j.last, j.stale)
	d.keep.Flush()
}
