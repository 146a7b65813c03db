package virtual

import (
	"cmp"
	"slices"
	"strings"
)

// SpreadOf says how a function is spread over backends, whatever their interface
// is: an interface should begin with the functions that all have.
type SpreadOf struct {
	Function   string
	Backends   []string // that have it, sorted
	Signatures []string // the different ones, sorted
}

// Spread returns it for each function that any of the backends has, by name.
func Spread(backends []*Backend) []SpreadOf {
	var all []SpreadOf
	for _, b := range backends {
		for _, f := range b.Functions {
			if strings.HasPrefix(f.Name, "_") {
				continue
			}
			at, there := slices.BinarySearchFunc(all, f.Name, func(s SpreadOf, name string) int { return cmp.Compare(s.Function, name) })
			if !there {
				all = slices.Insert(all, at, SpreadOf{Function: f.Name})
			}
			all[at].Backends = insert(all[at].Backends, b.Name)
			all[at].Signatures = insert(all[at].Signatures, f.Signature())
		}
	}
	return all
}

// insert adds a word to sorted ones, once.
func insert(words []string, word string) []string {
	at, there := slices.BinarySearch(words, word)
	if there {
		return words
	}
	return slices.Insert(words, at, word)
}
