package command

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitWords(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
		err  error
	}{
		{in: "", want: nil},
		{in: "  \t\n ", want: nil},
		{in: "ls", want: []string{"ls"}},
		{in: "  ls   -l\t/tmp\n", want: []string{"ls", "-l", "/tmp"}},
		{in: `touch 'a b'`, want: []string{"touch", "a b"}},
		{in: `touch "a b"`, want: []string{"touch", "a b"}},
		{in: `touch a\ b`, want: []string{"touch", "a b"}},
		{in: `a'b'"c"d`, want: []string{"abcd"}},
		{in: `'' ""`, want: []string{"", ""}},
		{in: `'a\b' "a\b" a\b`, want: []string{`a\b`, `a\b`, "ab"}},
		{in: `"\"\\\$\` + "`" + `"`, want: []string{`"\$` + "`"}},
		{in: `'"' "'"`, want: []string{`"`, `'`}},
		{in: "a\\\nb", want: []string{"ab"}},
		{in: "\"a\\\nb\"", want: []string{"ab"}},
		{in: "'a\\\nb'", want: []string{"a\\\nb"}},
		{in: `$HOME * ; | ~ #`, want: []string{"$HOME", "*", ";", "|", "~", "#"}},
		{in: "größe 'ß ü'", want: []string{"größe", "ß ü"}},
		{in: `it's`, err: errQuote},
		{in: `"a`, err: errQuote},
		{in: `"a\`, err: errQuote},
		{in: `a\`, err: errBackslash},
	} {
		got, err := Words(tt.in)
		if !errors.Is(err, tt.err) || !slices.Equal(got, tt.want) {
			t.Errorf("splitWords(%q) = %q, %v; want %q, %v", tt.in, got, err, tt.want, tt.err)
		}
	}
}

// What is quoted comes back as it was.
func TestSplitWordsQuoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.String()).Draw(t, "words")
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		got, err := Words(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("got %q, %v", got, err)
		}
	})
}

// A real shell splits what expands nothing into the same words.
func TestSplitWordsAsShell(t *testing.T) {
	alphabet := []rune(`ab'"\` + " \t") // a bare newline would end the shell's command
	rapid.Check(t, func(t *rapid.T) {
		// Many lines for one shell: starting it costs more than splitting.
		var script strings.Builder
		var want []string
		for range 20 {
			line := rapid.StringOfN(rapid.SampledFrom(alphabet), 0, 12, -1).Draw(t, "line")
			words, err := Words(line)
			if err != nil {
				continue
			}
			script.WriteString("printf '%s|' x " + line + "\n")
			want = append(want, "x")
			want = append(want, words...)
		}
		out, err := exec.Command("/bin/sh", "-c", script.String()).Output()
		if err != nil {
			t.Fatalf("sh: %v in %q", err, script.String())
		}
		if got, want := string(out), strings.Join(append(want, ""), "|"); got != want {
			t.Fatalf("the shell makes %q, splitWords %q of\n%s", got, want, script.String())
		}
	})
}

// TestOperator: a word that only a shell understands is found, unless it is quoted.
func TestOperator(t *testing.T) {
	for in, want := range map[string]string{
		"date > /tmp/x": ">", "date >> x": ">>", "a | b": "|", "a && b": "&&", "a || b": "||", "a ; b": ";", "a; b": "a;", "a &": "&", "a < b": "<",
		"a 2>&1": "2>&1", "a 2>/dev/null": "2>/dev/null", "a >/dev/null": ">/dev/null", "a &>x.log": "", "a &> x": "&>", "a << E": "<<",
		`a '>' b`: "", `expr 3 \> 2`: "", `find . -exec rm {} \;`: "", `find . -exec rm {} ';'`: "", `a "|" b`: "",
		"pip install x >=1.2": "", "a b>c": "", "awk '{ print > 2; }'": "", "a 'b": "", "": "", "true": "", "http://x/?a=1&b=2": "",
	} {
		if got := Operator(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
