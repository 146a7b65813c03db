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
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxForms = 64 << 10 // bytes of a text from which on it is known as it is only
	minCoded = 4        // bytes of a text whose hex and base64 are known
)

// forms calls add with a text as programs write it.
func forms(s string, add func(string)) {
	add(s)
	if len(s) > maxForms {
		return
	}
	digits(s, add)
	if !strings.ContainsFunc(s, isSpecial) {
		return
	}
	for _, text := range []string{s, strings.ToValidUTF8(s, "\uFFFD"), jsonText(s, true), jsonText(s, false), asciiJSON(jsonText(s, false))} {
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

// quotings are a text as languages, shells and pages quote it, without the quotes around it.
func quotings(s string) []string {
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
	var pairs []string
	for i := 0; i < len(x); i += 2 {
		pairs = append(pairs, x[i:i+2])
	}
	add(strings.Join(pairs, ":"))
	wrapped(s, add)
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			add(core(enc, s, shift))
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

// core is what all base64 has in common in which a text stands shift bytes behind a group
// of three, whatever is around it.
func core(enc *base64.Encoding, s string, shift int) string {
	all := enc.EncodeToString([]byte(strings.Repeat("\x00", shift) + s))
	return all[[]int{0, 2, 3}[shift] : (shift+len(s))*8/6]
}
