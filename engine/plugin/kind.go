package plugin

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// Kind is one type of a provider, as a kind of resources. It is immutable.
type Kind struct {
	protocol.Type
	name   string // in a graph: the token in lower case
	plugin *Plugin
	params *schema.Type // of a resource's parameters
	sends  *schema.Type // of its sent values
	state  string       // the key of the parameter that says whether it is to be there
}

// The words of the parameter that says whether the thing is to be there.
const (
	present = "present"
	absent  = "absent"
)

// idKey is the key under which the id of a thing is sent, where the type has no property of that name.
const idKey = "id"

// newKind makes the kind of a type.
func newKind(p *Plugin, t protocol.Type) (*Kind, schema.Diagnostics) {
	k := &Kind{Type: t, name: strings.ToLower(t.Token), plugin: p, state: "state"}
	props, ds := wire.Decode(p.Schema, t.Schema)
	for i := range ds {
		ds[i].Message = t.Token + ": " + ds[i].Message
	}
	if ds.Err() != nil {
		return k, ds
	}
	if props.Field(k.state) != nil {
		k.state = "ensure"
	}
	var err error
	if k.params, err = schema.Build(k.parameters(props)); err == nil {
		k.sends, err = schema.Build(k.outputs(props))
	}
	if err != nil {
		ds.Errorf(schema.Pos{File: p.Schema}, "%s: %v", t.Token, err)
	}
	return k, ds
}

// parameters describes the parameters in a graph. A property that need not be given is optional, so that its absence differs
// from every value.
func (k *Kind) parameters(props *schema.Type) *schema.Type {
	out := &schema.Type{Kind: schema.KindStruct, Name: k.name, Doc: props.Doc}
	for _, f := range props.Fields {
		c := *f
		c.Type = optional(f.Type, f.Type.Optional || !f.Required && !f.HasDefault || f.Role == schema.RoleReadOnly)
		if f.Key == "name" {
			c.Role, c.Required = schema.RoleIdentity, false
		}
		out.Fields = append(out.Fields, &c)
	}
	out.Fields = append(out.Fields, &schema.Field{
		Key: k.state, Type: &schema.Type{Kind: schema.KindString, Enum: []string{present, absent}}, Default: present, HasDefault: true,
		Doc: "Whether it is to be there.",
	})
	return out
}

// outputs describes the values that are sent: every property, and the id.
func (k *Kind) outputs(props *schema.Type) *schema.Type {
	out := &schema.Type{Kind: schema.KindStruct, Name: "what " + k.name + " sends"}
	for _, f := range props.Fields {
		if f.Role != schema.RoleWriteOnly {
			out.Fields = append(out.Fields, &schema.Field{Key: f.Key, Type: optional(f.Type, true), Doc: f.Doc})
		}
	}
	if props.Field(idKey) == nil {
		out.Fields = append(out.Fields, &schema.Field{Key: idKey, Doc: "What the provider calls it.", Type: &schema.Type{Kind: schema.KindString, Optional: true}})
	}
	return out
}

// The provider returns null, or nothing, for a value that is not there. So every sent value is optional, and so is every
// parameter that the author of a graph may leave out.
//
// optional returns a copy of a type that may be absent, or not.
func optional(t *schema.Type, yes bool) *schema.Type {
	c := *t
	c.Optional, c.Go = yes, nil
	return &c
}

// Name returns the name of the kind in a graph.
func (k *Kind) Name() string { return k.name }

// New returns a new resource of the kind, as Registry.Register needs it.
func (k *Kind) New() engine.Res { return &res{kind: k, params: k.params.New().Value} }

// abilities returns the abilities of its resources.
func (k *Kind) abilities() engine.Abilities {
	return engine.Abilities{
		Refreshable: k.Refresh, Recvable: true, Edgeable: true, Reversible: true, Readable: true, Listable: k.List, Shared: true, Overlapping: true,
		Collectable: k.Collectable, Batcher: k.Batch > 1, Sends: k.sends,
	}
}

// Two plugins of one name, before and after a change of the descriptor, have processes of their own until the graph has changed.
//
// key is the one of the session, which all kinds of the plugin have in common.
func (p *Plugin) key() string { return fmt.Sprintf("provider %s %p", p.Name, p) }
