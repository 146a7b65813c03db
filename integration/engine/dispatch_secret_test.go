package engine_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/gapi/manifest"
)

// hushTypes are a type with a sensitive parameter, and one that dispatches to it.
const hushTypes = `
- name: hush_x
  docs: A thing with a password.
  attributes: 
    name: {type: String, docs: Its name., kind: namevar}
    a: {type: "Optional[String]", docs: Some text.}
    password: {type: "Optional[String]", sensitive: true, docs: How to get in., kind: parameter}
    deep: {type: "Optional[Hash[String, Sensitive[String]]]", docs: More of it., kind: parameter}
    open: {type: "Optional[String]", docs: Anything., kind: parameter}
  provider: x
- name: hush
  docs: One of one.
  attributes:
    name: {type: String, docs: Its name., kind: namevar}
    a: {type: "Optional[String]", docs: Some text.}
    provider: {type: "Enum[ex]", docs: Which., kind: parameter}
    options: {type: "Optional[Hash[String, %s]]", docs: More., kind: parameter}
  dispatch: {attribute: provider, to: {ex: hush_x}, options: options}
`

// wall is a provider with one thing.
type wall struct{}

func (wall) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) { yield(provider.Record{"name": "n", "a": "1"}, nil) }
}

func (wall) Set(context.Context, *provider.Runtime, []provider.Change) error { return nil }

// TestDispatchHidesOptions: what is in the options and is sensitive in the chosen type is
// shown as a secret when the resource is looked at; other options are shown.
func TestDispatchHidesOptions(t *testing.T) {
	const canary = "canary"
	deep := map[string]any{"deep": map[string]any{"k": canary}}
	for _, c := range []struct {
		of      string
		options map[string]any
	}{
		{"Any", map[string]any{"password": canary}},
		{"Any", map[string]any{"password": canary, "open": "x"}},
		{"Any", deep},
		{"Any", map[string]any{"open": "x"}},
		{"Sensitive[String]", map[string]any{"password": canary}},
	} {
		t.Run(fmt.Sprint(c.of, " ", c.options), func(t *testing.T) {
			hidden := len(c.options) > 1 || c.options["open"] == nil
			reg, ds := loadTypes(t, fmt.Sprintf(hushTypes, c.of), provider.Providers{"x": func() provider.Provider { return wall{} }})
			if len(ds) > 0 {
				t.Fatal(ds)
			}
			l := inspector(t, mgmt.Options{Registry: reg, State: mgmt.StateIn(t.TempDir())})
			for s, err := range l.Read(t.Context(), target("hush", "n", map[string]any{"provider": "ex", "options": c.options})) {
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Res.Validate(); err != nil { // a secret can be given back
					t.Error(err)
				}
				var b strings.Builder
				if err := manifest.Write(&b, s.Shown); err != nil {
					t.Fatal(err)
				}
				text := b.String()
				if strings.Contains(text, canary) || strings.Contains(text, "# options => (secret)") != hidden || strings.Contains(text, "'open' => 'x'") == hidden {
					t.Error(text)
				}
			}
		})
	}
}

// TestDispatchOptionsThatCannotHide: options that could show what is sensitive are refused.
func TestDispatchOptionsThatCannotHide(t *testing.T) {
	for _, of := range []string{"String", "Hash[String, String]", "Optional[String]"} {
		_, ds := loadTypes(t, fmt.Sprintf(hushTypes, of), provider.Providers{"x": func() provider.Provider { return wall{} }})
		if want := "could not be kept secret, and hush_x.password is sensitive"; ds.Err() == nil || !strings.Contains(ds.Error(), want) {
			t.Errorf("%s: %v, want %q", of, ds, want)
		}
	}
}
