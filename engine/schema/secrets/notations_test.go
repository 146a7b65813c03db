package secrets_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
	"pgregory.net/rapid"
)

// notations are how programs write a text.
var notations = map[string]func(string) string{
	"as it is":    func(s string) string { return s },
	"Go %q":       strconv.Quote,
	"Go %+q":      strconv.QuoteToASCII,
	"Go %x":       func(s string) string { return fmt.Sprintf("%x", s) },
	"Go %X":       func(s string) string { return fmt.Sprintf("%X", s) },
	"Go % x":      func(s string) string { return fmt.Sprintf("% x", s) },
	"JSON":        func(s string) string { return jsonOf(s, true) },
	"JSON plain":  func(s string) string { return jsonOf(s, false) },
	"JSON ASCII":  asciiOf,
	"sh -x":       func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
	"dash -x":     func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" },
	"bash $'..'":  dollarOf,
	"bash %q":     func(s string) string { return escapeEach(s, `\`) },
	"SQL":         func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" },
	"CSV":         func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` },
	"URL query":   url.QueryEscape,
	"URL path":    url.PathEscape,
	"HTML":        html.EscapeString,
	"XML":         xmlOf,
	"HTML dec":    func(s string) string { return eachRune(s, "&#%d;") },
	"HTML hex":    func(s string) string { return eachRune(s, "&#x%X;") },
	"Python":      pythonOf,
	"Ruby":        func(s string) string { return `"` + eachRune(s, `\u{%x}`) + `"` },
	"C octal":     func(s string) string { return eachByte(s, `\%03o`) },
	"C hex":       func(s string) string { return eachByte(s, `\x%02x`) },
	"percent all": func(s string) string { return eachByte(s, "%%%02x") },
	"hex":         func(s string) string { return hex.EncodeToString([]byte(s)) },
	"base64":      func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 url":  func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"base64 at 1": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u" + s + ":tail")) },
	"base64 at 2": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u:" + s + "t")) },
	"base64 wrapped": func(s string) string {
		return wrap(base64.StdEncoding.EncodeToString([]byte("user:"+s)), 8)
	},
	"wrapped": func(s string) string { return wrap(s, 5) },
}

