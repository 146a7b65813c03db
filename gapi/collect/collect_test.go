package collect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
	"github.com/reactivegraph/mgmt/traits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// thing is a kind that may be collected, and does not lend its command.
type thing struct {
	engine.Res
	traits.Base
	Text string `yaml:"text" mgmt:"lend" doc:"A text."`
	Cmd  string `yaml:"cmd" doc:"A command."`
}

func (x *thing) Default() engine.Res { return &thing{} }
func (x *thing) Collects() bool      { return true }
func (x *thing) String() string      { return x.Base.String() }
func (x *thing) Kind() string        { return x.Base.Kind() }
func (x *thing) SetKind(s string)    { x.Base.SetKind(s) }
func (x *thing) Name() string        { return x.Base.Name() }
func (x *thing) SetName(s string)    { x.Base.SetName(s) }

func (x *thing) MetaParams() *engine.MetaParams     { return x.Base.MetaParams() }
func (x *thing) SetMetaParams(m *engine.MetaParams) { x.Base.SetMetaParams(m) }

func options(t *testing.T, accept ...string) collect.Options {
	reg := engine.NewRegistry()
	if err := reg.Register("thing", func() engine.Res { return &thing{} }); err != nil {
		t.Fatal(err)
	}
	if accept == nil {
		accept = []string{"thing"}
	}
	rules, err := lend.Parse(accept)
	if err != nil {
		t.Fatal(err)
	}
	return collect.Options{Host: "me", Registry: reg, Accept: rules}
}

func export(from, name, value string) hosts.Export {
	return hosts.Export{Topic: "all", From: from, Kind: "thing", Name: name, Record: hosts.Record{Value: json.RawMessage(value)}}
}

// TestDeclare: exports become declarations in one order, whatever the order they come in, with the values of the wish.
func TestDeclare(t *testing.T) {
	set := &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: "text", Value: &schema.Node{Kind: schema.NodeString, Text: "set"}}}}
	wishes := []gapi.CollectDecl{{Kind: "thing", Name: "s*", Set: set}, {Kind: "thing", From: "h*"}}
	exports := []hosts.Export{
		export("h2", "a", `{"text":"2"}`), export("h1", "a", `{"text":"1"}`), export("h1", "s", `{"text":"1"}`), export("me", "mine", `{}`),
		export("x", "not wanted", `{}`), export("h1", "runs", `{"cmd":"x"}`), export("h1", "taken", `{}`), export("h1", "list", `[]`), export("h1", "bad", `{`),
	}
	for range 2 {
		found, notes := collect.Declare(options(t), wishes, exports, func(id string) bool { return id == "thing[taken]" })
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s %s %s", f.ID, f.From, f.Value.Get("text").Text))
		}
		if want := "[thing[a] h1 1 thing[s] h1 set]"; fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
		for _, want := range []string{
			"thing[a] of the host h2 is left out: the host h1 exports it, too", "thing[bad] of the host h1 is left out: its record can't be read",
			"thing[list] of the host h1 is left out: its record is no map", "thing[runs] of the host h1 is left out: it gives cmd, which the kind does not lend",
			"thing[taken] of the host h1 is left out: this host declares it itself",
		} {
			if !slices.ContainsFunc(notes, func(d schema.Diagnostic) bool { return strings.HasPrefix(d.Message, want) }) {
				t.Errorf("%q is not in %v", want, notes)
			}
		}
		if len(notes) != 5 {
			t.Errorf("%d notes: %v", len(notes), notes)
		}
		slices.Reverse(exports)
	}
}

// TestAccept: the rules decide alone.
func TestAccept(t *testing.T) {
	wishes, exports := []gapi.CollectDecl{{Kind: "thing"}}, []hosts.Export{export("h", "runs", `{"cmd":"x"}`)}
	none := func(string) bool { return false }
	if found, _ := collect.Declare(options(t, "thing.cmd"), wishes, exports, none); len(found) != 1 {
		t.Error("an accepted kind is left out")
	}
	if found, notes := collect.Declare(options(t, "other"), wishes, exports, none); len(found) != 0 || !strings.Contains(notes.Error(), "takes over the kinds other") {
		t.Errorf("%v, %v", found, notes)
	}
}

// TestRoundTrip: the parameters and metaparameters of a resource arrive as they were, under every topic and any name.
func TestRoundTrip(t *testing.T) {
	x := &thing{Text: "ü\n\"%"}
	x.SetKind("thing")
	x.SetName("a/b[c] %2F")
	m := new(engine.MetaParams)
	m.Export, m.Hidden, m.Retry, m.Sema, m.Poll = []string{"*", "web1", "group:db"}, true, engine.RetryNever, []string{"local"}, 60e9
	x.SetMetaParams(m)
	keys, err := hosts.ExportKeys("me/2", x)
	if err != nil || len(keys) != 3 {
		t.Fatal(keys, err)
	}
	for key, value := range keys {
		e, err := hosts.ReadExport(key, value)
		if err != nil {
			t.Fatal(err)
		}
		found, notes := collect.Declare(options(t), []gapi.CollectDecl{{Kind: "thing"}}, []hosts.Export{e}, func(string) bool { return false })
		if len(found) != 1 || len(notes) > 0 || found[0].Name != x.Name() || found[0].From != "me/2" {
			t.Fatal(found, notes)
		}
		got, meta := &thing{}, new(engine.MetaParams)
		if ds := append(schema.Decode(found[0].Value, got), engine.DecodeMeta(found[0].Meta, meta)...); len(ds) > 0 {
			t.Error(ds)
		}
		if got.Text != x.Text || meta.Retry != engine.RetryNever || meta.Poll != m.Poll || meta.Hidden || len(meta.Export)+len(meta.Sema) > 0 {
			t.Errorf("%+v %+v", got, meta)
		}
	}
}

// TestFindingH3Told: a resource that comes without some of its metaparameters says which, and how they would count. The export itself is none.
func TestFindingH3Told(t *testing.T) {
	x := export("h", "a", `{"text":"x"}`)
	x.Meta = json.RawMessage(`{"export":["*"],"sema":["disk:1"],"retry":3}`)
	none := func(string) bool { return false }
	found, notes := collect.Declare(options(t), []gapi.CollectDecl{{Kind: "thing"}}, []hosts.Export{x}, none)
	if len(found) != 1 || len(notes) != 1 || !strings.Contains(notes[0].Message, "thing[a] of the host h comes without its metaparameters sema: ") {
		t.Errorf("%+v, %v", found, notes)
	}
	if _, notes := collect.Declare(options(t), []gapi.CollectDecl{{Kind: "thing", Fields: []string{"meta"}}}, []hosts.Export{x}, none); len(notes) != 0 {
		t.Errorf("with fields: [meta]: %v", notes)
	}
	x.Meta = json.RawMessage(`{"export":["*"],"noop":true}`)
	if _, notes := collect.Declare(options(t), []gapi.CollectDecl{{Kind: "thing"}}, []hosts.Export{x}, none); len(notes) != 0 {
		t.Errorf("nothing is lost, and it says %v", notes)
	}
}
