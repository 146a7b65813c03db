package model

import (
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// kindModel is a model with the type that it was made from; a kind that is registered anew has another one.
type kindModel struct {
	of *schema.Type
	m  *Model
}

// Edges are the fields of a kind's object that name other objects, and what Declaration calls them.
var Edges = []string{"before", "depend", "notify", "listen"}

// ofKind returns the model of a kind of resource. Its table is the kind, the id of an object the resource's name.
func (r *Registry) ofKind(kinds *engine.Registry, name string) (*Model, error) {
	k, err := kinds.Kind(name)
	if err != nil {
		return nil, &Error{Code: UnknownModel, Table: name, Message: "the kind cannot be described", Err: err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.made[name]; known.of == k.Type {
		return known.m, nil
	}
	m, err := Define(kindSpec(k))
	if err == nil {
		r.made[name] = kindModel{k.Type, m}
	}
	return m, err
}

// kindSpec leaves the type of each parameter to the kind, so there is no second description to keep right. It describes the objects of a kind: the parameters that a graph may set, and the other keys of a declaration.
func kindSpec(k engine.Kind) Spec {
	refs := &schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindRef}}
	tree := &schema.Type{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindAny}}
	s := Spec{
		Name: k.Name, Table: k.Name, Kind: k.Name, Doc: k.Doc, Mixins: []Mixin{Version, BasicEvents},
		Fields: []Field{
			{Key: "topic", Type: &schema.Type{Kind: schema.KindString}, Doc: "Who takes the object over: host:NAME, group:NAME or all."},
			{Key: "meta", Type: tree, Doc: "Metaparameters."},
			{Key: "recv", Type: &schema.Type{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindString}}, Doc: "Parameters that are received, and from where."},
		},
		Indexes: map[string][]string{"topic": {"topic"}},
	}
	for _, edge := range Edges {
		s.Fields = append(s.Fields, Field{Key: edge, Type: refs, Doc: "Edges to other objects, as in a graph."})
	}
	taken := []string{"id", "topic", "version", "meta", "recv"}
	for _, f := range k.Type.Fields {
		if f.Role == schema.RoleReadOnly {
			continue // a graph cannot set it
		}
		own := Field{Key: f.Key, Type: f.Type, Doc: f.Doc, Required: f.Required && f.Role != schema.RoleIdentity, Absent: f.Absent}
		if slices.Contains(taken, f.Key) {
			own.Key, own.Param = f.Key+"_", f.Key
		}
		s.Fields = append(s.Fields, own)
	}
	return s
}
