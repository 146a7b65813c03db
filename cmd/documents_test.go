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
		if verb == "facts" || verb == "eval" { // whose documents are values
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
		"plan " + graph, "facts os kernel", "eval vars " + graph, "config", "resource", "data explain k " + graph,
	} {
		run := func(form string) string {
			var out, errs bytes.Buffer
			a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errs}
			if code := execute(t.Context(), a, append(strings.Fields(args), "-o", form)); code == cli.ExitUsage {
				t.Errorf("%s -o %s: %s", args, form, errs.String())
			}
			return out.String()
		}
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
		c, ok := f.Value.(*cli.Choice)
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
