package expr

import (
	"strings"
	"unicode/utf8"
)

// The marks of an expression in a text.
const (
	Open    = "${{"
	Close   = "}}"
	Escaped = "$${{" // stands for the characters of Open
)

// MaxSource is how many bytes an expression may have.
const MaxSource = 16 << 10

// Piece is a part of a text: characters that stand for themselves, or the source of an expression.
type Piece struct {
	Text   string // the characters, or the source between Open and Close
	At     int    // the offset in the text, in bytes; of a source, where that begins
	Source bool   // Text is the source of an expression
}

// Fault is what is wrong with an expression, or with a text that has some.
type Fault struct {
	At         int // in characters from the beginning of the source, or of the text for Split
	Message    string
	Suggestion string // the word that was probably meant, or empty
	Err        error  // of a function of the caller, or nil
}

// Unwrap returns the error of a function of the caller.
func (f *Fault) Unwrap() error { return f.Err }

// Error returns the message without the place.
func (f *Fault) Error() string { return f.Message }

// Has reports whether Split has anything to do in a text. It is quick for a text without an expression.
func Has(text string) bool { return strings.Contains(text, Open) }

// Split returns the parts of a text in their order. It allocates nothing for a text without an expression, for which it returns nil.
// The fault is that of an expression without an end.
func Split(text string) ([]Piece, *Fault) {
	if !Has(text) {
		return nil, nil
	}
	var pieces []Piece
	var plain strings.Builder
	begin := 0 // of plain
	flush := func(next int) {
		if plain.Len() > 0 {
			pieces = append(pieces, Piece{Text: plain.String(), At: begin})
			plain.Reset()
		}
		begin = next
	}
	for at := 0; at < len(text); {
		switch {
		case strings.HasPrefix(text[at:], Escaped):
			plain.WriteString(Open)
			at += len(Escaped)
		case strings.HasPrefix(text[at:], Open):
			source := at + len(Open)
			end := endOf(text, source)
			if end < 0 {
				return nil, &Fault{
					At:      utf8.RuneCountInString(text[:at]),
					Message: "an expression begins here with ${{ and has no end }}; for the characters ${{ write $${{",
				}
			}
			flush(end + len(Close))
			pieces = append(pieces, Piece{Text: text[source:end], At: source, Source: true})
			at = begin
		default:
			plain.WriteByte(text[at])
			at++
		}
	}
	flush(len(text))
	return pieces, nil
}

// endOf returns the offset of the Close of an expression that begins at an offset, or -1. Braces inside of it come in pairs, and
// those of texts and comments do not count.
func endOf(text string, at int) int {
	depth := 0
	for at < len(text) {
		switch c := text[at]; c {
		case '\'', '"':
			if at = endOfText(text, at); at < 0 {
				return -1
			}
			continue
		case '/':
			if strings.HasPrefix(text[at:], "//") {
				n := strings.IndexByte(text[at:], '\n')
				if n < 0 {
					return -1
				}
				at += n
			}
		case '{', '[', '(':
			depth++
		case ']', ')':
			depth--
		case '}':
			if depth <= 0 && strings.HasPrefix(text[at:], Close) {
				return at
			}
			depth--
		}
		at++
	}
	return -1
}

// endOfText returns the offset behind a text of CEL that begins with a quote at an offset, or -1.
func endOfText(text string, at int) int {
	raw := isRaw(text[:at])
	quote := text[at : at+1]
	if strings.HasPrefix(text[at:], strings.Repeat(quote, 3)) {
		quote = text[at : at+3]
	}
	for at += len(quote); at < len(text); at++ {
		switch {
		case text[at] == '\\' && !raw:
			at++
		case strings.HasPrefix(text[at:], quote):
			return at + len(quote)
		}
	}
	return -1
}

// isRaw reports whether a text whose quote follows takes backslashes as they are, as in r"\d".
func isRaw(before string) bool {
	word := before[len(strings.TrimRightFunc(before, isWord)):]
	return len(word) <= 2 && strings.ContainsAny(word, "rR")
}

// isWord reports whether a character belongs to a name.
func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
