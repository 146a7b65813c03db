package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

// KindNamed returns all that is known of a kind.
// The case of the name does not matter. The error of an unknown name is *engine.UnknownKindError.
func KindNamed(a *App, name string) (derive.Kind, error) {
	k, err := a.Kinds().Kind(strings.ToLower(name))
	if err != nil {
		return derive.Kind{}, err
	}
	return derive.Kind{Name: k.Name, Doc: k.Doc, Type: k.Type, Sends: k.Abilities.Sends, Abilities: k.Abilities.Names()}, nil
}

// AllKinds returns every kind, sorted by name.
func AllKinds(a *App) ([]derive.Kind, error) {
	names := a.Kinds().Kinds()
	kinds := make([]derive.Kind, len(names))
	for i, name := range names {
		k, err := KindNamed(a, name)
		if err != nil {
			return nil, err
		}
		kinds[i] = k
	}
	return kinds, nil
}

// GraphSchema returns the JSON Schema of a graph file.
// It is the schema of this program with its kinds and folders, for editors and for mgmt schema.
func GraphSchema(a *App) ([]byte, error) {
	kinds, err := AllKinds(a)
	if err != nil {
		return nil, err
	}
	meta, err := MetaType()
	if err != nil {
		return nil, err
	}
	return derive.GraphSchema(kinds, meta)
}

// MetaType is the type of the metaparameters with all defaults written out, as the
// reference shows them.
func MetaType() (*schema.Type, error) {
	t, err := schema.Of(new(engine.MetaParams).Outright())
	if err != nil {
		return nil, fmt.Errorf("the metaparameters: %w", err)
	}
	return t, nil
}

// KindText returns the documentation of a kind, in Markdown.
// The text of the type counts where the kind itself has none.
func KindText(k derive.Kind) string {
	if k.Doc != "" || k.Type == nil {
		return k.Doc
	}
	return k.Type.Doc
}

// FirstSentence returns the first sentence of Markdown as plain text on one
// line.
// It ends at the first point with a blank behind it, so a point in a name such as mgmt.yaml ends
// nothing.
func FirstSentence(markdown string) string {
	text, _, _ := strings.Cut(strings.TrimSpace(markdown), "\n\n")
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "")
	for i := range text {
		if strings.HasPrefix(text[i:], ". ") {
			return text[:i+1]
		}
	}
	return text
}

// CompleteKind offers the kinds to the shell.
func (a *App) CompleteKind(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.Kinds().Kinds(), cobra.ShellCompDirectiveNoFileComp
}
