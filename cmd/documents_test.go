package cmd

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// schemaOf returns what docs/reference says of the document of a call, nil where that is a value of the user.
func schemaOf(t *testing.T, args string) *jsonschema.Schema {
	t.Helper()
	cmd, _, err := newRoot(&cli.App{}, nil).Find(strings.Fields(args))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(referenceDir + "/documents.json")
	if err != nil {
		t.Fatal(err)
	}
	all, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("documents.json", all); err != nil {
		t.Fatal(err)
	}
	verb := strings.TrimPrefix(cmd.CommandPath(), "mgmt ")
	if all.(map[string]any)["properties"].(map[string]any)[verb] == nil {
		if verb == "eval" { // whose document is a value of the user
			return nil
		}
		t.Fatalf("%s has no schema", verb)
	}
	s, err := c.Compile("documents.json#/properties/" + url.PathEscape(verb))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDocuments: what a verb writes as YAML is what it writes as JSON, and has the schema of the reference.
func TestDocuments(t *testing.T) {
	dir := t.TempDir()
	graph := filepath.Join(dir, "g.yaml")
	for path, text := range map[string]string{
		graph:                        "data: {files: [d.yaml]}\nvars: {a: 'yes', b: '1.10', c: null}\nresources: {file: [{name: " + dir + "/x, content: \"a: b\\n- c\\n\"}], print: [{name: p, msg: 'no'}]}\n",
		filepath.Join(dir, "d.yaml"): "k: [1, {l: x}]\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{
		"version", "doc", "doc file", "doc exec", "interface list", "interface show pkg", "interface show pkg.install", "interface matrix svc",
		"plan " + graph, "facts", "facts --programs", "facts os kernel", "eval vars " + graph, "config", "resource", "data explain k " + graph,
		"interface check svc systemd", "interface generate svc --from systemd",
		"idl diff ../examples/providers/git/idl ../examples/providers/postgres/idl", "module list --lock " + filepath.Join(dir, "none.lock"),
	} {
		run := func(form string) string { return written(t, append(strings.Fields(args), "-o", form)...) }
		var want any
		text := run("json")
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Errorf("%s: %v: %s", args, err, text)
			continue
		}
		if s := schemaOf(t, args); s != nil {
			if err := s.Validate(want); err != nil {
				t.Errorf("%s: %v: %s", args, err, text)
			}
		}
		inYAML := run("yaml")
		if inYAML == text { // JSON is YAML, so that the values agree would say nothing
			t.Errorf("%s -o yaml writes JSON", args)
		}
		n, err := yaml.Value([]byte(inYAML))
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		var read, again any
		if ds := schema.Decode(n, &read); ds.Err() != nil {
			t.Errorf("%s: %v", args, ds)
			continue
		}
		got, err := json.Marshal(read)
		if err == nil {
			err = json.Unmarshal(got, &again)
		}
		if err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%s: %v\n%s\nin YAML\n%s", args, err, text, inYAML)
		}
	}
}

// written returns what a verb writes to standard output.
func written(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errs}
	if code := execute(t.Context(), a, args); code == cli.ExitUsage && out.Len() == 0 {
		t.Errorf("%s: %s", args, errs.String())
	}
	return out.String()
}

// TestDocumentsOfOneForm: what a verb writes as JSON alone, or in YAML as a graph, has the schema of the reference.
func TestDocumentsOfOneForm(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"g.yaml": "resources: {file: [{name: " + dir + "/x, content: a}, {name: " + dir + "/x/y, content: b}]}\n",
		"bad":    "resources: {file: [{name: " + dir + "/x, contend: a}, {name: z}]}\n",
		"c.yaml": "sockit: /x\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{
		"graph " + dir + "/g.yaml -o json", "graph " + dir + "/g.yaml --explain -o json", "validate " + dir + "/g.yaml --format json", "validate " + dir + "/bad --format json",
		"config --check " + dir + "/c.yaml --format json", "resource file " + dir + " -o json", "resource file " + dir + "/none -o json", "resource user -o json",
		"test ../examples/host_test.yaml -o json", // with times, which differ
	} {
		var doc any
		if err := json.Unmarshal([]byte(written(t, strings.Fields(args)...)), &doc); err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if err := schemaOf(t, args).Validate(doc); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestEveryDocumentHasBothForms: a verb that writes JSON writes YAML too, but for a drawing.
func TestEveryDocumentHasBothForms(t *testing.T) {
	n := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		f := cmd.Flags().Lookup("output")
		if f == nil {
			return
		}
		c, ok := f.Value.(*cli.Output)
		if !ok || c.Set("json") != nil || cmd.Name() == "graph" {
			return
		}
		if n++; c.Set("yaml") != nil {
			t.Errorf("%s writes no YAML", cmd.CommandPath())
		}
	}
	walk(newRoot(&cli.App{}, nil))
	if n < 20 {
		t.Errorf("%d verbs write documents", n)
	}
}
