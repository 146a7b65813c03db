package expr

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// instead says what an expression has in the place of a word or a sign of another language.
var instead = map[string]string{
	"and": "write &&", "or": "write ||", "not": "write !",
	"if":   "write CONDITION ? VALUE : OTHER",
	"else": "write CONDITION ? VALUE : OTHER", "then": "write CONDITION ? VALUE : OTHER",
	"for": "write LIST.map(x, VALUE)", "->": "write LIST.map(x, VALUE)", "=>": "write LIST.map(x, VALUE)",
	"=": "write == to compare", "===": "write ==", "!==": "write !=", "<>": "write !=",
	"&": "write &&", "|": "there are no filters, write FUNCTION(VALUE); for a condition write ||",
	"~": "write + to join texts", "++": "write + 1",
	"??": "write NAME.?KEY.orValue(OTHER)",
	"$":  "a name has no $ in front of it", "`": "a text is written in ' or \"",
	"#": "a comment begins with //", ";": "an expression has one value and no statements", ":=": "an expression sets no variable",
}

// token is a part of an expression: a word or a number, a text with its quotes, or a sign. at counts bytes.
type token struct {
	text string
	at   int
	open bool // a text without an end
}

// end returns the offset behind the token.
func (t token) end() int { return t.at + len(t.text) }

// shown returns the token for a message, in which a long text would hide the rest.
func (t token) shown() string {
	if chars := []rune(t.text); len(chars) > 30 {
		return string(chars[:30]) + "..."
	}
	return t.text
}

// isValue reports whether a token begins or ends a value. A bracket is none.
func (t token) isValue() bool {
	return t.text != "" && (isWord(rune(t.text[0])) || t.text[0] == '\'' || t.text[0] == '"')
}

// signs are the signs of several characters, of this language and of others.
var signs = []string{"===", "!==", "&&", "||", "==", "!=", "<=", ">=", "=>", "->", "++", "??", ":=", "<>"}

// tokens returns the parts of a source, without its blanks and its comments. It never fails: every other character is a sign.
func tokens(src string) (all []token) {
	for at := 0; at < len(src); {
		rest := src[at:]
		t := token{at: at}
		switch c := src[at]; {
		case strings.ContainsRune(" \t\r\n", rune(c)):
			at++
			continue
		case strings.HasPrefix(rest, "//"):
			line, _, _ := strings.Cut(rest, "\n")
			at += len(line)
			continue
		case isWord(rune(c)):
			t.text = rest[:len(rest)-len(strings.TrimLeftFunc(rest, isWord))]
		case c == '\'' || c == '"':
			end := endOfText(src, at)
			if t.open = end < 0; t.open {
				end = len(src)
			}
			t.text = src[at:end]
		default:
			t.text = sign(rest)
		}
		all = append(all, t)
		at = t.end()
	}
	return all
}

// sign returns the sign at the beginning of a text.
func sign(rest string) string {
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			return s
		}
	}
	_, n := utf8.DecodeRuneInString(rest)
	return rest[:n]
}

// around is the surroundings of a fault: the token there, whose text is empty at the end, the one before it, and the brackets
// that are open in front of it.
type around struct {
	before, here token
	open         []token
}

// surroundings finds the tokens around a place, which counts bytes.
func surroundings(src string, at int) (a around) {
	for _, t := range tokens(src) {
		if t.end() > at {
			a.here = t
			return a
		}
		a.before = t
		switch t.text {
		case "(", "[", "{":
			a.open = append(a.open, t)
		case ")", "]", "}":
			a.open = a.open[:max(0, len(a.open)-1)]
		}
	}
	return a
}

// misplaced says why an expression does not go on at a place, which counts characters. The parser has only its own
// words for that.
func misplaced(src string, at int) string {
	a := surroundings(src, bytesOf(src, at))
	switch {
	case a.here.open:
		return fmt.Sprintf("the text that begins with %s here has no end", a.here.text[:1])
	case foreign(a.here) != "":
		return foreign(a.here)
	case a.here.isValue() && foreign(a.before) != "":
		return foreign(a.before)
	case a.before.text == "." && a.here.isValue():
		return fmt.Sprintf("%s is a reserved word; for the key of a map write [\"%[1]s\"]", a.here.text)
	case a.before.text == "." || a.here.text == ".":
		return "the name behind the dot is missing"
	case strings.HasPrefix(a.here.text, "'") || strings.HasPrefix(a.here.text, `"`):
		if !a.before.isValue() && strings.Contains(a.here.text, "\n") && !strings.HasPrefix(a.here.text, strings.Repeat(a.here.text[:1], 3)) {
			return fmt.Sprintf(`a text between two %s has no line break; write \n, or three %[1]s at both ends`, a.here.text[:1])
		}
		if !a.before.isValue() {
			return fmt.Sprintf("the text %s has a backslash that means nothing; write \\\\ for a backslash", a.here.shown())
		}
	case a.here.text == "" || closes(a.here) || a.here.text == "," && !a.complete():
		return a.ends()
	}
	if a.before.isValue() && a.here.isValue() || a.here.text == "{" {
		return fmt.Sprintf("%s follows %s without an operator%s", a.here.shown(), a.before.shown(), quoteHint(a.before))
	}
	return fmt.Sprintf("%s is not expected here", a.here.shown())
}

// complete reports whether a value ends in front of the place.
func (a around) complete() bool { return a.before.isValue() || closes(a.before) }

// ends says what is missing where an expression or a bracket ends.
func (a around) ends() string {
	end := "the end"
	if a.here.text != "" {
		end = a.here.text
	}
	switch {
	case a.before.text == "":
		return "there is no value before " + end
	case !a.complete():
		return fmt.Sprintf("a value is missing between %s and %s", a.before.text, end)
	case len(a.open) > 0:
		return fmt.Sprintf("the bracket %s is not closed before %s", a.open[len(a.open)-1].text, end)
	case a.here.text != "":
		return fmt.Sprintf("there is no bracket that %s closes", end)
	}
	return "a condition needs two values: write CONDITION ? VALUE : OTHER"
}

// foreign returns the words about a token of another language, empty for any other token.
func foreign(t token) string {
	hint, ok := instead[t.text]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s is not of this language: %s", t.text, hint)
}

// closes reports whether a token is a closing bracket.
func closes(t token) bool { return t.text == ")" || t.text == "]" || t.text == "}" }

// quoteHint helps the author of a text with a quote in it.
func quoteHint(before token) string {
	if strings.HasPrefix(before.text, "'") {
		return `; write a text with ' in it between two "`
	}
	return ""
}

// bytesOf returns the offset in bytes of a place in characters.
func bytesOf(src string, at int) int {
	for i := range src {
		if at == 0 {
			return i
		}
		at--
	}
	return len(src)
}
