package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReach(t *testing.T) {
	g := build(t, "abcdefg", "ab", "bc", "cd", "ae", "ed", "fg", "gf")
	for i, want := range []string{"bedc|", "cd|a", "d|ba", "|ceba", "d|a", "g|g", "f|f"} {
		got := letters(g, slices.Collect(g.Descendants(i))) + "|" + letters(g, slices.Collect(g.Ancestors(i)))
		down, up, _ := strings.Cut(got, "|")
		wantDown, wantUp, _ := strings.Cut(want, "|")
		if !sameLetters(down, wantDown) || !sameLetters(up, wantUp) {
			t.Errorf("%s has %s, want %s", g.ID(i), got, want)
		}
	}
}

func sameLetters(a, b string) bool {
	x, y := strings.Split(a, ""), strings.Split(b, "")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// The near ones come first.
func TestDescendantsByDistance(t *testing.T) {
	g := build(t, "abcde", "ac", "cb", "ad", "be")
	if got := letters(g, slices.Collect(g.Descendants(0))); got != "cdbe" {
		t.Errorf("the descendants of a come as %s", got)
	}
	if got := letters(g, slices.Collect(g.Ancestors(4))); got != "bca" {
		t.Errorf("the ancestors of e come as %s", got)
	}
}

func TestReduction(t *testing.T) {
	tests := map[string]string{
		"":                     "",
		"ab bc ac":             "ab bc",
		"ab bc cd ac ad bd":    "ab bc cd",
		"ab ac bd cd ad":       "ab ac bd cd",
		"cb ba ca":             "ba cb",
		"ab bc ac!":            "ab bc", // it says only what is needed to reach
		"ab ac ad ae bc cd de": "ab bc cd de",
		"ab bc ca":             "cycle: a -> b -> c -> a",
	}
	for edges, want := range tests {
		g := build(t, "abcde", strings.Fields(edges)...)
		var got []string
		reduced, err := g.Reduction()
		if err != nil {
			got = append(got, err.Error())
		} else {
			for e := range reduced {
				got = append(got, fmt.Sprint(g.ID(e.From), g.ID(e.To)))
			}
		}
		if text := strings.Join(got, " "); strings.ReplaceAll(text, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%q reduces to %q, want %q", edges, text, want)
		}
	}
}
