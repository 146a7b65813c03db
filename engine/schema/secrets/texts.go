package secrets

import (
	"cmp"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

const (
	minLine   = 4   // a line of a secret of many lines is one from this length on
	maxLines  = 100 // of a secret; those behind are known as parts of it only
	minBare   = 5   // bytes that are left of a text that is looked for bare
	minCut    = 6   // bytes of a secret that is cut
	maxEscape = 10  // bytes of an escape that is cut in its middle
	long      = 256 // so much of a secret is one, so that no place of a text is compared for longer
)

// Texts are texts that must not be said. The zero value has none, and no bounds. It may be
// used from any goroutine, and must not be copied. It keeps the secrets: it should live no longer
// than their use. Least, Most and Also are set before it is used.
type Texts struct {
	// Least is the length of the shortest text that is kept out; shorter ones, and
	// shorter lines, are not.
	Least int
	// Most is how many secrets are kept at most; of more the oldest are forgotten, half of
	// Most are always known. 0 means unbounded.
	Most int
	// Also keeps out what it has, and all that is added here from its Least on, so that many have such texts once. What it
	// has forgotten it is told again. nil for none; it has no Also.
	Also *Texts

	n          atomic.Int64 // secrets
	mu         sync.RWMutex
	young, old generation // the young ones become the old ones
}

// generation is some secrets, and the texts to look for because of them.
type generation struct {
	secrets     map[string]struct{}
	plain, bare tree
	ends        tree // the secrets as they are, backwards
}

// Add keeps a secret out: as it is, without the space around it, and each of its lines
// that has four bytes, all in the forms in which programs write text. The empty text is
// none, and neither is schema.Redacted.
func (t *Texts) Add(secret string) {
	if secret == "" || len(secret) < t.Least || secret == schema.Redacted {
		return
	}
	under := math.MaxInt
	if t.Also != nil {
		t.Also.Add(secret)
		under = t.Also.Least
	}
	t.mu.RLock()
	_, known := t.young.secrets[secret]
	t.mu.RUnlock()
	if known {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Most > 0 && len(t.young.secrets) >= max(1, t.Most/2) {
		t.old, t.young = t.young, generation{}
	}
	t.young.add(secret, max(t.Least, 1), under)
	t.n.Store(int64(len(t.young.secrets) + len(t.old.secrets)))
}

// AddAll adds what another one keeps out. The other one may not be t.
func (t *Texts) AddAll(o *Texts) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, g := range []*generation{&o.old, &o.young} {
		for s := range g.secrets {
			t.Add(s)
		}
	}
}

// Len returns how many secrets are kept out.
func (t *Texts) Len() int { return int(t.n.Load()) }

func (g *generation) add(secret string, least, under int) {
	if g.secrets == nil {
		g.secrets = map[string]struct{}{}
	}
	g.secrets[secret] = struct{}{}
	list := []string{secret, strings.TrimSpace(secret)}
	n := 0
	for line := range strings.Lines(secret) {
		if n++; n > maxLines {
			break
		}
		if line = strings.TrimSpace(line); len(line) >= minLine {
			list = append(list, line)
		}
	}
	for i, s := range list {
		if len(s) >= least && len(s) < under && !slices.Contains(list[:i], s) {
			all := len(secret) <= maxQuoted || len(s) < minQuoted
			g.addText(s, all, all || i > 0 || len(list[1]) == len(s))
		}
	}
}

// addText has a text looked for. All of its forms are looked for as they are, or most only bare: a text is found bare in them as well, unless
// one stands behind something that looks like an escape. All forms of a long secret would be 60 copies of it. Without coded, it has
// space around it, and its hex and base64 are found by those of the text within.
func (g *generation) addText(s string, all, coded bool) {
	g.plain.add(s)
	if all {
		quotations(s, g.plain.add)
	}
	if coded {
		g.addCoded(s, all)
	}
	g.addBare(s)
	if !all && !utf8.ValidString(s) {
		g.addBare(string([]rune(s))) // as JSON has it
	}
	if len(s) > minCut {
		g.ends.add(backwards(s[len(s)-min(len(s), long):]))
	}
}

// addCoded has the hex and the base64 of a text looked for.
func (g *generation) addCoded(s string, all bool) {
	digits(s, func(form string) {
		if all {
			g.plain.add(form)
		}
		g.addIfLong(strings.ReplaceAll(form, "+", "")) // all that could be left out
	})
	if !all { // the first byte of bytea in \x.. of PostgreSQL looks like an escape
		x := hex.EncodeToString([]byte(s))
		g.plain.add(x)
		g.plain.add(strings.ToUpper(x))
	}
}

// addBare has a text looked for bare.
func (g *generation) addBare(s string) {
	if !isBare(s) {
		s = string(bareOf(s, false).text)
	}
	g.addIfLong(s)
}

func (g *generation) addIfLong(bare string) {
	if len(bare) >= minBare {
		g.bare.add(bare)
	}
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// span is a part of a text.
type span struct{ from, to int }

// Clean returns a text with schema.Redacted in place of each secret in it. Clean before a text
// is cut, or cut with an ellipsis: other parts of a secret are not recognised.
func (t *Texts) Clean(s string) string { return t.clean(s, false) }

// CleanPart is Clean for a text that was cut at both ends, such as a piece of a line: it
// also hides the end of a secret at its beginning, and the beginning of one at its end.
func (t *Texts) CleanPart(s string) string { return t.clean(s, true) }

func (t *Texts) clean(s string, cut bool) string {
	if s == "" {
		return s
	}
	spans := t.find(s, cut)
	if t.Also != nil {
		t.Also.AddAll(t)
		spans = append(spans, t.Also.find(s, cut)...)
	}
	if len(spans) == 0 {
		return s
	}
	sorted.Func(spans, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out strings.Builder
	at := 0 // what is before it has been written or hidden
	for i, sp := range spans {
		if i > 0 && sp.from < at {
			at = max(at, sp.to)
			continue
		}
		out.WriteString(s[at:sp.from])
		out.WriteString(schema.Redacted)
		at = sp.to
	}
	out.WriteString(s[at:])
	return out.String()
}

// find returns where secrets are.
func (t *Texts) find(s string, cut bool) []span {
	if t.n.Load() == 0 {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	var spans []span
	asItIs := &mapped{}
	for _, g := range []*generation{&t.young, &t.old} {
		spans = g.plain.spans(spans, s, s, asItIs, cut)
		spans = g.ends.cutBefore(spans, s, cut)
	}
	if len(s) < minBare || t.young.bare.empty() && t.old.bare.empty() {
		return spans
	}
	bare, text := asItIs, s
	if !isBare(s) {
		bare = bareOf(s, true)
		text = string(bare.text)
	}
	for _, g := range []*generation{&t.young, &t.old} {
		spans = g.bare.spans(spans, s, text, bare, cut)
	}
	return spans
}

// spans appends where the texts of a tree are in text, which was made of s.
func (t *tree) spans(list []span, s, text string, m *mapped, cut bool) []span {
	if t.empty() {
		return list
	}
	for i := 0; i < len(text); {
		whole, part := t.longest(text[i:])
		if part > whole && (part >= long || part >= minCut && cutAt(s[m.end(i+part-1):], cut)) {
			whole = part
		}
		if whole == 0 {
			i++
			continue
		}
		list = append(list, span{int(m.start(i)), int(m.end(i + whole - 1))})
		i += whole
	}
	return list
}

// ellipses are what is written where a text was cut.
var ellipses = []string{"...", "…", `\u2026`}

// cutAt reports whether a text was cut before the rest of it, or in the middle of an escape with which the rest begins.
func cutAt(rest string, cut bool) bool {
	for n := range min(maxEscape, len(rest)) + 1 {
		if cut && rest[n:] == "" || slices.ContainsFunc(ellipses, func(e string) bool { return strings.HasPrefix(rest[n:], e) }) {
			return true
		}
		if n == len(rest) || n == 0 && !mayEscape[rest[n]] || n > 0 && !inEscape[rest[n]] {
			return false
		}
	}
	return false
}

// cutBefore appends where ends of secrets follow an ellipsis, or begin a text that was cut.
func (t *tree) cutBefore(list []span, s string, cut bool) []span {
	if t.empty() {
		return list
	}
	if cut {
		list = t.cutFrom(list, s, 0)
	}
	for _, e := range ellipses {
		for at, rest := 0, s; ; {
			i := strings.Index(rest, e)
			if i < 0 {
				break
			}
			at += i + len(e)
			rest = s[at:]
			list = t.cutFrom(list, s, at)
		}
	}
	return list
}

// cutFrom appends the longest end of a secret that s has at a place, if there is one.
func (t *tree) cutFrom(list []span, s string, at int) []span {
	rest := s[at:min(len(s), at+long)]
	for n := len(rest); n >= minCut; n-- {
		if t.goesBack(rest[:n]) {
			return append(list, span{at, at + n})
		}
	}
	return list
}
