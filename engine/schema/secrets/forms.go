package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxQuoted = 1 << 10 // bytes of a secret from which on most of its forms are looked for bare only
	minQuoted = 16      // bytes of a line of it that is looked for in all forms: bare it may be too short
	minCoded  = 4       // bytes of a text whose hex and base64 are known
)

// quotations calls add with a text as programs quote it.
func quotations(s string, add func(string)) {
	if !strings.ContainsFunc(s, isSpecial) {
		return
	}
	texts := []string{s, strings.ToValidUTF8(s, "\uFFFD"), jsonText(s, true), jsonText(s, false), asciiJSON(jsonText(s, false))}
	for i, text := range texts {
		if slices.Contains(texts[:i], text) {
			continue
		}
		add(text)
		for _, form := range quotings(text) {
			add(form)
		}
	}
}

// isSpecial reports whether some notation alters the character.
func isSpecial(r rune) bool {
	return r <= ' ' || r > '~' || !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
}

// isQuoted reports whether a language, a shell or a page writes the character otherwise in quotes. An address has other rules.
func isQuoted(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"'\#<>&`, r) }

// quotings are a text as languages, shells and pages quote it, without the quotes around it.
func quotings(s string) []string {
	if !strings.ContainsFunc(s, isQuoted) {
		return []string{url.QueryEscape(s), url.PathEscape(s)}
	}
	quoted := inner(strconv.Quote(s))
	bare := strings.ReplaceAll(quoted, `\"`, `"`)
	var asXML bytes.Buffer
	_ = xml.EscapeText(&asXML, []byte(s)) // a buffer takes all
	return []string{
		quoted, inner(strconv.QuoteToASCII(s)), // Go and others
		bare, strings.ReplaceAll(bare, "'", `\'`), strings.ReplaceAll(quoted, "#", `\#`), // Python, Ruby
		strings.ReplaceAll(s, "'", `'\''`), strings.ReplaceAll(s, "'", `'"'"'`), strings.ReplaceAll(s, "'", "''"), // shells, SQL
		octal(s), url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s), asXML.String(),
	}
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// octal is a text as a shell writes it in $'..'.
func octal(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch at := strings.IndexByte("\a\b\x1b\f\n\r\t\v'\\", c); {
		case at >= 0:
			b.WriteString([]string{`\a`, `\b`, `\E`, `\f`, `\n`, `\r`, `\t`, `\v`, `\'`, `\\`}[at])
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// jsonText is a text in JSON without the quotes around it; html is how most Go programs
// write it.
func jsonText(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil {
		panic(err) // text can be written
	}
	return inner(strings.TrimSuffix(b.String(), "\n"))
}

// asciiJSON is JSON as Python and others write it, in ASCII.
func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// digits calls add with a text in hex and in base64.
func digits(s string, add func(string)) {
	if len(s) < minCoded {
		return
	}
	x := hex.EncodeToString([]byte(s))
	add(x)
	add(strings.ToUpper(x))
	pairs := make([]byte, 0, len(s)*3)
	for i := 0; i < len(x); i += 2 {
		pairs = append(pairs, x[i], x[i+1], ':')
	}
	add(string(pairs[:len(pairs)-1]))
	wrapped(s, add)
	for shift := range 3 {
		shifted := append(make([]byte, shift, shift+len(s)), s...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			add(core(enc, shifted, shift))
		}
	}
}

// wrapped calls add with the lines that programs make of a text in base64, but the first one: of a long output only the last
// lines are shown.
func wrapped(s string, add func(string)) {
	for _, width := range []int{64, 76} { // of PEM, and of MIME
		n := width / 4 * 3
		for i := n; i+minCoded <= len(s) && i < n*maxLines; i += n {
			add(base64.RawStdEncoding.EncodeToString([]byte(s[i:min(i+n, len(s))])))
		}
	}
}

// core is what all base64 has in common in which a text stands shift bytes behind a group of three, whatever is around it. The text
// has so many bytes before it.
func core(enc *base64.Encoding, shifted []byte, shift int) string {
	return enc.EncodeToString(shifted)[[]int{0, 2, 3}[shift] : len(shifted)*8/6]
}
