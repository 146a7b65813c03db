package provider_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
)

// askedOf makes a type whose commands answer a text each, by their last word.
func askedOf(t *testing.T, answers map[string]string) (*provider.Runtime, provider.Provider, *enginetest.FakeHost) {
	t.Helper()
	n, err := jsonNode("", `{"name": "thing", "docs": "x", "attributes": {"id": {"type": "String", "docs": "x", "kind": "namevar"}, "v": {"type": "Optional[String]", "docs": "x"},
		"key": {"type": "Optional[String]", "docs": "x", "sensitive": true}},
		"get": ["/bin/thing", "get"], "set": ["/bin/thing", "set"], "canonicalize": ["/bin/thing", "canonicalize"], "custom_insync": ["/bin/thing", "insync"]}`)
	defMust(err)
	def, src, ds := provider.DecodeDefinition(n)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	kind, err := provider.New(*def, src.External.New)
	defMust(err)
	host := enginetest.NewHost()
	host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		return &engine.Result{Stdout: []byte(answers[c.Argv[1]])}, nil
	})
	log := provider.NewLogger(provider.LogOptions{Type: "thing"})
	return &provider.Runtime{Type: kind, Host: host, Log: log}, src.External.New(), host
}

// TestFindingE7Canonicalize: a command brings records into canonical form, a line each.
func TestFindingE7Canonicalize(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`{"id": "a", "v": "low"}` + "\n" + `{"id": "b"}`, "low <nil>"},
		{`{"id": "a"}`, "it has not written as many records as the 2 that it was given"},
		{"{}\n{}\n{}", "it has not written as many records as the 2 that it was given"},
		{"x\ny", "line 1 of its output"},
	} {
		rt, p, host := askedOf(t, map[string]string{"canonicalize": c.answer})
		canon, ok := p.(provider.Canonicalizer)
		if !ok {
			t.Fatalf("%T is none", p)
		}
		out, err := canon.Canonicalize(t.Context(), rt, []provider.Record{{"id": "a", "v": "LOW"}, {"id": "b"}})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(out[0]["v"], " ", out[1]["v"])
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: %s", c.answer, got)
		}
		if in := string(host.Commands()[0].Stdin); in != `{"id":"a","v":"LOW"}`+"\n"+`{"id":"b"}`+"\n" {
			t.Errorf("%q", in)
		}
	}
}

// TestFindingE7InSync: a command compares two values of an attribute.
func TestFindingE7InSync(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`{"insync": true}`, "1  <nil>"},
		{`{"insync": false, "message": "too low"}`, "2 too low <nil>"},
		{`{"insync": null}`, "0  <nil>"},
		{``, "it has not answered"},
		{`{"insync": 1}`, "it has insync, which is true, false or null"},
		{`{}`, "it has no key insync"},
		{"{\"insync\": true}\n{\"insync\": true}", "it has written more than one line"},
	} {
		rt, p, host := askedOf(t, map[string]string{"insync": c.answer})
		ans, why, err := p.(provider.InSyncer).InSync(t.Context(), rt, provider.NameOf("a"), "v", provider.Record{"id": "a", "v": "1"}, provider.Record{"id": "a", "v": "2"})
		if got := fmt.Sprint(ans, " ", why, " ", err); !strings.Contains(got, c.want) {
			t.Errorf("%q: %s", c.answer, got)
		}
		if in := string(host.Commands()[0].Stdin); in != `{"attribute":"v","is":{"id":"a","v":"1"},"name":"a","should":{"id":"a","v":"2"}}`+"\n" {
			t.Errorf("%q", in)
		}
	}
}

// TestFindingE7Features: a type that claims what it has no command for is refused, and one
// with both commands may claim them, too.
func TestFindingE7Features(t *testing.T) {
	const head = `{"name": "thing", "docs": "x", "attributes": {"id": {"type": "String", "docs": "x", "kind": "namevar"}}, "get": ["g"], "set": ["s"], `
	for src, want := range map[string]string{
		`"features": ["canonicalize"]}`:                                   "the type thing has the feature canonicalize, and no command canonicalize",
		`"features": ["custom_insync"]}`:                                  "the type thing has the feature custom_insync, and no command custom_insync",
		`"features": ["custom_insync"], "custom_insync": ["i"]}`:          "<nil>",
		`"canonicalize": ["c"]}`:                                          "<nil>",
		`"canonicalize": ["c"], "custom_insync": ["i"], "timeout": "1s"}`: "<nil>",
	} {
		n, err := jsonNode("", head+src)
		defMust(err)
		def, from, ds := provider.DecodeDefinition(n)
		if ds.Err() != nil {
			t.Fatal(ds)
		}
		if _, err := provider.New(*def, from.External.New); fmt.Sprint(err) != want {
			t.Errorf("%s: %v", src, err)
		}
	}
}
