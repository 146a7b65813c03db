package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestBrokenDefinitions holds what is said of each broken definition, and where: all
// at once, nothing twice.
func TestBrokenDefinitions(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.json")
	defMust(err)
	if len(files) == 0 {
		t.Fatal("there are no broken definitions")
	}
	var listing strings.Builder
	for _, file := range files {
		src, err := os.ReadFile(file)
		defMust(err)
		n, err := jsonNode(filepath.Base(file), string(src))
		defMust(err)
		list := []*schema.Node{n}
		if n.Kind == schema.NodeList {
			list = n.Items
		}
		for _, n := range list {
			_, _, ds := provider.DecodeDefinition(n)
			if ds.Err() == nil {
				t.Errorf("%s: no error", n.Pos)
			}
			fmt.Fprintf(&listing, "%s\n\n", ds.Error())
		}
	}
	if strings.Contains(listing.String(), "hunter2") {
		t.Error("a sensitive default is shown")
	}
	compareGolden(t, "testdata/broken.txt", listing.String())
}

const aptKey = `{
  "name": "apt_key",
  "docs": "A key that apt trusts.",
  "attributes": [
    {"name": "ensure", "type": "Enum[present, absent]", "docs": "Whether it is there.", "default": "present"},
    {"name": "id", "type": "Variant[Pattern[/\\A(0x)?[0-9a-fA-F]{8}\\Z/], Pattern[/\\A(0x)?[0-9a-fA-F]{16}\\Z/]]", "docs": "x", "behaviour": "namevar"},
    {"name": "source", "type": "Optional[String]", "desc": "x", "behavior": "parameter"},
    {"name": "token", "type": "Optional[String]", "docs": "x", "kind": "init_only", "sensitive": true, "default": "s3cret"},
    {"name": "created", "type": "String", "docs": "x", "kind": "read_only"},
    {"name": "level", "type": "Optional[Timespan]", "docs": "x", "kind": "property", "default": "90"}
  ],
  "autorequires": {"file": "$source", "package": ["apt", "gpg"]},
  "autobefore": {"exec": "update"}, "autosubscribe": {"file": "/x"}, "autonotify": {"svc": "apt"},
  "features": ["canonicalize", "simple_get_filter", "supports_noop", "custom_insync", "refresh", "unverified"],
  "title_patterns": [{"pattern": "^(?<id>.*)$", "desc": "all of it"}],
  "poll": "2m",
  "get": ["/usr/bin/keys", "get"], "set": ["/usr/bin/keys", "set"], "env": {"LC_ALL": "C"}, "timeout": 30
}`

