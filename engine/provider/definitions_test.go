package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// definitionVector is a definition and what Puppet's library said of it.
type definitionVector struct {
	Desc       string          `json:"desc"`
	Definition json.RawMessage `json:"definition"`
	OK         bool            `json:"ok"`
	Message    string          `json:"message"`
	Logs       []struct{ Level, Message string }
}

var (
	puppetUndocumented = regexp.MustCompile("^`(.*)` has no documentation")
	ourUndocumented    = regexp.MustCompile("^(.*) has no documentation")
)

// puppet says what Puppet did, in the words of ourDefinition.
func (v definitionVector) puppet() string {
	if !v.OK {
		return "refused"
	}
	var out strings.Builder
	out.WriteString("accepted")
	for _, l := range v.Logs {
		if m := puppetUndocumented.FindStringSubmatch(l.Message); m != nil {
			out.WriteString(", undocumented: " + m[1])
		} else {
			out.WriteString(", " + l.Message)
		}
	}
	return out.String()
}

// ourDefinition says what we do, and in which words.
func ourDefinition(r *engine.Registry, v definitionVector) (outcome, words string) {
	n, err := jsonNode("", string(v.Definition))
	defMust(err)
	if n.Kind == schema.NodeMap { // Puppet gets the provider elsewhere
		n.Pairs = append(n.Pairs, schema.Pair{Key: "provider", Value: &schema.Node{Kind: schema.NodeString, Text: "go"}})
	}
	def, _, ds := provider.DecodeDefinition(n)
	if err := ds.Err(); err != nil {
		return "refused", err.Error()
	}
	kind, err := provider.New(*def, func() provider.Provider { return anyProvider{} })
	if err == nil {
		err = r.Register(kind.Name(), kind.New)
	}
	if err != nil {
		return "refused", err.Error()
	}
	outcome = "accepted"
	for _, d := range ds {
		m := ourUndocumented.FindStringSubmatch(d.Message)
		if m == nil {
			m = []string{"", d.Message}
		}
		outcome += ", undocumented: " + m[1]
	}
	return outcome, ds.Error()
}

// anyProvider can do everything, and does nothing.
type anyProvider struct{}

func (anyProvider) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	return func(func(provider.Record, error) bool) {}
}
func (anyProvider) Set(context.Context, *provider.Runtime, []provider.Change) error { return nil }
func (anyProvider) Canonicalize(_ context.Context, _ *provider.Runtime, r []provider.Record) ([]provider.Record, error) {
	return r, nil
}
func (anyProvider) Find(context.Context, *provider.Runtime, provider.Name) (provider.Record, bool, error) {
	return nil, false, nil
}
func (anyProvider) Refresh(context.Context, *provider.Runtime, []provider.Change) error { return nil }
func (anyProvider) InSync(context.Context, *provider.Runtime, provider.Name, string, provider.Record, provider.Record) (provider.Answer, string, error) {
	return provider.Default, "", nil
}

// TestDefinitionVectors runs every definition seen on Puppet: it matches, or deviates
// for a reason that DefinitionDeviations states. VECTORS names a folder that holds
// puppet/ with other cases of the same form.
func TestDefinitionVectors(t *testing.T) {
	folder, others := os.LookupEnv("VECTORS")
	if !others {
		folder = "testdata"
	}
	rules := puppettype.DefinitionDeviations()
	used := make([]int, len(rules))
	listing := runDefinitions(t, filepath.Join(folder, "puppet", "definitions.json"), rules, used)
	if others || t.Failed() {
		return
	}
	for i, r := range rules {
		if r.File == "definitions" && (used[i] == 0) != r.Unseen {
			t.Errorf("%d cases deviate by %+v", used[i], r)
		}
	}
	compareGolden(t, "testdata/definitions.txt", listing)
}

// TestMoreDefinitions runs what was seen on Puppet 7.23 beyond these; each rule is there
// for some of them.
func TestMoreDefinitions(t *testing.T) {
	rules := puppettype.DefinitionDeviations()
	used := make([]int, len(rules))
	runDefinitions(t, "testdata/more/definitions.json", rules, used)
	for i, r := range rules {
		if r.File == "definitions" && used[i] == 0 {
			t.Errorf("no case deviates by %+v", r)
		}
	}
}

// runDefinitions runs a file of cases, counts which rules deviate, and tells of all.
func runDefinitions(t *testing.T, path string, rules []puppettype.Deviation, used []int) string {
	t.Helper()
	vectors, err := readDefinitionVectors(path)
	defMust(err)
	registry := engine.NewRegistry()
	var listing strings.Builder
	match := 0
	for _, v := range vectors {
		puppet := v.puppet()
		ours, words := ourDefinition(registry, v)
		verdict := "match"
		if ours == puppet {
			match++
		} else {
			rule := definitionRule(rules, v.Definition, puppet, ours+" "+words)
			if rule < 0 {
				t.Errorf("%s\n puppet: %s %s\n   ours: %s %s", v.Desc, puppet, v.Message, ours, words)
				continue
			}
			used[rule]++
			verdict = "deviate: " + rules[rule].Reason
		}
		fmt.Fprintf(&listing, "%s: %s\n\tpuppet: %s %s\n\tours:   %s %s\n", v.Desc, verdict, puppet, v.Message, ours, words)
	}
	t.Logf("definitions: %d match, %d deviate", match, len(vectors)-match)
	return listing.String()
}

func definitionRule(rules []puppettype.Deviation, definition json.RawMessage, puppet, ours string) int {
	var def bytes.Buffer
	defMust(json.Compact(&def, definition))
	return slices.IndexFunc(rules, func(r puppettype.Deviation) bool {
		return r.File == "definitions" && regexp.MustCompile(r.Case).MatchString(def.String()) &&
			regexp.MustCompile(r.Puppet).MatchString(puppet) && regexp.MustCompile(r.Ours).MatchString(ours)
	})
}

// readDefinitionVectors reads a file of cases; one that is missing or empty is an error.
func readDefinitionVectors(path string) ([]definitionVector, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Count   int
		Vectors []definitionVector
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(file.Vectors) == 0 || file.Count > 0 && file.Count != len(file.Vectors) {
		return nil, fmt.Errorf("%s: holds %d cases and says %d", path, len(file.Vectors), file.Count)
	}
	return file.Vectors, nil
}

// TestDefinitionVectorsMustBeThere holds that nothing passes for want of cases.
func TestDefinitionVectorsMustBeThere(t *testing.T) {
	for _, text := range []string{`{"count": 0, "vectors": []}`, `{"count": 2, "vectors": [{}]}`, `{`} {
		path := filepath.Join(t.TempDir(), "v.json")
		defMust(os.WriteFile(path, []byte(text), 0o600))
		if _, err := readDefinitionVectors(path); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	if _, err := readDefinitionVectors(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing file is no error")
	}
}

// compareGolden compares with a file; UPDATE=1 writes it.
func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		defMust(os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	defMust(err)
	if string(want) != got {
		t.Errorf("%s is not what comes out now; look at the difference and run with UPDATE=1\n%s", path, got)
	}
}

func defMust(err error) {
	if err != nil {
		panic(err)
	}
}

// TestDeviationsAreInTheDocs holds that the page says where types as data depart from
// Puppet.
func TestDeviationsAreInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/types-as-data.md")
	defMust(err)
	for _, d := range append(puppettype.DefinitionDeviations(), puppettype.Deviations()...) {
		if !strings.Contains(string(page), "- "+d.Reason+"\n") {
			t.Errorf("docs/types-as-data.md does not say: %s", d.Reason)
		}
	}
}
