package inifile

import (
	"errors"
	"strings"
)

// Style is a dialect.
type Style struct {
	Separator      string // between name and value as it is written; read without the blanks around it
	Prefix, Suffix string // around the name of a section
	Indent         string // before a setting that is added
}

// Usual is the style that most files have.
var Usual = Style{Separator: " = ", Prefix: "[", Suffix: "]"}

// Check returns an error if nothing could be written in the style.
func (s Style) Check() error {
	switch {
	case s.Separator == "":
		return errors.New("a separator is needed between a setting and its value")
	case hasControl(s.Separator + s.Indent + s.Prefix + s.Suffix):
		return errors.New("the separator, the indent and what is around the name of a section have to be of one line")
	case strings.Trim(s.Indent, blanks) != "":
		return errors.New("the indent has to be of blanks")
	case strings.TrimLeft(s.Prefix, blanks) == "" && strings.TrimRight(s.Suffix, blanks) == "":
		return errors.New("the name of a section needs something around it")
	}
	return nil
}

const blanks = " \t"

// head reads the head of a section.
func (s Style) head(line string) (name string, ok bool) {
	prefix, suffix := strings.TrimLeft(s.Prefix, blanks), strings.TrimRight(s.Suffix, blanks)
	body := strings.Trim(line, blanks)
	if len(body) < len(prefix)+len(suffix) || !strings.HasPrefix(body, prefix) || !strings.HasSuffix(body, suffix) {
		return "", false
	}
	body = body[len(prefix) : len(body)-len(suffix)]
	if prefix == "" && (body == "" || isComment(body)) {
		return "", false
	}
	return body, true
}

// setting reads a setting: lead is what stands before the name.
func (s Style) setting(line string) (lead, name, value string, ok bool) {
	body := strings.TrimLeft(line, blanks)
	lead = line[:len(line)-len(body)]
	if body == "" || isComment(body) {
		return "", "", "", false
	}
	if sep := strings.Trim(s.Separator, blanks); sep != "" {
		name, value, ok = strings.Cut(body, sep)
	} else if i := strings.IndexAny(body, blanks); i >= 0 {
		name, value, ok = body[:i], body[i:], true
	} else {
		name, ok = body, true
	}
	name = strings.TrimRight(name, blanks)
	return lead, name, strings.Trim(value, blanks), ok && name != ""
}

// commented reads a setting that is commented out.
func (s Style) commented(line string) (name string, ok bool) {
	body := strings.TrimLeft(line, blanks)
	if !isComment(body) {
		return "", false
	}
	_, name, _, ok = s.setting(body[1:])
	return name, ok
}

func isComment(body string) bool { return strings.HasPrefix(body, "#") || strings.HasPrefix(body, ";") }

// hasControl reports whether a text holds a control character other than a tab.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
