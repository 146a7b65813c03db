package show

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// news is what has happened and was not told yet, so that a person is told of what is alike once. Its methods may be called by
// many goroutines.
type news struct {
	mu      sync.Mutex
	ends    []*alike      // failures and recoveries
	changes []*kindChange // in the order of their first one
}

// alike is one failure or recovery of several resources.
type alike struct {
	at    time.Time // of the first
	level slog.Level
	what  string // in words, painted
	names []string

	retried     bool          // they are tried again,
	least, most time.Duration // after these times
}

// end adds the failure or recovery of a resource to those that are alike.
func (n *news) end(new alike) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range n.ends {
		if a.what == new.what && a.retried == new.retried {
			a.names = append(a.names, new.names...)
			a.least, a.most = min(a.least, new.least), max(a.most, new.most)
			return
		}
	}
	n.ends = append(n.ends, &new)
}

// takeEnds returns the lines about the ends so far.
func (n *news) takeEnds(s render.Style) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var b strings.Builder
	for _, a := range n.ends {
		slices.Sort(a.names)
		text := s.Name(named(a.names)) + " " + a.what
		if a.retried {
			text += " (trying again in " + spanText(a.least, a.most) + ")"
		}
		b.WriteString(s.Line(a.at, a.level, text))
	}
	n.ends = nil
	return b.String()
}

// spanText is a span of times, or the one time.
func spanText(least, most time.Duration) string {
	from, to := render.RoundTime(least).String(), render.RoundTime(most).String()
	if from == to {
		return from
	}
	return from + " to " + to
}

// kindChange is what the resources of a kind have changed.
type kindChange struct {
	kind  string
	lines string // of the runs that are not told yet, while they are few
	runs  int
	told  bool                       // lines of it were told
	words []string                   // such as changed, in the order of the first one
	of    map[string]map[string]bool // the resources of each word
}

// change adds a run that has changed something, or would. A kind with few of them gets their lines.
func (n *news) change(resource, word string, lines func() string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	kind, _, _ := strings.Cut(resource, "[")
	var k *kindChange
	for _, c := range n.changes {
		if c.kind == kind {
			k = c
		}
	}
	if k == nil {
		k = &kindChange{kind: kind, of: map[string]map[string]bool{}}
		n.changes = append(n.changes, k)
	}
	if k.runs++; k.runs <= maxNamed {
		k.lines += lines()
	}
	if k.of[word] == nil {
		k.words, k.of[word] = append(k.words, word), map[string]bool{}
	}
	k.of[word][resource] = true
}

// takeChanges returns the lines about the changes so far: each one while a kind has few, and none beyond that. At rest
// a kind that has more gets one line.
func (n *news) takeChanges(s render.Style, rest bool) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var each, kinds strings.Builder
	for _, k := range n.changes {
		if k.runs <= maxNamed {
			each.WriteString(k.lines)
			k.told, k.lines = k.told || k.lines != "", ""
		} else if rest {
			kinds.WriteString(s.Line(time.Now(), slog.LevelInfo, k.text(s)+seeEach(kinds.Len() == 0)))
		}
	}
	if rest {
		n.changes = nil
	}
	return each.String() + kinds.String()
}

// text is the one line of a kind.
func (k *kindChange) text(s render.Style) string {
	var parts []string
	for _, word := range k.words {
		color := render.Green
		if word != wordChanged {
			color = render.Yellow
		}
		parts = append(parts, s.Paint(color, fmt.Sprintf("%d %s", len(k.of[word]), word)))
	}
	text := s.Name(render.Visible(k.kind)) + ": " + strings.Join(parts, ", ")
	if k.told {
		text += " in all"
	}
	return text
}

// seeEach says once how to see all changes.
func seeEach(first bool) string {
	if first {
		return " (-v shows each)"
	}
	return ""
}

// The words for a run with a change.
const (
	wordChanged     = "changed"
	wordWouldChange = "would change"
	wordUnknown     = "unknown"
)

// liveText is the live area: how many resources are in which state, and what has been running for how long.
func liveText(c reactor.Counts, runs []reactor.Ongoing, rows int) []string {
	lines := []string{c.String()}
	most := max(1, min(maxRunning, rows/2))
	for i, r := range runs {
		if i == most-1 && len(runs) > most {
			return append(lines, fmt.Sprintf("%6s  %d more", "", len(runs)-i))
		}
		line := fmt.Sprintf("%6s  %s", r.For.Truncate(time.Second), render.Visible(render.OneLine(r.Resource)))
		if r.Others > 0 {
			line += " and " + render.Plural(r.Others, "other")
		}
		if r.Line != "" {
			line += ": " + render.Visible(render.OneLine(r.Line))
		}
		lines = append(lines, line)
	}
	return lines
}

// maxRunning is how many lines the live area has for what runs.
const maxRunning = 10

// gather notes a run, for a person who looks at the live area.
func (p *Presenter) gather(r reactor.Run) {
	now := time.Now()
	text := render.ErrorText(r.Err)
	before, failed := p.troubled[r.Resource]
	switch {
	case r.State == resgraph.StateFailed:
		p.troubled[r.Resource] = text
		what := p.style.Paint(render.Red, "failed") + ": " + render.Visible(text)
		if failed && before == text {
			what = p.style.Paint(render.Red, "failed again") + tryText(r)
		}
		p.news.end(alike{at: now, level: slog.LevelError, what: what, names: []string{r.Resource}, retried: r.Retry, least: r.RetryIn, most: r.RetryIn})
		return
	case failed:
		delete(p.troubled, r.Resource)
		p.news.end(alike{at: now, level: slog.LevelInfo, what: p.style.Paint(render.Green, "recovered"), names: []string{r.Resource}})
	}
	if word, lines := p.happened(r); word != "" {
		p.news.change(r.Resource, word, func() (text string) {
			for _, l := range lines() {
				text += p.style.Line(now, slog.LevelInfo, l)
			}
			return text
		})
	}
}

// tryText says which try has failed, where it was one.
func tryText(r reactor.Run) string {
	switch {
	case r.Attempt == 0:
		return ""
	case r.Retry:
		return ": " + ordinal(r.Attempt+1) + " try"
	default:
		return ": " + ordinal(r.Attempt+1) + " try, the last one"
	}
}

// ordinal writes 1 as 1st.
func ordinal(n int) string {
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			return fmt.Sprintf("%dst", n)
		case 2:
			return fmt.Sprintf("%dnd", n)
		case 3:
			return fmt.Sprintf("%drd", n)
		}
	}
	return fmt.Sprintf("%dth", n)
}
