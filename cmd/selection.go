package cmd

import (
	"context"

	"github.com/reactivegraph/mgmt/engine/selection"
)

// selectionHelp is the same in all verbs that take a selection.
const selectionHelp = `A selection is kind[name], a kind, module:NAME, label:KEY=VALUE or state:WORD. In
them * stands for any characters. With & between two both must fit, with a comma
one of them. Quote it: 'file[/etc/nginx/*] & state:failed'.`

// mostSelected is how many resources a verb shows one after the other.
const mostSelected = 20

// picked returns the resources that a verb shows one by one: the word itself where it is no pattern, else those that fit.
// more is how many are left out.
func picked(ctx context.Context, who answerer, word string) (names []string, more int, err error) {
	list, err := who.Choose(ctx, word, mostSelected)
	if err == nil && !list.One {
		return list.Resources, list.All - len(list.Resources), nil
	}
	// The history may know a resource of that very name, or of the one that it is written for.
	sel, _ := selection.Parse(word)
	id, _ := sel.ID()
	for _, name := range []string{word, id} {
		if _, e := who.Why(ctx, name, 1); name != "" && e == nil {
			return []string{name}, 0, nil
		}
	}
	return []string{word}, 0, err
}
