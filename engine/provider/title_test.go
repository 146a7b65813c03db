package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/provider"
)

func kindOf(t testing.TB, src string) *provider.Kind {
	t.Helper()
	n, err := jsonNode("", src)
	defMust(err)
	def, _, ds := provider.DecodeDefinition(n)
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	k, err := provider.New(*def, func() provider.Provider { return anyProvider{} })
	defMust(err)
	return k
}

// namevars makes a type of namevars, with name: type pairs, and patterns.
func namevars(t testing.TB, attrs map[string]string, patterns ...string) *provider.Kind {
	def := provider.Definition{Name: "rec", Doc: "x"}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		def.Attributes = append(def.Attributes, provider.Attribute{Name: name, Type: attrs[name], Doc: "x", Role: provider.Namevar})
	}
	for _, p := range patterns {
		def.TitlePatterns = append(def.TitlePatterns, provider.TitlePattern{Pattern: p})
	}
	k, err := provider.New(def, func() provider.Provider { return anyProvider{} })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestTitle(t *testing.T) {
	one := map[string]string{"id": "Pattern[/\\A[a-z\\x00\\n]+\\z/]"}
	two := map[string]string{"manager": "String[1]", "package": "String"}
	slash := []string{`^(?<package>.*[^/])/(?<manager>.*)$`, `^(?<package>[a-z]*)$`}
	port := map[string]string{"host": "String", "port": "Integer[1, 65535]"}
	for _, c := range []struct {
		attrs    map[string]string
		patterns []string
		title    string
		given    provider.Record
		want     string // the values of the name, or the error
	}{
		{one, nil, "x", nil, `["x"]`},
		{one, nil, "Label", provider.Record{"id": "x"}, `["x"]`},
		{one, nil, "X1", nil, "rec.id expects a match for Pattern[/\\A[a-z\\x00\\n]+\\z/], got 'X1'"},
		{one, nil, "x", provider.Record{"id": nil}, `["x"]`},
		{one, nil, "a\x00b", nil, "rec.id holds a zero byte, which no name can"},
		{one, nil, "l", provider.Record{"id": "a\x00b"}, "rec.id holds a zero byte, which no name can"},
		{one, []string{`^id-(?<id>.*)$`}, "id-x", nil, `["x"]`},
		{one, []string{`^id-(?<id>.*)$`}, "x", nil, `rec.id is missing: the title "x" matches none of the title patterns`},
		{one, []string{`^id-(?<id>.*)$`}, "x", provider.Record{"id": "y"}, `["y"]`},
		{two, slash, "php/yum", nil, `["yum" "php"]`},
		{two, slash, "a/b/c", nil, `["c" "a/b"]`},
		{two, slash, "php/yum", provider.Record{"manager": "gem"}, `["gem" "php"]`},
		{two, slash, "php", provider.Record{"manager": "yum"}, `["yum" "php"]`},
		{two, slash, "php", nil, `rec.manager is missing: the title "php" does not give it`},
		{two, slash, "PHP", nil, "rec.manager is missing: the title \"PHP\" matches none of the title patterns\nrec.package is missing: the title \"PHP\" matches none of the title patterns"},
		{two, slash, "php/", nil, "rec.manager expects a String[1] value, got String"},
		{two, nil, "x", provider.Record{"manager": "yum", "package": "php"}, `["yum" "php"]`},
		{two, nil, "x", provider.Record{"manager": "yum"}, `rec.package is missing: the title "x" does not give it`},
		{port, []string{`^(?<host>.*):(?<port>\d+)$`, `^(?<host>.*)$`}, "a:080", nil, "rec.port expects an Integer value, got String"},
		{port, []string{`^(?<host>.*):(?<port>\d+)$`, `^(?<host>.*)$`}, "a:80", nil, `["a" "80"]`},
		{port, []string{`^(?<host>.*):(?<port>\d+)$`, `^(?<host>.*)$`}, "a", provider.Record{"port": int64(80)}, `["a" "80"]`},
		{port, []string{`^(?<host>.*?)(:(?<port>\d+))?$`}, "a", nil, `rec.port is missing: the title "a" does not give it`},
	} {
		name, _, err := namevars(t, c.attrs, c.patterns...).ParseTitle(c.title, c.given)
		got := fmt.Sprintf("%q", name.Values())
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q of %v with %v:\n got %s\nwant %s", c.title, c.attrs, c.given, got, c.want)
		}
	}
	_, rec, err := namevars(t, port, `^(?<host>.*):(?<port>\d+)$`).ParseTitle("a:80", nil)
	if err != nil || rec["port"] != int64(80) {
		t.Errorf("%#v, %v", rec, err)
	}
}

