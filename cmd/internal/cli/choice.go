package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Choice is a flag that takes one of a few words.
type Choice struct {
	// Word is one of words at every time; the first is the default.
	Word  string
	words []string
}

// Choose adds a flag that takes one of some words, the first of them by default.
func Choose(cmd *cobra.Command, c *Choice, name, short, usage string, words ...string) {
	choose(cmd, c, c, name, short, usage, words)
}

func choose(cmd *cobra.Command, flag pflag.Value, c *Choice, name, short, usage string, words []string) {
	// The default is set here, so that a verb reads it also where no flag was parsed, as in a test.
	*c = Choice{Word: words[0], words: words}
	cmd.Flags().VarP(flag, name, short, usage+": "+OrList(words))
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// String implements pflag.Value.
func (c *Choice) String() string { return c.Word }

// Type is the word that help would show; the usage lists the words themselves.
func (c *Choice) Type() string { return "word" }

// Set implements pflag.Value.
func (c *Choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("write %s%s", OrList(c.words), Meant(word, c.words))
	}
	c.Word = word
	return nil
}

// OrList joins words as in "a, b or c".
func OrList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Meant returns a "did you mean" hint with the word of similar spelling, else the first that begins with word, or "".
func Meant(word string, words []string) string {
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

// A key press in the shell waits for CompletionWait. The waits of requests are cut into OneWait,
// so that a daemon that has gone is noticed. Between two questions of a wait there is RetryEvery,
// and between two of --watch there is WatchEvery.
const (
	// A key press in the shell waits for CompletionWait. The waits of requests are cut
	// into OneWait, so that a daemon that has gone is noticed.
	CompletionWait = 300 * time.Millisecond
	RetryEvery     = 50 * time.Millisecond // while there is no daemon yet
	WatchEvery     = time.Second
	OneWait        = 30 * time.Second // of one request that waits
)
