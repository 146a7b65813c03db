package puppet

import (
	"encoding/json"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// setSecret sets a parameter to a secret: as such where the kind has a type for it, else by
// sending it. So the engine knows that it must not be shown. A parameter that others on the
// machine can see, such as an argument of a process, refuses a secret.
func (t *translation) setSecret(f *schema.Field, v *schema.Node, from *param) {
	n, err := schema.NodeOf(secretValue(v))
	if err != nil {
		t.bad(from, "it can't be a secret: %v", err)
		return
	}
	place(n, t.at)
	switch {
	case f.Type.Secret:
		if text, ok := inJSON(f.Type, v); ok {
			n = text
			place(n, t.at)
		}
		t.put(f.Key, n)
	case f.NoSecret || f.Role == schema.RoleIdentity:
		t.refuse(from.name, "it is sensitive, and everybody on the machine could see it as "+f.Key+" of "+t.kind.Name, true)
	case !t.kind.Abilities.Recvable:
		t.refuse(from.name, "it is sensitive, and the kind "+t.kind.Name+" takes no secret for "+f.Key, true)
	default:
		t.send(f.Key, n)
	}
}

// inJSON returns a list or a map as the text of a secret, where the type, one of data,
// takes it.
func inJSON(st *schema.Type, v *schema.Node) (*schema.Node, bool) {
	if isScalar(v) {
		return nil, false
	}
	plain, _ := schema.Value(&schema.Type{Kind: schema.KindAny}, v)
	if ty, err := puppettype.Parse(st.Name); err != nil || !ty.Accepts(puppettype.NewSensitive(plain)) {
		return nil, false
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return nil, false
	}
	n, err := schema.NodeOf(schema.NewSecret(string(text)))
	return n, err == nil
}

// send lets a vertex of the kind value send a parameter.
// The engine then knows the taint of the field: no log, plan or status shows it (law 8).
func (t *translation) send(key string, v *schema.Node) {
	from := schema.Ref{Kind: "value", Name: t.ref() + " " + key}
	t.helpers = append(t.helpers, gapi.Declaration{
		Kind: from.Kind, Name: from.Name, Pos: t.at,
		Value: &schema.Node{Kind: schema.NodeMap, Pos: t.at, Pairs: []schema.Pair{{Key: "any", Pos: t.at, Value: v}}},
	})
	from.Key = "any"
	t.recv = append(t.recv, gapi.RecvDecl{Field: key, From: from, Pos: t.at})
}

// secretValue returns a value in which every text is a secret.
// Keys stay readable: a catalog marks values, not their names.
func secretValue(n *schema.Node) any {
	switch n.Kind {
	case schema.NodeList:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = secretValue(item)
		}
		return list
	case schema.NodeMap:
		m := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			m[p.Key] = secretValue(p.Value)
		}
		return m
	default:
		return schema.NewSecret(n.Text)
	}
}

// place says where a value stands.
// Values that were made anew have no place by themselves.
func place(n *schema.Node, at schema.Pos) {
	n.Pos = at
	for _, item := range n.Items {
		place(item, at)
	}
	for i := range n.Pairs {
		n.Pairs[i].Pos = at
		place(n.Pairs[i].Value, at)
	}
}
