package machine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/daemon/single"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// lookJSON is a kind that can be looked at, in JSON.
type lookJSON struct {
	Kind string `json:"kind"`
	// Summary is the first sentence of the text about the kind.
	Summary string `json:"summary"`
	Show    bool   `json:"show"` // one of it, by its name
	List    bool   `json:"list"` // all that there are
}

// looks returns the kinds that can be shown or listed, in the order of their names. All others
// are left out. The error is that of a type that can't be read.
func looks(a *cli.App) ([]lookJSON, error) {
	list := []lookJSON{}
	for _, name := range a.Kinds().Kinds() {
		k, err := a.Kinds().Kind(name)
		if err != nil {
			return nil, err
		}
		if k.Abilities.Readable || k.Abilities.Listable {
			doc := cmp.Or(k.Doc, k.Type.Doc)
			list = append(list, lookJSON{Kind: name, Summary: cli.FirstSentence(doc), Show: k.Abilities.Readable, List: k.Abilities.Listable})
		}
	}
	return list, nil
}

// kinds lists the kinds that can be looked at.
// In JSON the list is an array, also if it is empty.
func (f *resourceFlags) kinds(a *cli.App) error {
	list, err := looks(a)
	if err != nil {
		return err
	}
	return f.output.Write(a.Out, list, func(w io.Writer) error { return kindsText(w, list) })
}

// kindsText writes a line for each kind, with what it can show.
func kindsText(w io.Writer, list []lookJSON) error {
	width := 0
	for _, k := range list {
		width = max(width, len(k.Kind))
	}
	for _, k := range list {
		how := "show"
		switch {
		case k.Show && k.List:
			how = "show, list"
		case k.List:
			how = "list"
		}
		if _, err := fmt.Fprintf(w, "%-*s  %-10s  %s\n", width, k.Kind, how, k.Summary); err != nil {
			return err
		}
	}
	return nil
}

// mostNames bounds the list that a shell shows. namesTime is how long a person waits for the tab
// key.
const (
	mostNames = 1000
	namesTime = 2 * time.Second
)

// CompleteResource offers kinds, then names, then parameters.
// It is called by the script of the shell on each press of the tab key, in a process of its own.
// An error has no place to be shown, so the list is then empty.
func completeResource(a *cli.App, cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) < 2 {
		return completeThing(a, cmd, args, word)
	}
	k, err := lookKind(a, args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	// Behind another mark the shell completes files by itself.
	if key, form, _ := cli.SplitArg(word); form == cli.FormText {
		return completeValue(k.Type.Field(key), key), cobra.ShellCompDirectiveNoFileComp
	} else if form != "" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var list []cobra.Completion
	for _, field := range k.Type.Fields {
		given := slices.ContainsFunc(args[2:], func(arg string) bool { key, _, _ := cli.SplitArg(arg); return key == field.Key })
		if given || field.Key == "name" || field.Role == schema.RoleReadOnly {
			continue
		}
		list = append(list, cobra.CompletionWithDesc(field.Key+markOf(field.Type), cli.FirstSentence(field.Doc)))
	}
	return list, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// markOf returns the mark between a parameter of a type and its value.
// So the completion teaches the form that the parameter needs.
func markOf(t *schema.Type) string {
	switch {
	case t.HoldsSecret():
		return cli.FormFile
	case t.Kind == schema.KindList, t.Kind == schema.KindMap, t.Kind == schema.KindStruct:
		return cli.FormJSON
	default:
		return cli.FormText
	}
}

// completeValue offers the values of a parameter that has few.
// The words have the key and its mark before them, since a shell replaces the whole word.
func completeValue(f *schema.Field, key string) []cobra.Completion {
	if f == nil {
		return nil
	}
	words := f.Type.Enum
	if f.Type.Kind == schema.KindBool {
		words = []string{"true", "false"}
	}
	list := make([]cobra.Completion, len(words))
	for i, w := range words {
		list[i] = key + cli.FormText + w
	}
	return list
}

// completeThing offers kinds that can be looked at, and then names: of things where
// they can be listed, else of files.
func completeThing(a *cli.App, cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		list, _ := looks(a)
		words := make([]cobra.Completion, len(list))
		for i, k := range list {
			words[i] = cobra.CompletionWithDesc(k.Kind, k.Summary)
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	k, err := lookKind(a, args[0])
	switch {
	case err != nil:
		return nil, cobra.ShellCompDirectiveNoFileComp
	// The names of such a kind are most often paths.
	case !k.Abilities.Listable:
		return nil, cobra.ShellCompDirectiveDefault
	}
	return namesLike(a, cmd, k, word, args[1:]), cobra.ShellCompDirectiveNoFileComp
}

// namesLike returns names of things that begin with a word.
// A backend or a target that the line names already is asked, so the verb will find the
// same names.
// It ends after namesTime, and then offers the names that have come by then.
func namesLike(a *cli.App, cmd *cobra.Command, k engine.Kind, word string, but []string) []cobra.Completion {
	ctx := cmd.Context()
	// cobra completes without a context where the caller of the program has set none.
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	// The inspector asks the machine as the verb does, and alters nothing. It has no log.
	l, err := single.Look(inputs.Options(a, nil))
	if err != nil {
		return nil
	}
	defer l.Close()
	var names []cobra.Completion
	backend, _ := cmd.Flags().GetString("backend")
	target, _ := cmd.Flags().GetString("target")
	for s, err := range l.List(ctx, inputs.AnyOf(k.Name, backend, target)) {
		if err == nil && strings.HasPrefix(s.Name, word) && !slices.Contains(but, s.Name) {
			names = append(names, s.Name)
		}
		if len(names) == mostNames {
			break
		}
	}
	return names
}
