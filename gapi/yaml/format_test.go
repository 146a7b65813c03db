package yaml_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

func TestFormat(t *testing.T) {
	files, err := filepath.Glob("testdata/format/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Format(src)
			if err != nil {
				t.Fatal(err)
			}
			checkFormatted(t, src, got)
			file := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkFormatted checks what holds for everything that was formatted: it says the
// same, and formatting it again changes nothing.
func checkFormatted(t failer, src, out []byte) {
	t.Helper()
	again, err := yaml.Format(out)
	if err != nil || !bytes.Equal(again, out) {
		t.Fatalf("formatting again changes it, %v:\n%s\nto\n%s", err, out, again)
	}
	a, errA := yaml.Load("-", yaml.Options{}, bytes.NewReader(src))
	b, errB := yaml.Load("-", yaml.Options{}, bytes.NewReader(out))
	if (errA == nil) != (errB == nil) {
		t.Fatalf("%v became %v:\n%s\nto\n%s", errA, errB, src, out)
	}
	if diff := cmp.Diff(a, b, cmpopts.IgnoreTypes(schema.Pos{}), cmp.Comparer(saysTheSame)); diff != "" {
		t.Fatalf("it says something else: %s\n%s\nto\n%s", diff, src, out)
	}
}

// saysTheSame compares two nodes without their places. (cmp would take minutes for
// what aliases multiply.)
func saysTheSame(a, b *schema.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Text == b.Text && slices.EqualFunc(a.Items, b.Items, saysTheSame) &&
		slices.EqualFunc(a.Pairs, b.Pairs, func(p, q schema.Pair) bool { return p.Key == q.Key && saysTheSame(p.Value, q.Value) })
}

// Whatever is parsed is formatted without a change of meaning, or refused.
func TestFormatBroken(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	formatted := 0
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(src, []byte("include:")) {
			continue
		}
		out, err := yaml.Format(src)
		if err != nil {
			if _, ok := errors.AsType[schema.Diagnostics](err); !ok {
				t.Errorf("%s: %v", file, err)
			}
			continue
		}
		formatted++
		checkFormatted(t, src, out)
	}
	if formatted < 40 {
		t.Errorf("only %d were formatted", formatted)
	}
}

func TestFormatRefuses(t *testing.T) {
	for src, want := range map[string]string{
		"a: [":         ":2:1: expected a value",
		"":             "empty",
		"a: 1\n---\n3": "a second document",
	} {
		out, err := yaml.Format([]byte(src))
		if out != nil || err == nil || !strings.Contains(":"+err.Error(), want) {
			t.Errorf("%q: %q, %v", src, out, err)
		}
	}
}

// graphs draws sources of graphs with all kinds of notation.
func graphs() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		comment := func(indent string) {
			if rapid.IntRange(0, 5).Draw(t, "comment") == 0 {
				fmt.Fprintf(&b, "%s# %s\n", indent, rapid.StringMatching(`[a-z #:-]{0,12}`).Draw(t, "text"))
			}
			if rapid.IntRange(0, 5).Draw(t, "blank") == 0 {
				b.WriteString(strings.Repeat("\n", rapid.IntRange(1, 3).Draw(t, "blanks")))
			}
		}
		comment("")
		b.WriteString("graph: " + rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "graph") + "\n")
		comment("")
		b.WriteString("resources:\n")
		wide := strings.Repeat(" ", rapid.IntRange(1, 5).Draw(t, "indent"))
		dash := wide + strings.Repeat(" ", rapid.IntRange(0, 3).Draw(t, "dash"))
		for _, kind := range []string{"noop", "file"} {
			comment(wide)
			b.WriteString(wide + kind + ":\n")
			for i := range rapid.IntRange(1, 3).Draw(t, "resources") {
				comment(dash)
				fmt.Fprintf(&b, "%s- name: %s%d%s\n", dash, kind, i, lineComment(t))
				for j := range rapid.IntRange(0, 3).Draw(t, "params") {
					comment(dash + "  ")
					fmt.Fprintf(&b, "%s  p%d: %s\n", dash, j, value(t, dash+"    "))
				}
			}
		}
		comment("")
		return b.String()
	})
}

func lineComment(t *rapid.T) string {
	if rapid.Bool().Draw(t, "line comment") {
		return "  # why"
	}
	return ""
}

// value draws one value in one of the notations of YAML.
func value(t *rapid.T, indent string) string {
	text := rapid.StringMatching(`[a-z0-9 :#'"\\{}\[\],&*!|>%@-]{0,20}`).Draw(t, "text")
	switch rapid.IntRange(0, 7).Draw(t, "style") {
	case 0:
		return fmt.Sprintf("%q", text) + lineComment(t)
	case 1:
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case 2:
		chomp := rapid.SampledFrom([]string{"", "-", "+"}).Draw(t, "chomp")
		return "|" + chomp + "\n" + indent + "x" + text + "\n\n" + indent + "# no comment\n" + indent + "  y"
	case 3:
		return ">\n" + indent + "x" + text + "\n" + indent + "z\n\n" + indent + "y"
	case 4:
		return fmt.Sprintf("[%q,  2,   {a: b}]", text) + lineComment(t)
	case 5:
		return rapid.SampledFrom([]string{"1", "0x1F", "0644", "true", "null", "~", "1.5", "yes", "2024-01-31", ".inf", ""}).Draw(t, "plain")
	case 6:
		return fmt.Sprintf("\n%s- %q\n%s- {a: 1,\n%s   b: 2}", indent, text, indent, indent)
	default:
		return "\n" + indent + "k: 1\n" + indent + "l:   # here\n" + indent + "    m: 2"
	}
}

func TestFormatKeepsMeaning(t *testing.T) {
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(graphs().Draw(t, "source"))
		if _, err := yaml.Load("-", yaml.Options{}, bytes.NewReader(src)); err != nil {
			t.Fatalf("the test draws no YAML: %v\n%s", err, src)
		}
		out, err := yaml.Format(src)
		if err != nil {
			refused++
			return
		}
		checkFormatted(t, src, out)
	})
	t.Logf("%d refused", refused)
	if refused > 10 {
		t.Errorf("%d documents were refused", refused)
	}
}
