package command

import (
	"errors"
	"slices"
	"strings"
)

// Errors of Words.
var (
	errQuote     = errors.New("a quote is not closed")
	errBackslash = errors.New("it ends in a backslash")
)

// Words splits a command into words as a shell does, and does none of its other work. Words
// are separated by spaces, tabs and newlines. Within single quotes everything is plain; within double
// quotes a backslash escapes only a double quote, a backslash, a dollar sign, a backquote and a
// newline; elsewhere it escapes every character. A backslash before a newline joins the lines.
func Words(s string) ([]string, error) {
	words, _, err := split(s)
	return words, err
}

// Operator returns the first word of a command that means something to a shell alone: a pipe, a redirection, or the end of a
// command. Empty means that there is none. A word with a quote or a backslash is meant as it is.
func Operator(s string) string {
	_, plain, err := split(s)
	if i := slices.IndexFunc(plain, isOperator); err == nil && i >= 0 {
		return plain[i]
	}
	return ""
}

// isOperator reports whether a shell takes a word for more than text. A shell would take >=1.2 for a redirection too, and programs
// take it for a version.
func isOperator(word string) bool {
	switch word {
	case "|", "||", "|&", "&", "&&", "<", "<<", "<<<":
		return true
	}
	to := strings.TrimLeft(word, "0123456789&")
	file := strings.TrimLeft(to, ">")
	redirects := file != to && (file == "" || strings.ContainsRune("/&.", rune(file[0])))
	return redirects || strings.HasSuffix(word, ";")
}

// split returns the words of a command, and those of them that have neither a quote nor a backslash.
func split(s string) (words, plain []string, err error) {
	var sp splitter
	for i := 0; i < len(s); i++ {
		n, err := sp.next(s[i], s[i+1:])
		if err != nil {
			return nil, nil, err
		}
		i += n
	}
	if sp.quote != 0 {
		return nil, nil, errQuote
	}
	sp.end()
	return sp.words, sp.plain, nil
}

type splitter struct {
	words  []string
	plain  []string // those without a quote or a backslash
	word   strings.Builder
	inWord bool
	quoted bool // the word has a quote or a backslash
	quote  byte // the quote that is open, or 0
}

// next takes one byte, and says how many of the rest it has taken too.
func (sp *splitter) next(c byte, rest string) (int, error) {
	switch {
	case sp.quote == '\'' && c != '\'':
		sp.put(c)
	case c == '\\':
		return sp.escape(rest)
	case sp.quote != 0 && c == sp.quote:
		sp.quote = 0
	case sp.quote != 0:
		sp.put(c)
	case c == '\'' || c == '"':
		sp.quote, sp.inWord, sp.quoted = c, true, true
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		sp.end()
	default:
		sp.put(c)
	}
	return 0, nil
}

func (sp *splitter) escape(rest string) (int, error) {
	sp.quoted = true
	switch {
	case rest == "" && sp.quote != 0:
		return 0, errQuote
	case rest == "":
		return 0, errBackslash
	case rest[0] == '\n':
	case sp.quote == '"' && !strings.ContainsRune("\"\\$`", rune(rest[0])):
		sp.put('\\')
		return 0, nil
	default:
		sp.put(rest[0])
	}
	return 1, nil
}

func (sp *splitter) put(c byte) {
	sp.word.WriteByte(c)
	sp.inWord = true
}

func (sp *splitter) end() {
	if sp.inWord {
		sp.words = append(sp.words, sp.word.String())
		if !sp.quoted {
			sp.plain = append(sp.plain, sp.word.String())
		}
	}
	sp.word.Reset()
	sp.inWord, sp.quoted = false, false
}
