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
	sel, _ := selection.Parse(word)
	if id, one := sel.ID(); one {
		return []string{id}, 0, nil
	}
	list, err := who.Choose(ctx, word, mostSelected)
	switch {
	case err == nil && list.One:
		return []string{word}, 0, nil
	case err == nil:
		return list.Resources, list.All - len(list.Resources), nil
	}
	// The history may know a resource of that very name.
	if _, e := who.Why(ctx, word, 1); e == nil {
		return []string{word}, 0, nil
	}
	return nil, 0, err
}