// TestFindingE3WholeTitle: without patterns the whole title is the first namevar, also of
// several.
func TestFindingE3WholeTitle(t *testing.T) {
	two := namevars(t, map[string]string{"manager": "String[1]", "package": "String"})
	for _, c := range []struct {
		title string
		given provider.Record
		want  string
	}{
		{"yum", provider.Record{"package": "php"}, `["yum" "php"]`},
		{"a b/c", provider.Record{"package": "php"}, `["a b/c" "php"]`},
		{"x", provider.Record{"manager": "gem", "package": "php"}, `["gem" "php"]`},
		{"yum", nil, `rec.package is missing: the title "yum" does not give it`},
	} {
		name, _, err := two.ParseTitle(c.title, c.given)
		got := fmt.Sprintf("%q", name.Values())
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q with %v: %s, want %s", c.title, c.given, got, c.want)
		}
	}
}

// TestTitleLaws holds that two titles of a composite name are one name only if all
// parts are the same, whatever they are made of.
func TestTitleLaws(t *testing.T) {
	k := namevars(t, map[string]string{"a": "String", "b": "String"})
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a/\\ x]{0,4}`)
		a, b := part.Draw(t, "a"), part.Draw(t, "b")
		c, d := part.Draw(t, "c"), part.Draw(t, "d")
		n1, _, err1 := k.ParseTitle("t", provider.Record{"a": a, "b": b})
		n2, _, err2 := k.ParseTitle("u", provider.Record{"a": c, "b": d})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if (n1 == n2) != (a == c && b == d) {
			t.Fatalf("%q/%q and %q/%q", a, b, c, d)
		}
		if got := n1.Values(); !slices.Equal(got, []string{a, b}) {
			t.Fatalf("%q", got)
		}
	})
}

// titleVector is a run of Puppet with title patterns; of it, what set was called with.
type titleVector struct {
	ID        string
	Type      json.RawMessage
	Resources []struct {
		Title      string
		Attributes map[string]any
	}
	Expect struct {
		Calls []struct {
			Call    string
			Changes []struct{ Name any } // a map where there are several namevars
		}
	}
}

// TestTitleVectors holds that titles stand for the namevars that Puppet gave to set.
func TestTitleVectors(t *testing.T) {
	folder, others := os.LookupEnv("VECTORS")
	if !others {
		folder = "testdata"
	}
	data, err := os.ReadFile(filepath.Join(folder, "puppet", "lifecycle_title_patterns.json"))
	defMust(err)
	var file struct{ Vectors []titleVector }
	defMust(json.Unmarshal(data, &file))
	ran := 0
	for _, v := range file.Vectors {
		for _, call := range v.Expect.Calls {
			for _, change := range call.Changes {
				ran++
				titleCase(t, v, change.Name)
			}
		}
	}
	if ran == 0 {
		t.Fatal("no case was run")
	}
}

// titleCase holds that one of the resources has the name; what Puppet leaves out of it
// is missing here.
func titleCase(t *testing.T, v titleVector, want any) {
	k := kindOf(t, strings.TrimSuffix(strings.TrimSpace(string(v.Type)), "}")+`, "docs": "x", "provider": "go"}`)
	parts, composite := want.(map[string]any)
	var got []any
	for _, r := range v.Resources {
		name, rec, err := k.ParseTitle(r.Title, provider.Record(r.Attributes))
		switch {
		case err != nil && strings.Contains(err.Error(), " is missing: "): // in DefinitionDeviations
			got = append(got, "missing")
		case err != nil:
			t.Errorf("%s: %v", v.ID, err)
		case !composite:
			got = append(got, name.Values()[0])
		default:
			has := map[string]any{}
			for part := range parts {
				has[part] = rec[part]
			}
			got = append(got, has)
		}
	}
	if composite && slices.Contains(slices.Collect(maps.Values(parts)), nil) {
		want = "missing"
	}
	if !slices.ContainsFunc(got, func(one any) bool { return fmt.Sprint(one) == fmt.Sprint(want) }) {
		t.Errorf("%s: the names are %v, Puppet has %v", v.ID, got, want)
	}
}
