package provider_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// wireDefinition is a transport with an attribute of each sort.
func wireDefinition() provider.TransportDefinition {
	return provider.TransportDefinition{Name: "wire", Doc: "A wire.", ConnectionInfo: []provider.Attribute{
		{Name: "address", Type: "String[1]", Doc: "Where it leads."},
		{Name: "port", Type: "Integer[1, 65535]", Doc: "The port.", Default: int64(22), HasDefault: true},
		{Name: "color", Type: "Optional[Enum[red, blue]]", Doc: "Of the wire.", Role: provider.Parameter},
		{Name: "key", Type: "Optional[String]", Doc: "What opens it.", Sensitive: true},
	}}
}

// noWire connects to nothing.
func noWire(context.Context, *provider.Line, provider.Record) (provider.Transport, error) {
	return nil, nil
}

func wires(t testing.TB, connect provider.Connect) *provider.Transports {
	t.Helper()
	known := provider.NewTransports()
	defMust(known.Register(wireDefinition(), connect))
	return known
}

// targetFiles are files of targets, which other users can't read. They are called a.json, b.json and so on.
func targetFiles(t testing.TB, texts ...string) (files []provider.TargetFile) {
	t.Helper()
	for i, text := range texts {
		n, err := jsonNode(string(rune('a'+i))+".json", text)
		defMust(err)
		files = append(files, provider.TargetFile{Node: n, Mode: 0o600})
	}
	return files
}

func decodeTargets(t testing.TB, known *provider.Transports, texts ...string) []*provider.Target {
	t.Helper()
	list, ds := provider.DecodeTargets(targetFiles(t, texts...), known)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	return list
}

// TestDecodeTargets: what is wrong with a file of targets is said with its place, and how it can be mended.
func TestDecodeTargets(t *testing.T) {
	const name = "letters, digits, dots, - and _, at most 253 of them, and begins with a letter or digit"
	long := strings.Repeat("x", 254)
	for text, want := range map[string]string{
		`{}`:   "",
		`[]`:   "a.json:1:1: a file of targets is a map from their names to what they are, not a list",
		`null`: "a.json:1:1: a file of targets is a map from their names to what they are, not nothing",
		`{"w": {"transport": "wire", "address": "x"}}`:                "",
		`{"W-1_b.example": {"transport": "wire", "address": "x"}}`:    "",
		`{"` + long[1:] + `": {"transport": "wire", "address": "x"}}`: "",
		`{"": {"transport": "wire", "address": "x"}}`:                 `a.json:1:2: the name of a target is ` + name + `, not ""`,
		`{"-w": {"transport": "wire", "address": "x"}}`:               `a.json:1:2: the name of a target is ` + name + `, not "-w"`,
		`{".w": {"transport": "wire", "address": "x"}}`:               `a.json:1:2: the name of a target is ` + name + `, not ".w"`,
		`{"a/b": {"transport": "wire", "address": "x"}}`:              `a.json:1:2: the name of a target is ` + name + `, not "a/b"`,
		`{"ä": {"transport": "wire", "address": "x"}}`:                `a.json:1:2: the name of a target is ` + name + `, not "ä"`,
		`{"w": "wire"}`:                                                                  `a.json:1:2: the target w must be a map with the key transport, not "wire"`,
		`{"w": {"address": "x"}}`:                                                        "a.json:1:2: the target w has no transport: one of wire",
		`{"w": {"transport": "wier"}}`:                                                   `a.json:1:21: the target w: there is no transport "wier": there are wire (did you mean "wire"?)`,
		`{"w": {"transport": 5}}`:                                                        "a.json:1:21: the target w: there is no transport \"5\": there are wire",
		`{"w": {"transport": "wire"}}`:                                                   "a.json:1:2: the target w has no address, which the transport needs: String[1]",
		`{"w": {"transport": "wire", "address": ""}}`:                                    "a.json:1:40: the target w: address must be text of at least 1 character",
		`{"w": {"transport": "wire", "address": "x", "port": 0}}`:                        "a.json:1:53: the target w: port must be a whole number from 1 to 65535, not 0",
		`{"w": {"transport": "wire", "address": "x", "port": "many"}}`:                   "a.json:1:53: the target w: port",
		`{"w": {"transport": "wire", "address": "x", "color": "green"}}`:                 "a.json:1:54: ",
		`{"w": {"transport": "wire", "address": "x", "prot": 5}}`:                        `(did you mean "port"?)`,
		`{"w": {"transport": "wire", "address": "x", "key": {"file": "rel/key"}}}`:       "a.json:1:52: w.key is text, or {file: PATH} with an absolute path",
		`{"w": {"transport": "wire", "address": "x", "key": {"file": 5}}}`:               "a.json:1:52: w.key is text, or {file: PATH} with an absolute path",
		`{"w": {"transport": "wire", "address": "x", "key": {}}}`:                        "a.json:1:52: w.key is text, or {file: PATH} with an absolute path",
		`{"w": {"transport": "wire", "address": "x", "key": {"file": "/k", "mode": 5}}}`: "a.json:1:52: w.key is text, or {file: PATH} with an absolute path",
		`{"w": {"transport": "wire", "address": {"file": "/k"}}}`:                        "a.json:1:40: the target w: address",
	} {
		list, ds := provider.DecodeTargets(targetFiles(t, text), wires(t, noWire))
		switch err := ds.Err(); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (len(ds) != 1 || !strings.Contains(ds.Error(), want)):
			t.Errorf("%s: %d findings: %v, want one: %s", text, len(ds), err, want)
		case want != "" && len(list) > 0:
			t.Errorf("%s: there is a target beside the error", text)
		}
	}
}

