package integration_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// double is the provider that the outcomes were seen on: it has some instances, and
// behaves as its vector says.
type double struct {
	vector *lifeVector
	things []provider.Record

	mu    sync.Mutex
	calls []lifeCall
}

// lifeCall is one call of a provider.
type lifeCall struct {
	Call    string       `json:"call"`
	Names   any          `json:"names,omitempty"`
	Changes []lifeChange `json:"changes,omitempty"`
	Name    any          `json:"name,omitempty"`
	Noop    any          `json:"noop,omitempty"`
	In, Out []any        `json:",omitempty"`
}

// lifeChange is one entry of a call of set.
type lifeChange struct {
	Name   any `json:"name"`
	Is     any `json:"is"`
	Should any `json:"should"`
}

func (d *double) note(c lifeCall) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, c)
}

func (d *double) Get(_ context.Context, _ *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		names := any("NOT_PASSED")
		if d.vector.has("simple_get_filter") {
			names = nil
			if !f.All {
				list := []any{}
				for _, n := range f.Names {
					list = append(list, n.String())
				}
				names = list
			}
		}
		d.note(lifeCall{Call: "get", Names: names})
		switch d.vector.Provider.Get {
		case "raise":
			yield(nil, errors.New("get failed"))
			return
		case "raise_fatal":
			panic("get failed fatally")
		case "nil":
			yield(nil, nil)
			return
		}
		for _, r := range d.things {
			if !yield(r.Clone(), nil) {
				return
			}
		}
	}
}

func (d *double) Set(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	call := lifeCall{Call: "set"}
	if rt.Noop {
		call.Noop = true
	}
	for _, c := range changes {
		call.Changes = append(call.Changes, lifeChange{d.nameOf(c), d.is(c), written(c.Should)})
	}
	slices.SortFunc(call.Changes, func(a, b lifeChange) int { return strings.Compare(asJSON(a.Name), asJSON(b.Name)) })
	d.note(call)
	for _, c := range changes {
		if err := d.setOne(rt, c); err != nil {
			return err
		}
	}
	return nil
}

// setOne does to one resource what the vector says.
func (d *double) setOne(rt *provider.Runtime, c provider.Change) error {
	switch d.vector.Provider.Set {
	case "raise":
		return errors.New("set failed")
	case "raise_fatal":
		panic("set failed fatally")
	case "raise_in_context":
		_ = rt.Log.Updating(c.Title, func() error { return errors.New("set failed") })
	case "err":
		rt.Log.Err("an error", provider.Of(c.Title))
	case "failed_action":
		rt.Log.Failed(c.Title, "it failed")
	case "processed":
		rt.Log.Processed(c.Title, c.Is.Record, c.Should)
	case "context":
		work := rt.Log.Updating
		switch {
		case c.Should["ensure"] == "absent":
			work = rt.Log.Deleting
		case c.Is.Presence == provider.Absent:
			work = rt.Log.Creating
		}
		return work(c.Title, func() error { return nil })
	}
	return nil
}

// nameOf is how Puppet's library names a resource to set.
func (d *double) nameOf(c provider.Change) any {
	names := d.vector.namevars()
	if len(names) == 1 {
		return c.Should[names[0]]
	}
	m := map[string]any{}
	for _, n := range names {
		m[n] = c.Should[n]
	}
	return m
}

// is is how Puppet's library writes what is: that a thing is absent is an attribute of
// it.
func (d *double) is(c provider.Change) any {
	if c.Is.Presence == provider.Known {
		return written(c.Is.Record)
	}
	m := map[string]any{}
	if names := d.vector.namevars(); len(names) > 1 {
		for _, n := range names {
			m[n] = c.Should[n]
		}
	} else {
		m["title"] = c.Title
	}
	if d.vector.ensurable() {
		m["ensure"] = map[string]any{"$t": "symbol", "v": "absent"}
	}
	return m
}

