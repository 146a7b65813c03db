package cli

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestOutput: a verb hands over its document and its text once, and the chosen form alone decides what is written.
func TestOutput(t *testing.T) {
	type doc struct {
		A int `json:"a"`
	}
	text := func(w io.Writer) error { _, err := io.WriteString(w, "text\n"); return err }
	for form, want := range map[string][4]string{
		"text": {"text\n", "text\n", "text\n", ""},
		"json": {"{\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n", "{\"a\":1}\n", "[\n  {\n    \"a\": 1\n  },\n  {\n    \"a\": 2\n  }\n]\n"},
		"yaml": {"a: 1\n", "---\na: 1\n", "---\na: 1\n", "-\n  a: 1\n-\n  a: 2\n"},
	} {
		var o Output
		Forms(&cobra.Command{}, &o, "", doc{}, "text")
		if err := o.Set(form); err != nil {
			t.Fatal(err)
		}
		for i, write := range []func(io.Writer, any, func(io.Writer) error) error{o.Write, o.Again, o.Item} {
			var b strings.Builder
			if err := write(&b, &doc{1}, text); err != nil || b.String() != want[i] {
				t.Errorf("%s, %d: %q, %v", form, i, b.String(), err)
			}
			if err := write(io.Discard, 1, text); o.Document() && err == nil {
				t.Errorf("%s, %d: a document of another type is written", form, i)
			}
		}
		if !o.Document() {
			continue
		}
		var b, empty, lines strings.Builder
		l, _ := o.List(&b, false)
		none, _ := o.List(&empty, true)
		short, _ := o.List(&lines, true)
		err := errors.Join(l.Add(doc{1}), l.Add(doc{2}), l.Close(), none.Close(), short.Add(doc{1}), short.Add(doc{2}), short.Close())
		if err != nil || b.String() != want[3] || strings.TrimSpace(empty.String()) != "[]" || form == "json" && lines.String() != "[{\"a\":1},\n{\"a\":2}]\n" {
			t.Errorf("%s: %q, %q, %q, %v", form, b.String(), empty.String(), lines.String(), err)
		}
	}
}