// TestDecodeTargetsAll: everything that is wrong is said at once, over all files, and what is well is returned beside it.
func TestDecodeTargetsAll(t *testing.T) {
	files := targetFiles(t,
		`{"one": {"transport": "wire", "address": "x"}, "two": {"transport": "rope"}, "_": 5}`,
		`{"one": {"transport": "wire", "address": "y"}, "three": {"transport": "wire", "port": 0, "length": 5}}`)
	list, ds := provider.DecodeTargets(append(files, provider.TargetFile{}), wires(t, noWire))
	var names []string
	for _, target := range list {
		names = append(names, target.Name+" "+target.Transport+" "+target.Pos.String())
	}
	if !slices.Equal(names, []string{"one wire a.json:1:2"}) {
		t.Errorf("%q", names)
	}
	for _, part := range []string{
		"a.json:1:69: the target two: there is no transport \"rope\"", "a.json:1:78: the name of a target is", "b.json:1:2: the target \"one\" is there twice\n    a.json:1:2: first here",
		"length", "a file of targets is a map",
	} {
		if strings.Count(ds.Error(), part) != 1 {
			t.Errorf("%q is not said once in:\n%s", part, ds.Error())
		}
	}
	_, ds = provider.DecodeTargets(targetFiles(t, `{"w": {}, "v": {"transport": "wire"}}`), provider.NewTransports())
	if got := ds.Error(); !strings.Contains(got, "the target w has no transport: one of none") || !strings.Contains(got, `there is no transport "wire": there are none`) {
		t.Error(got)
	}
}

// TestDecodeTargetsSecrets: a secret stands only in a file that other users can't read, and no finding shows it.
func TestDecodeTargetsSecrets(t *testing.T) {
	const text = `{"w": {"transport": "wire", "address": "x", "key": "opensesame"}}`
	for mode, ok := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o602: false, 0o644: false} {
		files := targetFiles(t, text)
		files[0].Mode = mode
		_, ds := provider.DecodeTargets(files, wires(t, noWire))
		want := fmt.Sprintf("a.json:1:45: w.key is a secret, and other users can read this file (mode %04o): chmod 600, or put it into a file of its own: {file: PATH}", mode)
		switch err := ds.Err(); {
		case ok && err != nil:
			t.Errorf("%04o: %v", mode, err)
		case !ok && (err == nil || err.Error() != want):
			t.Errorf("%04o: %v, want %s", mode, err, want)
		}
	}
	files := targetFiles(t, strings.ReplaceAll(text, `"opensesame"`, `{"file": "/keys/w"}`))
	files[0].Mode = 0o644
	if _, ds := provider.DecodeTargets(files, wires(t, noWire)); ds.Err() != nil {
		t.Error("a file of targets that names the file of a secret may be read by others:", ds)
	}
	for _, bad := range []string{`["opensesame"]`, `{"file": "/k", "opensesame": 1}`, `{"opensesame": {}}`} {
		_, ds := provider.DecodeTargets(targetFiles(t, strings.ReplaceAll(text, `"opensesame"`, bad)), wires(t, noWire))
		if ds.Err() == nil || strings.Contains(ds.Error(), "opensesame") {
			t.Errorf("%s: %v", bad, ds)
		}
	}
}

