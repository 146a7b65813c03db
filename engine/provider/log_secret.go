package provider

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

const (
	secretHead    = 4 // bytes of a secret that are looked up at once
	minSecretLine = 4 // a line of a secret of many lines is one from this length on
)

// secretTexts are texts that must not be said. It lives as long as one call of a
// provider, and holds no more than that has to do with. The cost of a text that is
// cleaned does not grow with their number.
type secretTexts struct {
	heads   map[string][]string // by the first bytes, at most secretHead; the longest first
	lengths uint8               // which lengths the keys of heads have, as bits
}

// add keeps a secret out, as it is, trimmed, quoted, and each of its lines, in the forms
// in which programs write text.
func (t *secretTexts) add(secret string) {
	for line := range strings.Lines(secret) {
		if line = strings.TrimSpace(line); len(line) >= minSecretLine {
			t.addForms(line)
		}
	}
	t.addForms(strings.TrimSpace(secret))
	t.addForms(secret)
}

func (t *secretTexts) addForms(s string) {
	t.addText(s)
	if !strings.ContainsFunc(s, isSpecial) {
		return
	}
	quoted := strconv.Quote(s)
	quoted = quoted[1 : len(quoted)-1]
	bare := strings.ReplaceAll(quoted, `\"`, `"`)
	for _, form := range []string{
		quoted, bare, strings.ReplaceAll(bare, "'", `\'`), // Go, Python and others
		strings.ReplaceAll(s, "'", `'\''`), strings.ReplaceAll(s, "'", `'"'"'`), // shells that trace
		jsonText(s, true), jsonText(s, false), asciiJSON(jsonText(s, false)),
	} {
		t.addText(form)
	}
}

// isSpecial reports whether some way of quoting alters the character.
func isSpecial(r rune) bool {
	return r < ' ' || r > '~' || strings.ContainsRune(`"'\<>&`, r)
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
	line := strings.TrimSuffix(b.String(), "\n")
	return line[1 : len(line)-1]
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

func (t *secretTexts) addText(s string) {
	if s == "" {
		return
	}
	n := min(len(s), secretHead)
	list := t.heads[s[:n]]
	at, found := slices.BinarySearchFunc(list, s, func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	if found {
		return
	}
	if t.heads == nil {
		t.heads = map[string][]string{}
	}
	t.heads[s[:n]] = slices.Insert(list, at, s)
	t.lengths |= 1 << n
}

// clean returns a text without the secrets.
func (t *secretTexts) clean(s string) string {
	if len(t.heads) == 0 {
		return s
	}
	var out strings.Builder
	from := 0
	for i := 0; i < len(s); {
		n := t.prefix(s[i:])
		if n == 0 {
			i++
			continue
		}
		out.WriteString(s[from:i])
		out.WriteString(schema.Redacted)
		i += n
		from = i
	}
	if from == 0 {
		return s
	}
	return out.String() + s[from:]
}

// prefix returns the length of the longest secret with which s begins.
func (t *secretTexts) prefix(s string) int {
	for n := min(secretHead, len(s)); n > 0; n-- {
		if t.lengths&(1<<n) == 0 {
			continue
		}
		for _, secret := range t.heads[s[:n]] {
			if strings.HasPrefix(s, secret) {
				return len(secret)
			}
		}
	}
	return 0
}

// learn keeps out all text in v that is wrapped; with secret, all that there is.
func (t *secretTexts) learn(v any, secret bool) {
	switch v := v.(type) {
	case string:
		if secret {
			t.add(v)
		}
	case []byte:
		if secret {
			t.add(string(v))
		}
	case schema.Secret:
		t.add(v.Reveal())
	case puppettype.Sensitive:
		t.learn(v.Reveal(), true)
	case []any:
		for _, x := range v {
			t.learn(x, secret)
		}
	case map[string]any:
		for _, x := range v {
			t.learn(x, secret)
		}
	case puppettype.Map:
		for _, x := range v {
			t.learn(x.Key, secret)
			t.learn(x.Value, secret)
		}
	}
}

// learn keeps the sensitive values of a record out of all that is said.
func (l *Logger) learn(rec Record) {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	for k, v := range rec {
		l.book.secrets.learn(v, l.book.opt.Secret(k))
	}
}

// cleanText returns a text without secrets.
func (b *logBook) cleanText(s string) string { return b.opt.Redact(b.secrets.clean(s)) }

// clean returns an event without secrets.
func (b *logBook) clean(e Event) Event {
	e.From, e.To = b.learnAndHide(e.Attribute, e.From), b.learnAndHide(e.Attribute, e.To)
	e.From, e.To = b.cleanValue(e.From), b.cleanValue(e.To)
	e.Attribute, e.Message = b.cleanText(e.Attribute), b.cleanText(e.Message)
	if e.Context != nil {
		e.Context.Label = b.cleanText(e.Context.Label)
	}
	if e.Err != nil {
		if text := e.Err.Error(); b.cleanText(text) != text {
			e.Err = errors.New(b.cleanText(text))
		}
	}
	return e
}

// learnAndHide returns a value of an attribute, or a record, without what must not be
// shown of it.
func (b *logBook) learnAndHide(attribute string, v any) any {
	rec, ok := v.(Record)
	if !ok {
		return b.hide(attribute, v)
	}
	out := make(Record, len(rec))
	for k, v := range rec {
		out[k] = b.hide(k, v)
	}
	return out
}

// hide leaves nothing of the value of a sensitive attribute but whether there is one.
func (b *logBook) hide(attribute string, v any) any {
	secret := attribute != "" && b.opt.Secret(attribute)
	b.secrets.learn(v, secret)
	if secret && v != nil {
		return schema.NewSecret(schema.Redacted)
	}
	return v
}

// cleanValue returns a copy of a value whose texts hold no secrets.
func (b *logBook) cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return b.cleanText(v)
	case Record:
		return Record(b.cleanMap(v))
	case map[string]any:
		return b.cleanMap(v)
	case puppettype.Map:
		out := make(puppettype.Map, len(v))
		for i, e := range v {
			out[i] = puppettype.Entry{Key: b.cleanValue(e.Key), Value: b.cleanValue(e.Value)}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = b.cleanValue(x)
		}
		return out
	}
	return v
}

func (b *logBook) cleanMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = b.cleanValue(v)
	}
	return out
}
