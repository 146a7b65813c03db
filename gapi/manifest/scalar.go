package manifest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/gapi"
)

// scalarText writes a plain value that is neither a list nor a map. A value with a
// notation in text is text.
func scalarText(v any) string {
	switch v := v.(type) {
	case nil:
		return "undef"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return gapi.FloatText(v)
	case string:
		return quote(v)
	default:
		text, _ := gapi.NotationText(v)
		return quote(text)
	}
}

// quote writes a text on one line.
func quote(s string) string {
	if strings.ContainsFunc(s, hasToBeEscaped) || !utf8.ValidString(s) {
		return doubleQuoted(s)
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// hasToBeEscaped reports whether a character has no place in single quotes: an
// invisible character, or a character that a terminal acts on.
func hasToBeEscaped(r rune) bool { return !unicode.IsPrint(r) }

var escapes = map[rune]string{'\n': `\n`, '\t': `\t`, '\r': `\r`, '"': `\"`, '\\': `\\`, '$': `\$`}

func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		esc, ok := escapes[r]
		switch {
		case ok:
			b.WriteString(esc)
		case r == utf8.RuneError && strings.HasPrefix(s[i:], "\ufffd"), unicode.IsPrint(r) && r != utf8.RuneError:
			b.WriteRune(r)
		case r == utf8.RuneError:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isWord reports whether a text may stand without quotes and is not another value.
func isWord(s string) bool {
	if s == "" || !isLetter(rune(s[0])) || s == "true" || s == "false" || s == "undef" {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !isWordRune(r) })
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isWordRune(r rune) bool { return isLetter(r) || isDigit(r) || r == '-' }