// TestTargets: the set has what the last Replace gave it.
func TestTargets(t *testing.T) {
	known := wires(t, noWire)
	ts := provider.NewTargets()
	if ts.Names() != nil || ts.Get("w") != nil {
		t.Error("a new set has targets")
	}
	ts.Replace(decodeTargets(t, known, `{"w": {"transport": "wire", "address": "x"}, "b": {"transport": "wire", "address": "y"}}`))
	first := ts.Get("w")
	if !slices.Equal(ts.Names(), []string{"b", "w"}) || first == nil || first.Transport != "wire" {
		t.Errorf("%q %+v", ts.Names(), first)
	}
	ts.Replace(decodeTargets(t, known, `{"w": {"transport": "wire", "address": "z"}, "c": {"transport": "wire", "address": "y"}}`))
	if !slices.Equal(ts.Names(), []string{"c", "w"}) || ts.Get("w") == first || ts.Get("b") != nil {
		t.Errorf("after another: %q", ts.Names())
	}
	ts.Replace(nil)
	if ts.Names() != nil || ts.Get("w") != nil {
		t.Errorf("after none: %q", ts.Names())
	}
	if _, err := ts.Facts(t.Context(), "w", nil); err == nil || err.Error() != `there is no target "w", nor any other: --targets names the folder with their files` {
		t.Error(err)
	}
}

// TestTransportCheck: all that is wrong with a definition of a transport is said.
func TestTransportCheck(t *testing.T) {
	attribute := func(name, typ string) provider.Attribute { return provider.Attribute{Name: name, Type: typ, Doc: "x"} }
	for name, c := range map[string]struct {
		def  provider.TransportDefinition
		want []string
	}{
		"well":         {wireDefinition(), nil},
		"no attribute": {provider.TransportDefinition{Name: "wire", Doc: "x"}, nil},
		"bad name":     {provider.TransportDefinition{Name: "Wire-1", Doc: "x"}, []string{`"Wire-1"`}},
		"no name":      {provider.TransportDefinition{Doc: "x"}, []string{"name"}},
		"bad word":     {provider.TransportDefinition{Name: "wire", Doc: "x", ConnectionInfo: []provider.Attribute{attribute("A b", "String")}}, []string{"wire.A b: the name of an attribute"}},
		"no type":      {provider.TransportDefinition{Name: "wire", Doc: "x", ConnectionInfo: []provider.Attribute{attribute("a", "")}}, []string{"wire.a"}},
		"bad type":     {provider.TransportDefinition{Name: "wire", Doc: "x", ConnectionInfo: []provider.Attribute{attribute("a", "Strin")}}, []string{"wire.a"}},
		"reserved": {provider.TransportDefinition{Name: "wire", Doc: "x", ConnectionInfo: []provider.Attribute{attribute("transport", "String"), attribute("ensure", "String"), attribute("state", "String")}},
			[]string{"called transport, that name is reserved", "called ensure, that name is reserved", "called state, that name is reserved"}},
		"role": {provider.TransportDefinition{Name: "wire", Doc: "x", ConnectionInfo: []provider.Attribute{{Name: "a", Type: "String", Doc: "x", Role: provider.Namevar}, {Name: "b", Type: "String", Doc: "x", Role: provider.ReadOnly}}},
			[]string{"wire.a: an attribute of a target is a parameter", "wire.b: an attribute of a target is a parameter"}},
		"default": {provider.TransportDefinition{Name: "wire", Doc: "x", ConnectionInfo: []provider.Attribute{{Name: "a", Type: "Integer", Doc: "x", Default: "y", HasDefault: true}}}, []string{"wire.a"}},
		"twice":   {provider.TransportDefinition{Name: "wire", Doc: "x", ConnectionInfo: []provider.Attribute{attribute("a", "String"), attribute("a", "String")}}, []string{`wire has the attribute "a" twice`}},
		"many":    {provider.TransportDefinition{Name: "wire", Doc: "x", ConnectionInfo: make([]provider.Attribute, 100_000)}, []string{"has 100000 attributes, at most "}},
	} {
		found := c.def.Check()
		if found.Err() == nil != (c.want == nil) {
			t.Errorf("%s: %v", name, found)
		}
		for _, w := range c.want {
			if !strings.Contains(found.Error(), w) {
				t.Errorf("%s: %q is not said in: %v", name, w, found)
			}
		}
		if err := provider.NewTransports().Register(c.def, noWire); (err == nil) != (c.want == nil) {
			t.Errorf("%s: Register says %v", name, err)
		}
	}
	bare := provider.TransportDefinition{Name: "wire", ConnectionInfo: []provider.Attribute{{Name: "a", Type: "String"}}}
	if ds := bare.Check(); ds.Err() != nil || len(ds) != 2 {
		t.Errorf("missing documentation is a warning each: %v", ds)
	}
}

