package cli

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Choice is a flag that takes one of a few words.
type Choice struct {
	// Word is one of words at every time; the first is the default.
	Word  string
	words []string
	docs  []reflect.Type // see Forms
}

// Choose adds a flag that takes one of some words, the first of them by default.
func Choose(cmd *cobra.Command, c *Choice, name, short, usage string, words ...string) {
	// The default is set here, so that a verb reads it also where no flag was parsed, as in a test.
	*c = Choice{Word: words[0], words: words}
	cmd.Flags().VarP(c, name, short, usage+": "+OrList(words))
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

// Forms adds -o with the verb's own formats, the first of which is the default, and json and yaml.
// doc is a value of the document's Go type, or OneOf several, for its schema in docs/reference/documents.json. It is nil if the
// user decides the content, such as a value of a graph.
func Forms(cmd *cobra.Command, c *Choice, usage string, doc any, own ...string) {
	Choose(cmd, c, "output", "o", usage, append(own, "json", "yaml")...)
	switch doc := doc.(type) {
	case nil:
	case OneOf:
		for _, d := range doc {
			c.docs = append(c.docs, reflect.TypeOf(d))
		}
	default:
		c.docs = []reflect.Type{reflect.TypeOf(doc)}
	}
}

// OneOf are the documents of a verb that has several.
type OneOf []any

// Documents returns the types of the documents that a verb writes; nil for any.
func (c *Choice) Documents() []reflect.Type { return c.docs }

// Document reports whether the format is json or yaml; see Write.
func (c *Choice) Document() bool { return c.Word == "json" || c.Word == "yaml" }

// Write writes a document in the chosen format. It returns an error if Forms did not declare the type of doc.
func (c *Choice) Write(w io.Writer, doc any) error {
	if err := c.declared(doc); err != nil {
		return err
	}
	return render.WriteDocument(w, c.Word, doc)
}

// WriteItem writes one document of a sequence, like Write.
func (c *Choice) WriteItem(w io.Writer, doc any) error {
	if err := c.declared(doc); err != nil {
		return err
	}
	return render.WriteItem(w, c.Word, doc)
}

func (c *Choice) declared(doc any) error {
	t := reflect.TypeOf(doc)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if c.docs == nil || slices.Contains(c.docs, t) {
		return nil
	}
	return fmt.Errorf("this verb writes a document of the type %s, which it has not declared: that is a defect of mgmt", t)
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
