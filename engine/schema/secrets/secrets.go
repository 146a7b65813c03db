// Package secrets keeps texts that must not be shown out of what programs say: their
// errors, their standard error, what they answer. Who hands secrets to a program adds
// them to Texts, and cleans by it all that is shown of what comes back.
//
// # Laws
//
//   - A secret is known as it is, and as JSON, Python, Go and shells quote it; also where
//     what they quote is the JSON in which they were given it.
//   - What Clean returns holds none of the texts that were added; all else is as it was.
//   - The cost of a text that is cleaned does not grow with the number of secrets.
//   - Nothing here starts a goroutine or keeps what it was not given.
package secrets

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
)

const (
	headLen = 4 // bytes of a secret that are looked up at once
	minLine = 4 // a line of a secret of many lines is one from this length on
)

// Texts are texts that must not be said. The zero value has none. It is for one
// goroutine at a time, and grows with what is added: it should live no longer than the
// call that the secrets are about.
type Texts struct {
	heads   map[string][]string // by the first bytes, at most headLen; the longest first
	lengths uint8               // which lengths the keys of heads have, as bits
}

// Add keeps a secret out: as it is, without the space around it, and each of its lines
// that has four bytes, all in the forms in which programs write text. The empty text is
// none.
func (t *Texts) Add(secret string) {
	for line := range strings.Lines(secret) {
		if line = strings.TrimSpace(line); len(line) >= minLine {
			t.addForms(line)
		}
	}
	t.addForms(strings.TrimSpace(secret))
	t.addForms(secret)
}

// addForms adds a text, and if quoting alters it what programs make of it, and of the
// JSON that it was in when they got it.
func (t *Texts) addForms(s string) {
	t.addText(s)
	if !strings.ContainsFunc(s, isSpecial) {
		return
	}
	for _, text := range []string{s, jsonText(s, true), jsonText(s, false), asciiJSON(jsonText(s, false))} {
		t.addText(text)
		for _, form := range quotings(text) {
			t.addText(form)
		}
	}
}

// quotings are a text as languages and shells quote it, without the quotes around it.
func quotings(s string) []string {
	quoted := strconv.Quote(s)
	quoted = quoted[1 : len(quoted)-1]
	bare := strings.ReplaceAll(quoted, `\"`, `"`)
	return []string{
		quoted, bare, strings.ReplaceAll(bare, "'", `\'`), // Go, Python and others
		strings.ReplaceAll(s, "'", `'\''`), strings.ReplaceAll(s, "'", `'"'"'`), // shells that trace
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

func (t *Texts) addText(s string) {
	if s == "" {
		return
	}
	n := min(len(s), headLen)
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

// Clean returns a text with schema.Redacted in place of each secret in it, the longest
// first. Clean before a text is cut: nobody knows a part of a secret.
func (t *Texts) Clean(s string) string {
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
func (t *Texts) prefix(s string) int {
	for n := min(headLen, len(s)); n > 0; n-- {
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

// Learn keeps out all text in v that is wrapped, by schema.Secret or by anything else
// that has Reveal; with all, every text there is but the keys of maps. It looks into
// lists, maps and whatever yields pairs by All.
func (t *Texts) Learn(v any, all bool) {
	switch v := v.(type) {
	case string:
		if all {
			t.Add(v)
		}
	case []byte:
		if all {
			t.Add(string(v))
		}
	case schema.Secret:
		t.Add(v.Reveal())
	case interface{ Reveal() any }:
		t.Learn(v.Reveal(), true)
	case []any:
		for _, x := range v {
			t.Learn(x, all)
		}
	case map[string]any:
		for _, x := range v {
			t.Learn(x, all)
		}
	case interface{ All() iter.Seq2[any, any] }:
		for k, x := range v.All() {
			t.Learn(k, all)
			t.Learn(x, all)
		}
	}
}

// Value returns a copy of a plain value whose texts, but for the keys of maps, hold no
// secret.
func (t *Texts) Value(v any) any {
	switch v := v.(type) {
	case string:
		return t.Clean(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = t.Value(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = t.Value(v[k])
		}
		return out
	}
	return v
}

// Error returns an error whose text has no secret in it: the same one where it had none.
func (t *Texts) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); t.Clean(text) != text {
		return errors.New(t.Clean(text))
	}
	return err
}
