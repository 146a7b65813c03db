package gapi_test

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/traits"
)

// place is a kind of which there is one at each path, and which has one text.
type place struct {
	traits.Base
	traits.Recvable
	traits.Edgeable
	inert `yaml:"-"`

	Path string `yaml:"path" mgmt:"identity"`
	Svc  string `yaml:"svc" mgmt:"param"` // a second thing that it is, with the path
	Text string `yaml:"text"`
	Bad  bool   `yaml:"bad"` // UIDs panics
}

// badUID can't be looked up.
type badUID struct{ autoedge.BaseUID }

func (*badUID) Hash() string { panic("no") }

func (*place) Default() engine.Res { return &place{} }
func (*place) Validate() error     { return nil }

func (r *place) UIDs() []autoedge.UID {
	if r.Bad {
		panic("no")
	}
	path := cmp.Or(r.Path, r.Name())
	list := []autoedge.UID{&autoedge.BaseUID{}, traits.FileUID(autoedge.UIDOf(r), path)}
	switch r.Svc {
	case "":
	case "bad":
		list = append(list, &badUID{})
	default:
		list = append(list, traits.SvcUID(autoedge.UIDOf(r), r.Svc, path == "/session"))
	}
	return list
}

func (r *place) Clashes(other engine.Res) error {
	o := other.(*place)
	if r.Text == "panic" {
		panic("oh")
	}
	if r.Text != o.Text || len(r.Recv()) != len(o.Recv()) {
		return fmt.Errorf("%q is not %q", r.Text, o.Text)
	}
	return nil
}

func placeAt(line int32, name, path string, more ...schema.Pair) gapi.Declaration {
	return declare(line, "place", name, append(more, pair("path", text(line, path)))...)
}

func withMeta(d gapi.Declaration, key string) gapi.Declaration {
	d.Meta = object(d.Pos.Line, pair(key, &schema.Node{Kind: schema.NodeBool, Pos: d.Pos, Text: "true"}))
	return d
}

func placeRegistry(t *testing.T) *engine.Registry {
	reg := registry(t, nil)
	if err := reg.Register("place", func() engine.Res { return &place{} }); err != nil {
		t.Fatal(err)
	}
	return reg
}

// TestClash: two resources that are one thing are an error where they say so.
//
// Seen failing with: build.go: the call of clashes left out; clash.go: moves or
// alters always false, the chain of claims or IFF not asked, the panic not caught,
// the claims before a panic kept.
func TestClash(t *testing.T) {
	recv := func(d gapi.Declaration, field string) gapi.Declaration {
		d.Recv = []gapi.RecvDecl{{Field: field, From: schema.Ref{Kind: "thing", Name: "s", Key: "text"}, Pos: d.Pos}}
		return d
	}
	badHash := pair("svc", text(4, "bad"))
	text := func(s string) schema.Pair { return pair("text", text(4, s)) }
	a := placeAt(2, "a", "/x", text("one"))
	bad := pair("bad", &schema.Node{Kind: schema.NodeBool, Pos: at(4, 9), Text: "true"})
	clash := "g:4:7: place[b] and place[a] are the same thing, file[/x], and would undo each other: "
	const related = "\n    g:2:7: place[a] is declared here"
	for name, c := range map[string]struct {
		b    gapi.Declaration
		want string
	}{
		"other path": {placeAt(4, "b", "/y"), ""},
		"equal":      {placeAt(4, "b", "/x", text("one")), ""},
		"differ":     {placeAt(4, "b", "/x", text("two")), clash + `"two" is not "one"` + related},
		"panics":     {placeAt(4, "b", "/x", text("panic")), clash + "IFF or Clashes panicked: oh" + related},
		"UIDs panic": {placeAt(4, "b", "/x", bad), ""},
		"Hash panic": {placeAt(4, "b", "/x", badHash), ""},
		"noop":       {withMeta(placeAt(4, "b", "/x"), "noop"), ""},
		"hidden":     {withMeta(placeAt(4, "b", "/x"), "hidden"), ""},
		"receives":   {recv(placeAt(4, "b", "/x"), "text"), clash + `"" is not "one"` + related},
		"moves":      {recv(declare(4, "place", "/x"), "path"), ""},
		"derived":    {recv(placeAt(4, "b", "/x"), "svc"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &gapi.Declared{Resources: []gapi.Declaration{a, c.b, declare(9, "thing", "s")}}
			if c.want == "" {
				build(t, placeRegistry(t), d)
				return
			}
			findings(t, placeRegistry(t), d, c.want)
		})
	}
}

// TestClashBehind: what has the same hash and is not the same is no clash, and does
// not hide the one behind it.
func TestClashBehind(t *testing.T) {
	svc := pair("svc", text(2, "s"))
	one := pair("text", text(2, "one"))
	_, ds := gapi.Build(placeRegistry(t), &gapi.Declared{Resources: []gapi.Declaration{
		placeAt(2, "a", "/system", svc), placeAt(4, "b", "/session", svc, one), placeAt(6, "c", "/other", svc, one),
	}})
	if len(ds) != 1 || ds[0].Resource != "place[c]" || ds[0].Related[0].Pos != at(2, 7) {
		t.Errorf("%v", ds)
	}
}

// TestClashTwice: what is two things, each of which another one is already, is told of
// once.
//
// Seen failing with: clash.go, clashes: the item that was refused not passed over.
func TestClashTwice(t *testing.T) {
	svc := pair("svc", text(2, "s"))
	_, ds := gapi.Build(placeRegistry(t), &gapi.Declared{Resources: []gapi.Declaration{
		placeAt(2, "a", "/a"), placeAt(4, "b", "/b", svc), placeAt(6, "c", "/a", svc, pair("text", text(6, "one"))),
	}})
	if len(ds) != 1 || ds[0].Resource != "place[c]" || ds[0].Related[0].Pos != at(2, 7) {
		t.Errorf("%v", ds)
	}
}