func jsonOf(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

func asciiOf(s string) string {
	var b strings.Builder
	for _, r := range jsonOf(s, false) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func dollarOf(s string) string {
	return "$'" + strings.NewReplacer("\\", `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`, "é", `\303\251`).Replace(s) + "'"
}

func pythonOf(s string) string {
	return "'" + strings.NewReplacer("\\", `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`, "é", `\xe9`).Replace(s) + "'"
}

func escapeEach(s, with string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`'"\<>&|;()*?[]# $`+"`", r) {
			b.WriteString(with)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func eachRune(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

func eachByte(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func xmlOf(s string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err)
	}
	return b.String()
}

func wrap(s string, n int) string {
	var b strings.Builder
	for i, r := range []rune(s) {
		if i > 0 && i%n == 0 {
			b.WriteByte('\n')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// TestFindingA9Notations: a secret is known in each notation, and in each notation of each.
func TestFindingA9Notations(t *testing.T) {
	for _, secret := range []string{
		`hunter2`, `p"a's<s>&w\ord`, `a'b"c<d>e&f`, `pässwörd-é<`, `50%41\u003c&lt;$'x`, "two \"lines\" of it\nand <another> one", `trailing-backslash\`, "\U0001f600-smile-é", `$HOME+%2B "q"`,
	} {
		var s secrets.Texts
		s.Add(secret)
		for outer, f := range notations {
			for inner, g := range notations {
				if ofBytes(outer) && inner != "as it is" {
					continue // digits of a quoted text are no notation of the text
				}
				if (inner == "wrapped" || outer == "wrapped") && strings.ContainsAny(secret, `\&%`) {
					continue // it is cut where it looks like an escape
				}
				form := f(g(secret))
				text := "said: " + form + " (end)"
				if got := s.Clean(text); !hidden(got, secret, form) {
					t.Errorf("%q as %s in %s: %s became %s", secret, inner, outer, text, got)
				}
			}
		}
	}
}

// ofBytes reports whether a notation hides, or cuts, what quotes a text.
func ofBytes(name string) bool {
	return strings.Contains(name, "base64") || slices.Contains([]string{"hex", "wrapped", "Go %x", "Go %X", "Go % x"}, name)
}

// hidden reports whether something of a text was hidden, all of what stands around it is
// there, and no five letters of the secret that are together are left.
func hidden(got, secret, form string) bool {
	if !strings.Contains(got, schema.Redacted) || !strings.HasPrefix(got, "said: ") || !strings.HasSuffix(got, " (end)") || strings.Contains(got, form) {
		return false
	}
	for _, word := range strings.FieldsFunc(secret, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) >= 5 && strings.Contains(got, word) {
			return false
		}
	}
	return true
}

// TestFindingA9Fuzz: whatever the secret, the notation and the text around it, no notation is left.
func TestFindingA9Fuzz(t *testing.T) {
	secret := rapid.StringMatching("[a-zA-Z0-9]{6,12}[ -~é\n\t]{0,20}[a-z0-9]{1,3}")
	around := rapid.StringMatching(`[A-Z =:{}\[\],/]{0,10}`)
	rapid.Check(t, func(t *rapid.T) {
		var s secrets.Texts
		one := secret.Draw(t, "secret")
		s.Add(one)
		for range 3 {
			s.Add(secret.Draw(t, "another"))
		}
		name := rapid.SampledFrom(names()).Draw(t, "notation")
		form := notations[name](one)
		got := s.Clean(around.Draw(t, "before") + " " + form + " " + around.Draw(t, "after"))
		for other, f := range notations {
			if strings.Contains(got, f(one)) {
				t.Fatalf("%q as %s leaves it as %s: %q", one, name, other, got)
			}
		}
		if !strings.Contains(got, schema.Redacted) {
			t.Fatalf("%q as %s: nothing of %q is hidden", one, name, got)
		}
	})
}

func names() []string {
	var list []string
	for name := range notations {
		list = append(list, name)
	}
	return list
}

// FuzzFindingA9: no input makes it fail, and what is left has no secret as it is.
func FuzzFindingA9(f *testing.F) {
	f.Add("hunter2", `\u00`, "%4")
	f.Add("a'b\"<\\", "&#x3", "...")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		var s secrets.Texts
		s.Add(secret)
		got := s.Clean(before + secret + after)
		if secret != "" && !strings.Contains(schema.Redacted, secret) && strings.Contains(got, secret) {
			t.Errorf("%q leaves %q", secret, got)
		}
		if utf8.ValidString(before+secret+after) && !utf8.ValidString(s.CleanPart(before+secret+after)) && utf8.ValidString(secret) {
			t.Errorf("%q is no text any more", got)
		}
	})
}

// TestFindingA9Shell: what the shell of this machine traces shows nothing.
func TestFindingA9Shell(t *testing.T) {
	const secret = `it's a "sec<ret>" & ü\n$HOME`
	for _, shell := range []string{"sh", "bash"} {
		path, err := exec.LookPath(shell)
		if err != nil && shell != "sh" {
			continue // not every machine has it
		}
		cmd := exec.Command(path, "-xc", `read -r S; : "$S"; T="$S"; printf '%s' "$T" | od -An -tx1; echo "{\"k\": \"$S\"}" >&2`)
		cmd.Stdin = strings.NewReader(secret + "\n")
		cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err, string(out))
		}
		var s secrets.Texts
		s.Add(secret)
		if got := s.Clean(string(out)); strings.Contains(got, "sec<ret>") || strings.Contains(got, "73 65 63 3c") || strings.Count(got, schema.Redacted) < 4 {
			t.Errorf("%s says %s", shell, got)
		}
	}
}

// TestFindingA9Cut: what was cut by an ellipsis, or is a piece of a line, shows no part of a secret.
func TestFindingA9Cut(t *testing.T) {
	var s secrets.Texts
	s.Add("correct-horse-battery")
	for text, want := range map[string]string{
		"it is correct-hor...; next":  "it is (secret)...; next",
		"it is correct-h… (99 bytes)": "it is (secret)… (99 bytes)",
		"saw ...orse-battery in it":   "saw ...(secret) in it",
		"a corr... is short":          "a corr... is short",
		"correct, and right...":       "correct, and right...",
		// The cut is in the middle of a character that is escaped.
		`%63%6f%72%72%65%63%74%2d%6...`:              `(secret)%6...`,
		`\x63\x6f\x72\x72\x65\x63\x74\x2...`:         `(secret)\x2...`,
		`\u0063\u006f\u0072\u0072\u0065\u0063\u0…`:   `(secret)\u0…`,
		`&#x63;&#x6f;&#x72;&#x72;&#x65;&#x63;&#x...`: `(secret)&#x...`,
		`\143\157\162\162\145\143\16...`:             `(secret)\16...`,
		`%63%6f%72%72%65%63%74 and %6...`:            `%63%6f%72%72%65%63%74 and %6...`,
	} {
		if got := s.Clean(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := s.CleanPart("rse-battery; it is correct-ho"); got != "(secret); it is (secret)" {
		t.Error(got)
	}
	if got := s.CleanPart(`rse-battery; it is correct-h\x6`); got != `(secret); it is (secret)\x6` {
		t.Error(got)
	}
	if got := s.Clean("it is correct"); got != "it is correct" {
		t.Error(got)
	}
}

// TestFindingA9Many: of more secrets than are kept the oldest are forgotten, and no others.
func TestFindingA9Many(t *testing.T) {
	s := secrets.Texts{Most: 100, Least: 6}
	for i := range 1000 {
		s.Add(fmt.Sprintf("secret-%04d", i))
	}
	s.Add("short")
	for i := 950; i < 1000; i++ {
		if got := s.Clean(fmt.Sprintf("is secret-%04d", i)); got != "is (secret)" {
			t.Fatal(got)
		}
	}
	if got := s.Clean("is secret-0001, short"); got != "is secret-0001, short" {
		t.Error(got)
	}
	if s.Len() > 100 {
		t.Error(s.Len(), "are kept")
	}
	var all secrets.Texts
	all.AddAll(&s)
	if got := all.Clean("secret-0999"); got != "(secret)" || all.Len() != s.Len() {
		t.Error(got, all.Len())
	}
}

// BenchmarkClean cleans a long text by many secrets.
func BenchmarkClean(b *testing.B) {
	for _, n := range []int{1, 1000, 10000} {
		var s secrets.Texts
		for i := range n {
			s.Add(fmt.Sprintf("secret-%06d-<%d>", i, i*7))
		}
		text := strings.Repeat("a line of output with secret-0004 in it, \"quoted\\n\" and more\n", 16<<10)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Clean(text)
			}
		})
	}
}

// TestFindingA9JoinedLines: the last lines of a command's output are joined by semicolons. A secret in base64 or hex that
// goes over several lines, as base64, openssl, xxd and od write it, is known there too.
func TestFindingA9JoinedLines(t *testing.T) {
	const secret = "hunter2-and-more-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLM-99\n"
	var s secrets.Texts
	s.Add(secret)
	for name, text := range map[string]string{
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "hex": fmt.Sprintf("%x", secret), "spaced hex": fmt.Sprintf("% x", secret),
	} {
		for _, width := range []int{47, 60, 64, 76} {
			var lines []string
			for line := range slices.Chunk([]byte(text), width) {
				lines = append(lines, strings.TrimSpace(string(line)))
			}
			got := s.Clean("exit status 3: " + strings.Join(lines, "; "))
			if rest := strings.ReplaceAll(got, schema.Redacted, ""); !strings.HasPrefix(got, "exit status 3: ") || len(rest) > len("exit status 3: ")+8 {
				t.Errorf("%s in lines of %d: %s", name, width, got)
			}
		}
	}
}

// TestFindingA9LinesOfBase64: the last lines of a secret in base64, of which the others were left out, show none of it.
func TestFindingA9LinesOfBase64(t *testing.T) {
	var secret strings.Builder
	for i := range 40 {
		fmt.Fprintf(&secret, "%d of many lines, ", i*i)
	}
	var s secrets.Texts
	s.Add(secret.String())
	all := base64.StdEncoding.EncodeToString([]byte(secret.String()))
	for _, width := range []int{64, 76} {
		var lines []string
		for line := range slices.Chunk([]byte(all), width) {
			lines = append(lines, string(line))
		}
		for _, from := range []int{0, 1, len(lines) - 5, len(lines) - 1} {
			for _, between := range []string{"\n", "; ", `\n`} {
				text := "it printed " + strings.Join(lines[from:], between)
				got := s.Clean(text)
				for i := range len(all) - 8 {
					if strings.Contains(got, all[i:i+8]) {
						t.Fatalf("width %d, from line %d: %s", width, from, got)
					}
				}
			}
		}
	}
}
