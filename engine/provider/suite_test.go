package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/providertest"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// leafSuite is the suite of a type whose things are files with one text, whoever
// provides them.
func leafSuite(features provider.Features) providertest.Suite {
	path := func(dir string) string { return filepath.Join(dir, "oak") }
	return providertest.Suite{
		Definition: provider.Definition{
			Name: "leaf", Doc: "A leaf.", Features: features,
			Attributes: []provider.Attribute{
				{Name: "ensure", Type: "Enum[present, absent]", Doc: "Whether.", Default: "present", HasDefault: true},
				{Name: "name", Type: "Pattern[/\\A[a-z]+\\z/]", Doc: "Its name.", Role: provider.Namevar},
				{Name: "text", Type: "Optional[String]", Doc: "Some text."},
				{Name: "seal", Type: "Optional[String]", Doc: "A secret.", Sensitive: true},
			},
		},
		Thing: func(string) providertest.Thing {
			return providertest.Thing{Title: "oak", Values: providertest.Values{"text": "green", "seal": schema.NewSecret("hush-hush")}}
		},
		Others: func(string) []providertest.Thing {
			return []providertest.Thing{{Title: "elm", Values: providertest.Values{"text": "red"}}, {Title: "ash", Values: nil}}
		},
		Updates: map[string]providertest.Values{"text": {"text": "brown"}, "seal": {"seal": schema.NewSecret("hush-again")}},
		Invalid: map[string]providertest.Values{"text": {"text": "bad"}, "name": {"name": "OAK"}},
		Drifts: map[string]func(*testing.T, string){
			"removed": func(t *testing.T, dir string) { must(t, os.Remove(path(dir))) },
			"altered": func(t *testing.T, dir string) { must(t, os.WriteFile(path(dir), []byte("grey\n"), 0o600)) },
		},
	}
}

// leaf is what is in the file of one.
type leaf struct{ text, seal string }

func readLeaf(path string) (leaf, error) {
	data, err := os.ReadFile(path)
	text, seal, _ := strings.Cut(string(data), "\n")
	return leaf{text, seal}, err
}

func (l leaf) write(path string) error {
	if l.text == "bad" {
		return errors.New("a leaf is never bad")
	}
	return os.WriteFile(path, []byte(l.text+"\n"+l.seal), 0o600)
}

func leaves(dir string) (map[string]leaf, error) {
	files, err := os.ReadDir(dir)
	all := map[string]leaf{}
	for _, f := range files {
		l, rerr := readLeaf(filepath.Join(dir, f.Name()))
		err = errors.Join(err, rerr)
		all[f.Name()] = l
	}
	return all, err
}

// TestExternalLaws: a provider of two commands keeps the laws.
func TestExternalLaws(t *testing.T) {
	for _, f := range []provider.Features{provider.NoopHandler, provider.SimpleGetFilter} {
		t.Run(f.String(), func(t *testing.T) {
			s := leafSuite(f)
			x := &provider.External{Get: []string{"/bin/leaf", "get"}, Set: []string{"/bin/leaf", "set"}}
			s.New = func(*testing.T, string) func() provider.Provider { return x.New }
			s.Commands = leafCommands
			providertest.Run(t, s)
		})
	}
}

// leafCommands are the commands of leaves below a folder.
func leafCommands(_ *testing.T, dir string) func(context.Context, engine.Command) (*engine.Result, error) {
	return func(_ context.Context, c engine.Command) (*engine.Result, error) {
		var out bytes.Buffer
		code := 0
		for line := range strings.Lines(string(c.Stdin)) {
			var err error
			if c.Argv[1] == "get" {
				err = writeLeaves(&out, dir)
			} else {
				err = setLeaf(&out, dir, line)
			}
			if err != nil {
				code = 1
			}
		}
		return &engine.Result{Stdout: out.Bytes(), ExitCode: code}, nil
	}
}

func writeLeaves(out *bytes.Buffer, dir string) error {
	all, err := leaves(dir)
	for name, l := range all {
		if err := json.NewEncoder(out).Encode(map[string]any{"ensure": "present", "name": name, "text": l.text, "seal": l.seal}); err != nil {
			return err
		}
	}
	return err
}

func setLeaf(out *bytes.Buffer, dir, line string) error {
	var order struct {
		Title, Name string
		Should      map[string]any
		Noop        bool
	}
	if err := json.Unmarshal([]byte(line), &order); err != nil {
		return err
	}
	err := func() error {
		path := filepath.Join(dir, order.Name)
		if order.Noop {
			return nil
		}
		if order.Should["ensure"] == "absent" {
			return os.RemoveAll(path)
		}
		l, _ := readLeaf(path)
		for key, to := range map[string]*string{"text": &l.text, "seal": &l.seal} {
			if v, ok := order.Should[key].(string); ok {
				*to = v
			}
		}
		return l.write(path)
	}()
	status := "processed"
	message := ""
	if err != nil {
		status, message = "failed", err.Error()
	}
	return json.NewEncoder(out).Encode(map[string]any{"title": order.Title, "status": status, "message": message})
}
