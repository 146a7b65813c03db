package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// choice is a flag that takes one of a few words.
type choice struct {
	// word is one of words at every time; the first is the default.
	word  string
	words []string
}

// choose adds a flag that takes one of some words, the first of them by default.
func choose(cmd *cobra.Command, c *choice, name, short, usage string, words ...string) {
	// The default is set here, so that a verb reads it also where no flag was parsed, as in a test.
	*c = choice{words[0], words}
	cmd.Flags().VarP(c, name, short, usage+": "+orList(words))
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// A choice is a value of a flag: one of a few words. Set refuses others and names the
// nearest.
func (c *choice) String() string { return c.word }

// Type is the word that help would show; the usage lists the words themselves.
func (c *choice) Type() string { return "word" }

// Set implements pflag.Value.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("write %s%s", orList(c.words), meant(word, c.words))
	}
	c.word = word
	return nil
}

// forms adds -o to a verb that shows something: the forms of its own, the first of them by default, and those of every document.
func forms(cmd *cobra.Command, c *choice, usage string, own ...string) {
	choose(cmd, c, "output", "o", usage, append(own, "json", "yaml")...)
}

// document reports whether a form is one for programs; see writeDocument.
func (c *choice) document() bool { return c.word == "json" || c.word == "yaml" }

// orList joins words as a sentence does.
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// meant asks whether one of some words was meant, or returns "": the word with a
// similar spelling, else the first that begins with it.
func meant(word string, words []string) string {
	// Nearest compares whole words, so the mere beginning of a long word is far from it.
	near := schema.Nearest(word, words)
	if near == "" && word != "" {
		for _, w := range slices.Sorted(slices.Values(words)) {
			if strings.HasPrefix(w, strings.ToLower(word)) {
				near = w
				break
			}
		}
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", near)
}
