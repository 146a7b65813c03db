package past

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// Diff returns how two kept graphs differ, resource by resource. Secrets are not shown.
func (k *Keeper) Diff(from, to int, o yaml.Options) (*control.GraphDiff, error) {
	var sides [2]map[string]*gapi.Declaration
	var ids []string
	for i, number := range []int{from, to} {
		doc, err := k.load(number)
		if err != nil {
			return nil, err
		}
		d, err := doc.read(fmt.Sprintf("graph %d", number), o)
		if err != nil {
			return nil, err
		}
		sides[i] = map[string]*gapi.Declaration{}
		for n := range d.Resources {
			r := &d.Resources[n]
			sides[i][r.ID()] = r
			ids = append(ids, r.ID())
		}
	}
	slices.Sort(ids)
	out := &control.GraphDiff{From: from, To: to, Resources: []control.ResourceDiff{}}
	for _, id := range slices.Compact(ids) {
		r := control.ResourceDiff{Resource: id, Verb: engine.Updated, Changes: differences(sides[0][id], sides[1][id], o)}
		switch {
		case sides[0][id] == nil:
			r.Verb = engine.Created
		case sides[1][id] == nil:
			r.Verb = engine.Deleted
		case len(r.Changes) == 0:
			continue
		}
		out.Resources = append(out.Resources, r)
	}
	return out, nil
}

// differences returns the parameters in which two declarations of a resource differ; nil stands for none.
func differences(a, b *gapi.Declaration, o yaml.Options) (list []control.Change) {
	before, after := valuesOf(a, o), valuesOf(b, o)
	var keys []string
	for _, side := range []map[string]value{before, after} {
		for key := range side {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		x, y := before[key], after[key]
		if x.sum == y.sum {
			continue
		}
		c := control.Change{Field: key, Verb: engine.Updated, From: x.shown, To: y.shown}
		if x.secret || y.secret {
			if x.sum != "" {
				c.From = schema.Redacted
			}
			if y.sum != "" {
				c.To = schema.Redacted
			}
		}
		list = append(list, c)
	}
	return list
}

// value is a parameter: what is shown of it, and what it is told from others by.
type value struct {
	shown  any
	sum    string
	secret bool
}

func valuesOf(r *gapi.Declaration, o yaml.Options) map[string]value {
	out := map[string]value{}
	if r == nil {
		return out
	}
	secret := secretKeys(r, o)
	for prefix, n := range map[string]*schema.Node{"": r.Value, "meta.": r.Meta} {
		if n == nil {
			continue
		}
		for _, p := range n.Pairs {
			c, hidden := clearOf(p.Value)
			out[prefix+p.Key] = value{plain(c), sumOf(c), hidden || prefix == "" && secret(p.Key)}
		}
	}
	for key, list := range map[string][]gapi.RefDecl{"before": r.Before, "depend": r.Depend, "notify": r.Notify, "listen": r.Listen} {
		var words []string
		for _, ref := range list {
			words = append(words, ref.Ref.String())
		}
		if text := strings.Join(words, ", "); text != "" {
			out[key] = value{text, text, false}
		}
	}
	for _, w := range r.Recv {
		text := w.From.String()
		if w.Formula != nil {
			text = w.Formula.Text
		}
		out["recv."+w.Field] = value{text, text, false}
	}
	return out
}

// secretKeys reports which parameters must not be shown: by their type, and by the metaparameter secret. Every parameter of an unknown kind counts as a secret.
func secretKeys(r *gapi.Declaration, o yaml.Options) func(key string) bool {
	var marked []string
	if n := r.Meta.Get("secret"); n != nil {
		for _, item := range append(slices.Clone(n.Items), n) {
			name, _, _ := strings.Cut(item.Text, ".")
			marked = append(marked, name)
		}
	}
	var t *schema.Type
	if o.Registry != nil {
		if k, err := o.Registry().Kind(r.Kind); err == nil {
			t = k.Type
		}
	}
	return func(key string) bool {
		if t == nil || slices.Contains(marked, key) {
			return true
		}
		f := t.Field(key)
		return f == nil || f.Type.Secret
	}
}

func sumOf(n *schema.Node) string {
	return printOf(&gapi.Declared{Resources: []gapi.Declaration{{Value: n}}}).whole
}

// plain returns a value as JSON has it.
func plain(n *schema.Node) any {
	switch n.Kind {
	case schema.NodeNull:
		return nil
	case schema.NodeList:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			out[i] = plain(item)
		}
		return out
	case schema.NodeMap:
		out := map[string]any{}
		for _, p := range n.Pairs {
			out[p.Key] = plain(p.Value)
		}
		return out
	case schema.NodeBool:
		return n.Text == "true"
	}
	return n.Text
}
