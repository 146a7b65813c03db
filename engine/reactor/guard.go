package reactor

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine/schema"
)

const (
	// headLen is how many bytes of a secret are looked up at once.
	headLen = 4
	// minShared is the length from which a secret is kept out of what other
	// vertices say: shorter ones are found in too many texts that have nothing to
	// do with them.
	minShared = 6
	// maxShared bounds how many texts are kept out of everything; the oldest are
	// forgotten.
	maxShared = 1 << 16
)

// guard keeps texts out of what is said. Adding one costs little, and so does each
// byte of what is said, however many there are. It may be used from any goroutine. The zero value
// guards nothing.
type guard struct {
	n  atomic.Int64 // texts in it
	mu sync.RWMutex

	byHead map[string][]string // by the first headLen bytes; the longest first
	short  []string            // those that have not so many, the longest first
	order  []string            // as they came; when it is full, a ring
	oldest int                 // in the ring
}

// add guards one more text; of more than most the oldest is forgotten.
func (g *guard) add(s string, most int) {
	if s == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.of(s)
	at, found := slices.BinarySearchFunc(list, s, longestFirst)
	if found {
		return
	}
	g.put(s, slices.Insert(list, at, s))
	if len(g.order) < most {
		g.order = append(g.order, s)
	} else {
		g.forget(g.order[g.oldest])
		g.order[g.oldest] = s
		g.oldest = (g.oldest + 1) % most
	}
	g.n.Store(int64(len(g.order)))
}

func (g *guard) forget(s string) {
	list := g.of(s)
	if at, found := slices.BinarySearchFunc(list, s, longestFirst); found {
		g.put(s, slices.Delete(list, at, at+1))
	}
}

// of returns the list in which s stands, or would.
func (g *guard) of(s string) []string {
	if len(s) < headLen {
		return g.short
	}
	return g.byHead[s[:headLen]]
}

func (g *guard) put(s string, list []string) {
	switch {
	case len(s) < headLen:
		g.short = list
	case len(list) == 0:
		delete(g.byHead, s[:headLen])
	default:
		if g.byHead == nil {
			g.byHead = map[string][]string{}
		}
		g.byHead[s[:headLen]] = list
	}
}

// longestFirst makes a secret that holds another one be replaced as a whole.
func longestFirst(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }

// clean returns a text without what is guarded.
func (g *guard) clean(s string) string {
	if g.n.Load() == 0 || s == "" {
		return s
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	s = g.cleanLong(s)
	for _, t := range g.short {
		s = strings.ReplaceAll(s, t, schema.Redacted)
	}
	return s
}

func (g *guard) cleanLong(s string) string {
	var out strings.Builder
	from := 0
	for i := 0; i+headLen <= len(s); {
		n := longestPrefix(s[i:], g.byHead[s[i:i+headLen]])
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
	out.WriteString(s[from:])
	return out.String()
}

// longestPrefix returns the length of the first of the texts with which s begins.
func longestPrefix(s string, texts []string) int {
	for _, t := range texts {
		if strings.HasPrefix(s, t) {
			return len(t)
		}
	}
	return 0
}

// texts returns what is guarded, as it came.
func (g *guard) texts() []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Clone(g.order)
}