// TestTransports: a set holds each name once, hands out copies, and a clone is a set of its own.
func TestTransports(t *testing.T) {
	known := wires(t, noWire)
	if err := known.Register(wireDefinition(), noWire); err == nil || err.Error() != "the transport wire is registered already" {
		t.Error(err)
	}
	if err := known.Register(provider.TransportDefinition{Name: "rope", Doc: "x"}, nil); err == nil || !strings.Contains(err.Error(), "the transport rope has nothing that connects") {
		t.Error(err)
	}
	def, ok := known.Definition("wire")
	if want := wireDefinition(); !ok || def.Name != want.Name || def.Doc != want.Doc || len(def.ConnectionInfo) != 4 {
		t.Errorf("%+v", def)
	}
	def.ConnectionInfo[0].Name = "altered"
	if again, _ := known.Definition("wire"); again.ConnectionInfo[0].Name != "address" {
		t.Error("the definition is no copy")
	}
	if _, ok := known.Definition("rope"); ok || known.Type("rope") != nil {
		t.Error("a transport that is not there has a definition")
	}
	typ := known.Type("wire")
	if typ == nil || typ.Field("port") == nil || typ.Field("port").Role != schema.RoleParam || !typ.Field("key").Type.Secret {
		t.Errorf("%v", typ)
	}
	clone := known.Clone()
	must(t, clone.Register(provider.TransportDefinition{Name: "rope", Doc: "x"}, noWire))
	if diff := cmp.Diff([][]string{known.Names(), clone.Names()}, [][]string{{"wire"}, {"rope", "wire"}}); diff != "" {
		t.Error(diff)
	}
}

// TestRegisterTransport: a definition of the default set is checked at its first use, and its name at once.
func TestRegisterTransport(t *testing.T) {
	panics := func(f func()) (v any) {
		defer func() { v = recover() }()
		f()
		return nil
	}
	bad := provider.TransportDefinition{Name: "provider_test_bad", ConnectionInfo: []provider.Attribute{{Name: "state", Type: "String"}}}
	provider.RegisterTransport(bad, noWire)
	if v := panics(func() { provider.RegisterTransport(bad, noWire) }); v == nil || !strings.Contains(fmt.Sprint(v), "registered already") {
		t.Error("a name that is taken:", v)
	}
	if !slices.Contains(provider.DefaultTransports().Names(), bad.Name) {
		t.Error("it is not in the default set")
	}
	if v := panics(func() { provider.DefaultTransports().Type(bad.Name) }); v == nil || !strings.Contains(fmt.Sprint(v), "that name is reserved") {
		t.Error("the first use of a definition with a fault:", v)
	}
}
