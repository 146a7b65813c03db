package selection

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// NoneError says that nothing is selected.
type NoneError struct {
	Text string // as the selection was written
	Hint string // what is near; may be empty
}

// Error implements error.
func (e *NoneError) Error() string {
	if e.Hint != "" {
		return e.Short() + ": " + e.Hint
	}
	return e.Short()
}

// Short returns the error without the hint.
func (e *NoneError) Short() string {
	return fmt.Sprintf("the selection %q selects nothing", schema.Shorten(e.Text))
}

// manyNear is how many names a hint has.
const manyNear = 3

// None returns the error of a selection that selects none of some resources.
func (s Selection) None(text string, items []Item) *NoneError {
	var hints []string
	for _, a := range s.any {
		hint := "no resource fits all of its terms at once"
		for _, t := range a {
			if !slices.ContainsFunc(items, t.match) {
				hint = t.none(items)
				break
			}
		}
		if !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
		if len(hints) == manyNear {
			break
		}
	}
	return &NoneError{text, strings.Join(hints, "; ")}
}

// none says what is near a term that fits no resource.
func (t term) none(items []Item) string {
	written := strings.Join(t.head, "*")
	has := map[string]bool{}
	switch t.word {
	case wordState:
		return "no resource is " + written
	case wordModule:
		for _, i := range items {
			if i.Module != "" {
				has[i.Module] = true
			}
		}
		return near("module", written, has)
	case wordLabel:
		written += "=" + strings.Join(t.tail, "*")
		for _, i := range items {
			for key, value := range i.Labels {
				has[key+"="+value] = true
			}
		}
		return near("label", strings.TrimSuffix(written, "="), has)
	}
	for _, i := range items {
		if t.tail == nil && len(t.head) == 1 && i.Name == t.head[0] { // the kind was left out
			return fmt.Sprintf("did you mean %q?", i.Kind+"["+i.Name+"]")
		}
		has[i.Kind] = true
	}
	if !slices.ContainsFunc(items, func(i Item) bool { return t.head.fits(i.Kind) }) {
		return near("kind", written, has)
	}
	clear(has)
	for _, i := range items {
		if t.head.fits(i.Kind) {
			has[i.Name] = true
		}
	}
	return near("name of "+written, strings.Join(t.tail, "*"), has)
}

// near names the words that are near to what was written.
func near(what, written string, has map[string]bool) string {
	if len(has) == 0 {
		return fmt.Sprintf("there is no %s", what)
	}
	among := slices.Sorted(maps.Keys(has))
	text := fmt.Sprintf("there is no %s %q", what, schema.Shorten(written))
	if word := schema.Nearest(written, among); word != "" {
		return text + fmt.Sprintf(", did you mean %q?", word)
	}
	slices.SortStableFunc(among, func(a, b string) int { return cmp.Compare(common(b, written), common(a, written)) })
	more := ""
	if len(among) > manyNear {
		more = fmt.Sprintf(" and %d more", len(among)-manyNear)
		among = among[:manyNear]
	}
	for i, word := range among {
		among[i] = schema.Shorten(word)
	}
	return text + ", there is " + strings.Join(among, ", ") + more
}

// common counts the bytes with which both texts begin.
func common(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
