package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// cliVector is a call of puppet resource and what it did.
type cliVector struct {
	ID       string          `json:"id"`
	Type     json.RawMessage `json:"type"`
	Provider struct {
		Instances []map[string]any `json:"instances"`
		Get, Set  string

		Canonicalize string `json:"canonicalize"`
	} `json:"provider"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Expect  struct {
		Exit   int       `json:"exit"`
		Stdout string    `json:"stdout"`
		Calls  []cliCall `json:"calls"`
	} `json:"expect"`
}

type cliCall struct {
	Call    string `json:"call"`
	Changes []struct {
		Should map[string]any `json:"should"`
	} `json:"changes"`
}

// cliDeviation is a sort of case in which this program does otherwise, on purpose; the
// page on this verb has them too.
type cliDeviation struct {
	reason string
	when   func(v cliVector, puppet, ours string) bool
}

func (v cliVector) has(arg string) bool { return slices.Contains(v.Args, arg) }

// cliDeviations are tried in order.
var cliDeviations = []cliDeviation{
	{"It is -o yaml, and what it writes is a graph.", func(v cliVector, _, _ string) bool { return v.has("--to_yaml") }},
	{"Without a kind, those are listed that there are.", func(v cliVector, _, _ string) bool { return len(v.Args) == 0 || v.has("--types") }},
	{"What fails is told by the exit code, without being asked.", func(v cliVector, _, _ string) bool { return v.has("--fail") }},
	{"All attributes are shown.", func(v cliVector, _, _ string) bool { return v.has("--param") || v.has("-p") }},
	{"a= is the empty text.", func(v cliVector, _, _ string) bool {
		return slices.ContainsFunc(v.Args, func(arg string) bool { return strings.HasSuffix(arg, "=") })
	}},
	{"What must be given is said before anything is looked at.", func(_ cliVector, puppet, ours string) bool {
		return puppet == "failed" && ours == "refused"
	}},
	{"A thing is shown under the name by which it was asked for.", func(v cliVector, _, _ string) bool {
		return v.Provider.Canonicalize != "" && len(v.Args) > 1
	}},
	{"Things are shown as they are found: with thousands of them, the first is seen at once.", func(v cliVector, puppet, ours string) bool {
		return len(v.Args) == 1 && sameLines(puppet, ours)
	}},
	{"Attributes have the order of the definition.", func(v cliVector, puppet, ours string) bool {
		return len(v.Args) > 1 && sameLines(puppet, ours)
	}},
	{"A secret is left out: what was shown of it could not be read again.", func(_ cliVector, puppet, _ string) bool {
		return strings.Contains(puppet, "[value redacted]")
	}},
	{"A parameter is not read, so it is not shown.", func(v cliVector, puppet, ours string) bool {
		return v.givesParameter() && strings.HasPrefix(puppet, "shown") && strings.HasPrefix(ours, "shown")
	}},
}

// sameLines reports whether two texts have the same lines in another order.
func sameLines(a, b string) bool {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// givesParameter reports whether an argument is for a parameter.
func (v cliVector) givesParameter() bool {
	var def struct {
		Attributes map[string]struct{ Kind, Behaviour string }
	}
	_ = json.Unmarshal(v.Type, &def)
	return slices.ContainsFunc(v.Args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		a := def.Attributes[name]
		return a.Kind == "parameter" || a.Behaviour == "parameter"
	})
}

// TestResourceVectors runs every case: what is shown, set and refused. Exit codes are
// our own; that a set fails is in the outcome. VECTORS names a folder that holds
// puppet/ with other cases of the same form.
func TestResourceVectors(t *testing.T) {
	folder, others := os.LookupEnv("VECTORS")
	if !others {
		folder = "testdata"
	}
	vectors, err := readCliVectors(filepath.Join(folder, "puppet", "lifecycle_cli.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !others {
		folder = "../engine/provider/testdata"
	}
	more, err := readCliVectors(filepath.Join(folder, "puppet", "lifecycle_canonicalize.json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, v := range append(vectors, more...) {
		if v.Command != "puppet resource" {
			continue // a run, which package integration tests
		}
		t.Run(v.ID, func(t *testing.T) {
			puppet, ours := v.puppet(), v.run(t)
			if puppet == ours {
				return
			}
			i := slices.IndexFunc(cliDeviations, func(d cliDeviation) bool { return d.when(v, puppet, ours) })
			if i < 0 {
				t.Fatalf("puppet:\n%s\nours:\n%s", puppet, ours)
			}
			used[cliDeviations[i].reason] = true
			t.Logf("deviates: %s", cliDeviations[i].reason)
		})
	}
	if len(used) > 7 && !others {
		t.Errorf("they deviate for %d reasons, 7 are known: %q", len(used), slices.Sorted(maps.Keys(used)))
	}
}

// TestResourceVectorsMustBeThere holds that nothing passes for want of cases.
func TestResourceVectorsMustBeThere(t *testing.T) {
	for _, text := range []string{`{"count": 0, "vectors": []}`, `{"count": 2, "vectors": [{}]}`, `{`} {
		path := filepath.Join(t.TempDir(), "v.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readCliVectors(path); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func readCliVectors(path string) ([]cliVector, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Count   int         `json:"count"`
		Vectors []cliVector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if len(file.Vectors) == 0 || file.Count != len(file.Vectors) {
		return nil, fmt.Errorf("%s: holds %d cases and says %d", path, len(file.Vectors), file.Count)
	}
	return file.Vectors, nil
}

var (
	manifestText = regexp.MustCompile(`(?ms)^\w+ \{ '.*`)
	lateBlanks   = regexp.MustCompile(`(?m) +$`)
)

// puppet says what Puppet did, in the words of run.
func (v cliVector) puppet() string {
	for _, c := range v.Expect.Calls {
		if c.Call == "set" {
			return "set " + setText(c.Changes[0].Should, v.Provider.Set == "raise")
		}
	}
	switch {
	case v.Expect.Exit == 0:
		return "shown\n" + lateBlanks.ReplaceAllString(manifestText.FindString(v.Expect.Stdout), "")
	case len(v.Expect.Calls) > 0:
		return "failed"
	default:
		return "refused"
	}
}

func setText(should map[string]any, fails bool) string {
	text, _ := json.Marshal(should)
	if fails {
		return string(text) + ", failed"
	}
	return string(text)
}

// run says what we do.
func (v cliVector) run(t *testing.T) string {
	t.Helper()
	r, reg := v.kind(t)
	code, out, errs := withKinds(t, reg, "", append([]string{"resource"}, v.Args...)...)
	t.Logf("code %d\n%s%s", code, out, errs)
	switch {
	case r.should != nil:
		return "set " + setText(r.should, code == cli.ExitFailed)
	case code == cli.ExitUsage:
		return "refused"
	case code == cli.ExitFailed:
		return "failed"
	default:
		return "shown\n" + out
	}
}

// kind returns the type with its provider.
func (v cliVector) kind(t *testing.T) (*recorder, *engine.Registry) {
	t.Helper()
	r := &recorder{fails: v.Provider.Set == "raise", dead: v.Provider.Get != "ok", things: map[string]provider.Record{}}
	k, err := provider.New(*definition(t, v.Type), func() provider.Provider {
		if v.Provider.Canonicalize != "" {
			return canonical{r, v.Provider.Canonicalize}
		}
		return r
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, is := range v.Provider.Instances {
		r.put(k.Definition(), is)
	}
	reg := engine.NewRegistry()
	if err := reg.Register(k.Name(), k.New); err != nil {
		t.Fatal(err)
	}
	return r, reg
}

// TestImportedTypesShowNoChange: planning a graph of what there is of a type that is
// data shows no change.
func TestImportedTypesShowNoChange(t *testing.T) {
	vectors, err := readCliVectors("testdata/puppet/lifecycle_cli.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if v.Provider.Get != "ok" {
			continue
		}
		_, reg := v.kind(t)
		code, graph, errs := withKinds(t, reg, "", "import", "rec")
		plan, err := mgmt.Plan(t.Context(), mgmt.Options{Registry: reg, Stdin: strings.NewReader(graph)}, yaml.New("-", yaml.Options{}))
		if err != nil || code != 0 || plan.Report.ExitCode() != 0 || len(plan.Steps) != len(v.Provider.Instances) {
			t.Errorf("%s: %d, %s, %+v, %v in\n%s", v.ID, code, errs, plan, err, graph)
		}
	}
}

// withKinds runs the program with other kinds.
func withKinds(t *testing.T, reg *engine.Registry, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	a := &cli.App{In: strings.NewReader(in), Out: &o, Err: &e, Exit: func(int) { panic("exit") }, Folders: kinds.Options{Kinds: reg}}
	code = execute(t.Context(), a, args)
	return code, o.String(), e.String()
}

// definition reads a definition with its attributes in order.
func definition(t *testing.T, text json.RawMessage) *provider.Definition {
	t.Helper()
	graph := fmt.Sprintf(`{"resources": {"x": [%s]}}`, text)
	env := gapi.Env{NoWatch: true, Stdin: strings.NewReader(graph)}
	for d, err := range yaml.New("-", yaml.Options{}).Graphs(t.Context(), env) {
		if err != nil || len(d.Resources) != 1 {
			t.Fatal(err)
		}
		n := *d.Resources[0].Value
		n.Pairs = append(slices.Clip(n.Pairs),
			schema.Pair{Key: "name", Value: &schema.Node{Kind: schema.NodeString, Text: d.Resources[0].Name}},
			schema.Pair{Key: "provider", Value: &schema.Node{Kind: schema.NodeString, Text: "go"}})
		def, _, ds := provider.DecodeDefinition(&n)
		if err := ds.Err(); err != nil {
			t.Fatal(err)
		}
		return def
	}
	t.Fatal("no definition")
	return nil
}

// recorder is a provider that keeps its things in memory.
type recorder struct {
	mu          sync.Mutex
	names       []string
	things      map[string]provider.Record
	should      map[string]any // of the last change
	fails, dead bool
}

func (r *recorder) put(d provider.Definition, is map[string]any) {
	rec := provider.Record{}
	if title, ok := is["title"]; ok {
		rec["title"] = title
	}
	var name []string
	for _, a := range d.Attributes {
		if v, ok := is[a.Name]; ok {
			rec[a.Name] = whole(v)
		}
		if a.Role == provider.Namevar {
			name = append(name, fmt.Sprint(is[a.Name]))
		}
	}
	key := provider.NameOf(name...).String()
	r.names = append(r.names, key)
	r.things[key] = rec
}

// whole makes numbers of JSON whole ones, and secrets of what is tagged as such.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		if v["$t"] == "sensitive" {
			return schema.NewSecret(fmt.Sprint(v["v"]))
		}
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}

func (r *recorder) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.dead {
			yield(nil, errors.New("get failed"))
			return
		}
		for _, name := range r.names {
			if rec, ok := r.things[name]; ok && !yield(rec.Clone(), nil) {
				return
			}
		}
	}
}

func (r *recorder) Set(_ context.Context, _ *provider.Runtime, changes []provider.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range changes {
		r.should = maps.Clone(c.Should)
		switch {
		case r.fails:
			return errors.New("set failed")
		case c.Should["ensure"] == "absent":
			delete(r.things, c.Name.String())
		default:
			rec := provider.Record{}
			maps.Copy(rec, r.things[c.Name.String()])
			maps.Copy(rec, c.Should)
			r.things[c.Name.String()] = rec
		}
	}
	return nil
}

// canonical is a provider that brings values into one form.
type canonical struct {
	provider.Provider
	how string
}

func (c canonical) Canonicalize(_ context.Context, _ *provider.Runtime, records []provider.Record) ([]provider.Record, error) {
	for _, r := range records {
		name, _ := r["name"].(string)
		mail, mailed := r["mail"].(string)
		switch {
		case c.how == "upcase_name":
			r["name"] = strings.ToUpper(name)
		case c.how == "downcase_mail" && mailed:
			r["mail"] = strings.ToLower(mail)
		}
	}
	return records, nil
}