// canonical is a double that has canonicalize.
type canonicalDouble struct{ *double }

func (d canonicalDouble) Canonicalize(_ context.Context, _ *provider.Runtime, records []provider.Record) ([]provider.Record, error) {
	form, ok := canonicalForms[d.vector.Provider.Canonicalize]
	if !ok {
		return nil, fmt.Errorf("there is no canonical form %q here", d.vector.Provider.Canonicalize)
	}
	for _, r := range records {
		if err := form(r); err != nil {
			return nil, err
		}
	}
	return records, nil
}

var canonicalForms = map[string]func(provider.Record) error{
	"":            func(provider.Record) error { return nil },
	"upcase_name": func(r provider.Record) error { return alter(r, "name", strings.ToUpper) },
	"strip0x_upcase": func(r provider.Record) error {
		return alter(r, "name", func(s string) string { return strings.ToUpper(strings.TrimPrefix(s, "0x")) })
	},
	"downcase_mail": func(r provider.Record) error {
		for k := range r {
			if s, ok := r[k].(string); ok && strings.Contains(s, "@") {
				r[k] = strings.ToLower(s)
			}
		}
		return nil
	},
	"sort_list": func(r provider.Record) error {
		for k := range r {
			if list, ok := r[k].([]any); ok {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
		}
		return nil
	},
	"raise": func(provider.Record) error { return errors.New("canonicalize failed") },
}

func alter(r provider.Record, key string, f func(string) string) error {
	if s, ok := r[key].(string); ok {
		r[key] = f(s)
	}
	return nil
}

// insyncDouble is a double that compares by itself.
type insyncDouble struct{ *double }

func (d insyncDouble) InSync(_ context.Context, _ *provider.Runtime, _ provider.Name, _ string, _, _ provider.Record) (provider.Answer, string, error) {
	switch d.vector.Provider.InSync {
	case "true":
		return provider.InSync, "", nil
	case "false":
		return provider.OutOfSync, "", nil
	case "array", "message":
		return provider.OutOfSync, "because", nil
	case "raise":
		return 0, "", errors.New("insync failed")
	case "string":
		return 0, "", errors.New("it answers with a text")
	}
	return provider.Default, "", nil
}

// written is a record as the vectors write it.
func written(r provider.Record) map[string]any {
	out := map[string]any{}
	for k, v := range r {
		out[k] = writtenValue(v)
	}
	return out
}

func writtenValue(v any) any {
	switch v := v.(type) {
	case schema.Secret:
		return map[string]any{"$t": "sensitive", "v": v.Reveal()}
	case puppettype.Sensitive:
		return map[string]any{"$t": "sensitive", "v": writtenValue(v.Reveal())}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = writtenValue(v[i])
		}
		return out
	case map[string]any:
		return written(v)
	case float64:
		return map[string]any{"$t": "float", "v": fmt.Sprintf("%.1f", v)}
	case int64:
		return json.Number(fmt.Sprint(v))
	}
	return v
}

// value reads what JSON lacks from its tag.
func value(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = value(v[i])
		}
		return out
	case map[string]any:
		if tag, ok := v["$t"].(string); ok {
			return tagged(tag, v["v"])
		}
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = value(v[k])
		}
		return out
	}
	return v
}

func tagged(tag string, v any) any {
	text, _ := v.(string)
	switch tag {
	case "undef":
		return nil
	case "default":
		return puppettype.Default{}
	case "symbol":
		return puppettype.Symbol(text)
	case "sensitive":
		if s, ok := v.(string); ok {
			return schema.NewSecret(s)
		}
		return puppettype.NewSensitive(value(v))
	case "float":
		var f float64
		_, _ = fmt.Sscan(text, &f)
		return f
	case "bigint":
		n, _ := new(big.Int).SetString(text, 10)
		return n
	case "binary":
		b, _ := base64.StdEncoding.DecodeString(text)
		return b
	}
	return text
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
