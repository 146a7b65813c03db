package gapi_test

import (
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/traits"
)

// shown is a kind with parameters that others can see.
type shown struct {
	traits.Base
	traits.Recvable
	inert `yaml:"-"`

	Line  string            `yaml:"line" mgmt:"nosecret=env|input"`
	Parts map[string]string `yaml:"parts" mgmt:"nosecret"`
	Lines []string          `yaml:"lines" mgmt:"nosecret"`
	Whole any               `yaml:"whole" mgmt:"nosecret"`
	Env   map[string]string `yaml:"env"`
	Input string            `yaml:"input"`
}

func (*shown) Default() engine.Res { return &shown{} }
func (*shown) Validate() error     { return nil }
func (*shown) Sends() any {
	return &struct {
		Out   string          `yaml:"out"`
		Any   any             `yaml:"any"`
		Key   schema.Secret   `yaml:"key"`
		Keys  []schema.Secret `yaml:"keys"`
		Login struct {
			User string        `yaml:"user"`
			Key  schema.Secret `yaml:"key"`
		} `yaml:"login"`
	}{}
}

// TestBuildRefusesSecretsThatWouldBeSeen: also those that come through others, and
// in a circle.
func TestBuildRefusesSecretsThatWouldBeSeen(t *testing.T) {
	const why = ": everybody on this machine can see it there"
	reg := engine.NewRegistry()
	if err := reg.Register("shown", func() engine.Res { return &shown{} }); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		wires [][3]string // of the resources 1, 2, ...: field, sender, key
		want  []string
	}{
		"a secret":          {[][3]string{{"line", "src", "key"}}, []string{"g:1:5: line can't receive shown[src].key, which is a secret" + why + "; receive it into env or input"}},
		"into a part":       {[][3]string{{"parts.a", "src", "key"}}, []string{"g:1:5: parts.a can't receive shown[src].key, which is a secret" + why}},
		"of an element":     {[][3]string{{"line", "src", "keys[0]"}}, []string{"g:1:5: line can't receive shown[src].keys[0], which is a secret" + why + "; receive it into env or input"}},
		"a list of them":    {[][3]string{{"lines", "src", "keys"}}, []string{"g:1:5: lines can't receive shown[src].keys, which is a secret" + why}},
		"with a member":     {[][3]string{{"whole", "src", "login"}}, []string{"g:1:5: whole can't receive shown[src].login, which is a secret" + why}},
		"of a member":       {[][3]string{{"line", "src", "login.key"}}, []string{"g:1:5: line can't receive shown[src].login.key, which is a secret" + why + "; receive it into env or input"}},
		"beside one":        {[][3]string{{"line", "src", "login.user"}}, nil},
		"into its place":    {[][3]string{{"env.A", "src", "key"}, {"input", "src", "key"}}, nil},
		"nothing secret":    {[][3]string{{"line", "src", "out"}, {"parts.a", "1", "out"}}, nil},
		"through another":   {[][3]string{{"env.A", "src", "key"}, {"input", "1", "out"}, {"line", "2", "out"}}, []string{"g:3:5: line can't receive shown[2].out, which may hold a secret that shown[2] receives" + why + "; receive it into env or input"}},
		"of another branch": {[][3]string{{"env.A", "src", "key"}, {"input", "src", "out"}, {"line", "2", "out"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := &gapi.Declared{Resources: []gapi.Declaration{{Kind: "shown", Name: "src", Pos: at(9, 1)}}}
			for i, w := range tt.wires {
				line := int32(i + 1)
				d.Resources = append(d.Resources, gapi.Declaration{Kind: "shown", Name: fmt.Sprint(line), Pos: at(line, 1),
					Recv: []gapi.RecvDecl{{Field: w[0], From: schema.Ref{Kind: "shown", Name: w[1], Key: w[2]}, Pos: at(line, 5)}}})
			}
			if tt.want == nil {
				build(t, reg, d)
			} else {
				findings(t, reg, d, tt.want...)
			}
		})
	}
}

// TestBuildSecretsInACircle: the search for them ends.
func TestBuildSecretsInACircle(t *testing.T) {
	reg := engine.NewRegistry()
	if err := reg.Register("shown", func() engine.Res { return &shown{} }); err != nil {
		t.Fatal(err)
	}
	d := &gapi.Declared{}
	for i, from := range []string{"c", "a", "b"} {
		name := string(rune('a' + i))
		d.Resources = append(d.Resources, gapi.Declaration{Kind: "shown", Name: name, Recv: []gapi.RecvDecl{
			{Field: "env.A", From: schema.Ref{Kind: "shown", Name: from, Key: "key"}},
		}})
	}
	if g, ds := gapi.Build(reg, d); g != nil || ds.Err() == nil {
		t.Error("a cycle was built")
	}
}
