package lsp

import (
	"cmp"
	"maps"
	"slices"
)

// sorted returns the keys of a map in order, so that equal sessions send equal messages.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
