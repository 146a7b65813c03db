package transcript

import (
	"slices"
	"strings"
	"testing"
)

// TestReplay: comments stay, each command is obeyed once with its lines, and its old answer does not count. So a wrong, a missing and a left
// answer all show.
func TestReplay(t *testing.T) {
	const good = "# a story\n\n# one\nadd a\n  with b\n----\n2\n\nshow\n----\n2 lines\nof text\n"
	for name, text := range map[string]string{
		"as it is":              good,
		"a wrong answer":        strings.Replace(good, "\n2\n", "\n3\n", 1),
		"no answer":             strings.Replace(good, "----\n2\n", "", 1),
		"an answer too much":    good + "more\n",
		"space at the end":      good + "\n",
		"space before the text": "\n\n" + good,
	} {
		var asked []string
		got, commands := replay(text, func(input []string) string {
			asked = append(asked, strings.Join(input, "|"))
			return map[string]string{"add a|  with b": "2\n", "show": "2 lines\nof text\n"}[strings.Join(input, "|")]
		})
		if got != good || commands != 2 || !slices.Equal(asked, []string{"add a|  with b", "show"}) {
			t.Errorf("%s: %d commands, %q, became\n%s", name, commands, asked, got)
		}
	}
	for _, text := range []string{"", "\n", "# all of it is a comment\n"} {
		if _, commands := replay(text, func([]string) string { t.Error("a comment is obeyed"); return "" }); commands != 0 {
			t.Errorf("%q has %d commands", text, commands)
		}
	}
}
