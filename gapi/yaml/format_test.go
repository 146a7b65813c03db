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

	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
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
	if diff := cmp.Diff(a, b, cmpopts.IgnoreTypes(schema.Pos{}, gapi.Place{}, provenance.Origin{}), cmp.Comparer(saysTheSame)); diff != "" {
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
		// The library forgets a comment here.
		"a:\n- b: x\n # one\n\n- b: x\n # two\n\n  c: x\n": "losing the comment \"# one\"",
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
		return strings.Repeat(" ", rapid.IntRange(1, 9).Draw(t, "gap")) + "# why"
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

// aligned draws a source whose lines have comments at their ends, in columns, some
// of which go on below. Every comment is another one.
func aligned(t *rapid.T) (src string, comments []string) {
	var b strings.Builder
	b.WriteString("resources:\n")
	dash := strings.Repeat(" ", rapid.IntRange(0, 5).Draw(t, "indent"))
	b.WriteString(dash + "thing:\n")
	comment := func() string {
		text := fmt.Sprintf("# %d %s", len(comments), rapid.StringMatching(`[a-z#:"'é-]{0,8}`).Draw(t, "text"))
		comments = append(comments, strings.TrimSpace(text))
		return comments[len(comments)-1]
	}
	for range rapid.IntRange(1, 4).Draw(t, "runs") {
		col := rapid.IntRange(1, 40).Draw(t, "column")
		for i := range rapid.IntRange(1, 5).Draw(t, "lines") {
			lead := dash + "  "
			if i == 0 {
				lead = dash + "- "
			}
			line := lead + fmt.Sprintf("k%d: ", i) + rapid.SampledFrom([]string{
				"x", "'é # y'", "[a,  b]", "{a: 1}", "|\n" + lead[:len(lead)-2] + "    x # no\n" + lead[:len(lead)-2] + "    y",
			}).Draw(t, "value")
			first, rest, more := strings.Cut(line, "\n")
			if rapid.IntRange(0, 3).Draw(t, "commented") > 0 {
				first += strings.Repeat(" ", max(1, col-len([]rune(first)))) + comment()
			}
			b.WriteString(first + "\n")
			if more {
				b.WriteString(rest + "\n")
			} else if rapid.IntRange(0, 5).Draw(t, "goes on") == 0 {
				b.WriteString(strings.Repeat(" ", col) + comment() + "\n")
			}
			if rapid.IntRange(0, 8).Draw(t, "blank") == 0 {
				b.WriteString("\n")
			}
		}
	}
	return b.String(), comments
}

// column returns where a comment begins in its line, in characters.
func column(t failer, src []byte, comment string) int {
	t.Helper()
	for line := range strings.Lines(string(src)) {
		if before, ok := strings.CutSuffix(strings.TrimSpace("x" + line)[1:], comment); ok && (before == "" || strings.HasSuffix(before, " ")) {
			return len([]rune(before))
		}
	}
	t.Fatalf("the comment %q is not in\n%s", comment, src)
	return 0
}

// What is in its usual form but for its indentation keeps every comment, and
// those that were in one column on neighbouring lines are in one again.
func TestFormatKeepsColumns(t *testing.T) {
	refused, runs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		src, comments := aligned(t)
		out, err := yaml.Format([]byte(src))
		if err != nil {
			refused++
			return
		}
		checkFormatted(t, []byte(src), out)
		for i, c := range comments {
			if n := strings.Count(string(out), c+"\n"); n != 1 {
				t.Fatalf("the comment %q is there %d times in\n%s", c, n, out)
			}
			if i == 0 || !strings.Contains(src, comments[i-1]+"\n"+lineOf(src, c)) || strings.HasPrefix(strings.TrimSpace(lineOf(src, c)), "#") {
				continue
			}
			before := comments[i-1]
			if !strings.Contains(string(out), before+"\n"+lineOf(string(out), c)) {
				continue // a comment of its own has come between them
			}
			if column(t, []byte(src), before) != column(t, []byte(src), c) || strings.HasPrefix(strings.TrimSpace(lineOf(src, before)), "#") {
				continue
			}
			runs++
			if a, b := column(t, out, before), column(t, out, c); a != b {
				t.Fatalf("%q is in column %d and %q in column %d of\n%s\nfrom\n%s", before, a, c, b, out, src)
			}
		}
	})
	t.Logf("%d refused, %d in one column", refused, runs)
	if refused > 5 || runs == 0 {
		t.Errorf("%d refused, %d in one column", refused, runs)
	}
}

func lineOf(src, comment string) string {
	for line := range strings.Lines(src) {
		if strings.HasSuffix(line, comment+"\n") {
			return line
		}
	}
	return ""
}

// TestFormatKeepsExpressions: a document in its usual form stays as it is, wherever its expressions stand. In another form, the text of each
// expression stays.
func TestFormatKeepsExpressions(t *testing.T) {
	usual := `vars:
  sites: {a: {port: 80}}
data:
  files: ["hosts/${{ facts.hostname }}.yaml", common.yaml]
use:
- {module: ./m, name: "s_${{ each.key }}", for_each: "${{ vars.sites }}", with: {port: "${{ each.value.port }}"}}
resources:
  file:
  - name: /etc/${{ facts.hostname }}
    when: ${{ size(vars.sites) > 0 }}
    content: |-
      ${{ vars.sites.map(k, k + ":" + string(vars.sites[k].port))
        .join(", ") }} # no comment
  - name: '/etc/$${{ "x" }}'
    for_each: ${{ vars.sites }} # a comment
    content: >-
      a ${{ each.key }}
    mode: "0${{ 600 }}"
`
	out, err := yaml.Format([]byte(usual))
	if err != nil || string(out) != usual {
		t.Errorf("%v\n%s", err, cmp.Diff(usual, string(out)))
	}
	out, err = yaml.Format([]byte("resources:\n    file:\n        - name:   \"/${{ facts.hostname   +  'x' }}\"\n          content:   ${{ [1, 2].size() }}\n"))
	const want = "resources:\n  file:\n  - name: \"/${{ facts.hostname   +  'x' }}\"\n    content: ${{ [1, 2].size() }}\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, string(out)))
	}
}
