package providertest_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/providertest"
)

var definition = provider.Definition{
	Name: "note", Doc: "A note on the board.",
	Attributes: []provider.Attribute{
		{Name: "name", Type: `Pattern[/\A\w+\z/]`, Role: provider.Namevar, Doc: "What it is called."},
		{Name: "ensure", Type: "Enum[present, absent]", Default: "present", HasDefault: true, Doc: "Whether it is there."},
		{Name: "text", Type: "Optional[String]", Doc: "What it says."},
	},
}

// board keeps each note in a file of its name.
type board struct{ dir string }

func (b *board) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		files, err := filepath.Glob(filepath.Join(b.dir, "*"))
		if err != nil {
			yield(nil, err)
			return
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if !yield(provider.Record{"name": filepath.Base(f), "ensure": "present", "text": string(text)}, err) {
				return
			}
		}
	}
}

func (b *board) Set(ctx context.Context, rt *provider.Runtime, changes []provider.Change) error {
	for _, c := range changes {
		if err := b.set(c.Should); err != nil {
			rt.Log.Failed(c.Title, err.Error())
		}
	}
	return ctx.Err()
}

func (b *board) set(n provider.Record) error {
	path := filepath.Join(b.dir, n["name"].(string))
	if n["ensure"] == "absent" {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, _ := n["text"].(string)
	return os.WriteFile(path, []byte(text), 0o600)
}

func TestNotes(t *testing.T) {
	providertest.Run(t, providertest.Suite{
		Definition: definition,
		New: func(t *testing.T, dir string) func() provider.Provider {
			return func() provider.Provider { return &board{dir} }
		},
		Thing: func(string) providertest.Thing {
			return providertest.Thing{Title: "milk", Values: providertest.Values{"text": "two bottles"}}
		},
		Updates: map[string]providertest.Values{"less": {"text": "one bottle"}},
		Drifts: map[string]func(t *testing.T, dir string){
			"removed": func(t *testing.T, dir string) { os.Remove(dir + "/milk") },
		},
	})
}

// TestPage: the example of the documentation is this one.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/types-as-data.md")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "### Testing a provider\n")
	_, example, _ = strings.Cut(example, "```go\n")
	example, _, found := strings.Cut(example, "```\n")
	if !found || !strings.Contains(string(self), example) {
		t.Errorf("the page has another example:\n%s", example)
	}
}