// TestDecodeDefinition holds what each key comes to.
func TestDecodeDefinition(t *testing.T) {
	n, err := jsonNode("t.json", aptKey)
	defMust(err)
	def, src, ds := provider.DecodeDefinition(n)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	if def.Pos != (schema.Pos{File: "t.json", Line: 1, Col: 1}) || def.Attributes[1].Pos != (schema.Pos{File: "t.json", Line: 6, Col: 5}) {
		t.Error(def.Pos, def.Attributes[1].Pos)
	}
	def.Pos, src.Pos = schema.Pos{}, schema.Pos{}
	for i := range def.Attributes {
		def.Attributes[i].Pos = schema.Pos{}
	}
	want := &provider.Definition{
		Name: "apt_key", Doc: "A key that apt trusts.",
		Attributes: []provider.Attribute{
			{Name: "ensure", Type: "Enum[present, absent]", Doc: "Whether it is there.", Default: "present", HasDefault: true},
			{Name: "id", Type: def.Attributes[1].Type, Doc: "x", Role: provider.Namevar},
			{Name: "source", Type: "Optional[String]", Doc: "x", Role: provider.Parameter},
			{Name: "token", Type: "Optional[String]", Doc: "x", Role: provider.InitOnly, Sensitive: true, HasDefault: true, Default: def.Attributes[3].Default},
			{Name: "created", Type: "String", Doc: "x", Role: provider.ReadOnly},
			{Name: "level", Type: "Optional[Timespan]", Doc: "x", Default: def.Attributes[5].Default, HasDefault: true},
		},
		Require:       []provider.Relation{{Kind: "file", Titles: []string{"$source"}}, {Kind: "package", Titles: []string{"apt", "gpg"}}},
		Before:        []provider.Relation{{Kind: "exec", Titles: []string{"update"}}},
		Subscribe:     []provider.Relation{{Kind: "file", Titles: []string{"/x"}}},
		Notify:        []provider.Relation{{Kind: "svc", Titles: []string{"apt"}}},
		Features:      provider.Canonicalize | provider.SimpleGetFilter | provider.NoopHandler | provider.CustomInSync | provider.Refreshable | provider.Unverified,
		TitlePatterns: []provider.TitlePattern{{Pattern: "^(?<id>.*)$", Doc: "all of it"}},
		Poll:          2 * time.Minute,
	}
	if !reflect.DeepEqual(def, want) {
		t.Errorf("%+v\nwant %+v", def, want)
	}
	if s, ok := def.Attributes[3].Default.(schema.Secret); !ok || s.Reveal() != "s3cret" {
		t.Errorf("%#v", def.Attributes[3].Default)
	}
	if d := def.Attributes[5].Default; d != 90*time.Second {
		t.Errorf("%#v", d)
	}
	wantSrc := &provider.Source{External: &provider.External{
		Get: []string{"/usr/bin/keys", "get"}, Set: []string{"/usr/bin/keys", "set"},
		Env: map[string]string{"LC_ALL": "C"}, Timeout: 30 * time.Second,
	}}
	if !reflect.DeepEqual(src, wantSrc) {
		t.Errorf("%+v", src)
	}
	if _, err := provider.New(*def, func() provider.Provider { return anyProvider{} }); err != nil {
		t.Error(err)
	}
}

// TestCheckWithoutFile holds that a definition in Go is checked as one in a file, with
// the places that it has.
func TestCheckWithoutFile(t *testing.T) {
	at := schema.Pos{File: "x.go", Line: 3, Col: 1}
	d := provider.Definition{Name: "go", Doc: "x", Attributes: []provider.Attribute{
		{Name: "id", Type: "Strin", Doc: "x", Role: provider.Namevar, Pos: at},
		{Name: "a", Type: "String", Doc: "x", Role: 9},
		{Name: "b", Type: "Integer", Doc: "x", Default: 5},
		{Name: "c", Type: "Integer", Doc: "x", Default: "5", HasDefault: true},
	}, Poll: time.Millisecond}
	got := d.Check().Error()
	for _, want := range []string{
		"x.go:3:1: go.id: the type `Strin` is not recognised", `did you mean "String"?`, "go.a has an unknown role (9)",
		"go.b has a default, but HasDefault is not set", "the default of go.c expects an Integer value, got String", "go: poll is 1ms",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if _, err := provider.New(d, func() provider.Provider { return anyProvider{} }); err == nil {
		t.Error("New takes it")
	}
}

// TestDefinitionBounds holds that what is large beyond sense is refused in no time.
func TestDefinitionBounds(t *testing.T) {
	d := provider.Definition{Name: "big", Doc: "x"}
	for i := range 1001 {
		d.Attributes = append(d.Attributes, provider.Attribute{Name: fmt.Sprintf("a%d", i), Type: "String", Doc: "x"})
	}
	if got := d.Check().Error(); got != "big has 1001 attributes, at most 1000 are allowed" {
		t.Error(got)
	}
	d.Attributes = []provider.Attribute{{Name: "id", Type: "String", Doc: "x", Role: provider.Namevar}}
	d.TitlePatterns = make([]provider.TitlePattern, 101)
	d.Require = []provider.Relation{{Kind: "file", Titles: make([]string, 1500)}}
	for i := range d.Require[0].Titles {
		d.Require[0].Titles[i] = "x"
	}
	if got := d.Check().Error(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "101 title patterns") || !strings.Contains(got, "more than 1000 titles") {
		t.Error(got)
	}
}
