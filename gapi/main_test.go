package gapi_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/traits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inert does nothing: these kinds are only declared.
type inert struct{}

func (inert) Init(*engine.Init) error                        { return nil }
func (inert) Cleanup() error                                 { return nil }
func (inert) Watch(context.Context) error                    { return nil }
func (inert) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (inert) Cmp(engine.Res) error                           { return nil }

// thing is a kind whose Validate is what the test says.
type thing struct {
	traits.Base
	traits.Recvable
	traits.Refreshable
	inert `yaml:"-"`

	Text  string            `yaml:"text"`
	Size  int               `yaml:"size" mgmt:"required"`
	Parts map[string]string `yaml:"parts"`
	Link  *schema.Ref       `yaml:"link"`
	Links []schema.Ref      `yaml:"links"`

	validate func(*thing) error
	fallback *thing
}

func (r *thing) Default() engine.Res {
	if r.fallback == nil {
		panic("no default")
	}
	c := *r.fallback
	return &c
}

func (r *thing) Validate() error {
	if r.validate == nil {
		return nil
	}
	return r.validate(r)
}

func (r *thing) Sends() any {
	return &struct {
		Text string        `yaml:"text"`
		Key  schema.Secret `yaml:"key"`
		Any  any           `yaml:"any"`
	}{}
}

// plain has no ability at all.
type plain struct {
	traits.Base
	inert `yaml:"-"`
}

func (*plain) Default() engine.Res { return &plain{} }
func (*plain) Validate() error     { return nil }

// own decodes itself, as resources do that were written for another engine.
type own struct {
	plain  `yaml:"-"`
	Answer int    `yaml:"answer"`
	Other  string `yaml:"other"`
}

func (*own) Default() engine.Res { return &own{Other: "default"} }

func (r *own) UnmarshalYAML(unmarshal func(any) error) error {
	type raw own
	def := raw(*r.Default().(*own))
	if err := unmarshal(&def); err != nil {
		return err
	}
	*r = own(def)
	return nil
}

// wrong has a key that belongs to the declaration.
type wrong struct {
	plain `yaml:"-"`
	Meta  string `yaml:"meta"`
}

func (*wrong) Default() engine.Res { return &wrong{} }

// registry has the kinds thing, plain and wrong.
func registry(t testing.TB, validate func(*thing) error) *engine.Registry {
	reg := engine.NewRegistry()
	err := errors.Join(
		reg.Register("thing", func() engine.Res { return &thing{fallback: &thing{validate: validate}} }),
		reg.Register("rotten", func() engine.Res { return &thing{} }),
		reg.Register("plain", func() engine.Res { return &plain{} }),
		reg.Register("wrong", func() engine.Res { return &wrong{} }),
	)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// at is a position in a source that does not exist.
func at(line, col int32) schema.Pos { return schema.Pos{File: "g", Line: line, Col: col} }

// text, number and object make nodes.
func text(line int32, s string) *schema.Node {
	return &schema.Node{Kind: schema.NodeString, Pos: at(line, 9), Text: s}
}

func number(line int32, s string) *schema.Node {
	return &schema.Node{Kind: schema.NodeInt, Pos: at(line, 9), Text: s}
}

func object(line int32, pairs ...schema.Pair) *schema.Node {
	return &schema.Node{Kind: schema.NodeMap, Pos: at(line, 1), Pairs: pairs}
}

func pair(key string, n *schema.Node) schema.Pair {
	pos := n.Pos
	pos.Col = 3
	return schema.Pair{Key: key, Pos: pos, Value: n}
}

// declare declares a resource whose required parameter is given.
func declare(line int32, kind, name string, pairs ...schema.Pair) gapi.Declaration {
	if kind == "thing" {
		pairs = append(pairs, pair("size", number(line, "1")))
	}
	return gapi.Declaration{
		Kind: kind, Name: name, Pos: at(line, 1), KindPos: at(line-1, 1), NamePos: at(line, 7),
		Value: object(line, pairs...),
	}
}

func ref(kind, name string) schema.Ref { return schema.Ref{Kind: kind, Name: name} }

func refs(line int32, list ...schema.Ref) []gapi.RefDecl {
	var out []gapi.RefDecl
	for _, r := range list {
		out = append(out, gapi.RefDecl{Ref: r, Pos: at(line, 20)})
	}
	return out
}
