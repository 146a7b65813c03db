package textlines

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Edit says what shall be in a text, or not.
type Edit struct {
	Absent bool
	Lines  []string // without their ends, each without a newline

	// Match finds the line that Lines, then one line, replaces: the last match, or with All each
	// match. With Absent all matches are removed, and Lines has no meaning.
	Match *regexp.Regexp
	All   bool

	// Begin and End are the lines around a block; both or none. All between them is
	// Lines then.
	Begin, End string

	// Where lines go that are not there yet: above the first line that matches, or
	// below the last one; to the end where none does, or neither is given.
	Above, Below *regexp.Regexp

	Missing bool // do nothing where Lines are in the text already
	One     bool // several lines that Match, Above or Below finds are an error
	Keep    bool // a line that matches is left, and stands for Lines
	NoAdd   bool // where no line matches nothing is added

	pieces []piece // of the line, where Groups has found groups in it
}

// Result is what an Edit makes of a text.
type Result struct {
	Text    string
	Removed []string // lines that are replaced or removed, without their ends
	Put     []string // lines that are new, without their ends
	Changed bool
}

// Errors of a block that can't be told from the rest.
var (
	errNoEnd   = errors.New("a block begins and does not end")
	errNoBegin = errors.New("a block ends and does not begin")
)

// Apply returns the edited text. A text in which the marks of a block stand alone is an error.
func (e *Edit) Apply(text string) (Result, error) {
	t := parse(text)
	var err error
	switch {
	case e.Begin != "":
		err = e.block(t)
	case e.Absent:
		err = e.remove(t)
	case e.Match != nil:
		err = e.replace(t)
	case !t.has(e.Lines):
		err = e.add(t, e.Lines)
	}
	return Result{Text: t.String(), Removed: t.removed, Put: t.put, Changed: t.changed}, err
}

// Find returns the lines of the text that the edit is about, as they are now: those of
// the block, the last line that matches, or Lines, where these are no line with groups in it. It
// returns false if they are not there.
func (e *Edit) Find(text string) ([]string, bool, error) {
	t := parse(text)
	if e.Begin != "" {
		spans, err := t.blocks(e.Begin, e.End)
		if err != nil || len(spans) == 0 {
			return nil, false, err
		}
		return t.bodies(spans[0].from+1, spans[0].to-1), true, nil
	}
	if e.Match != nil {
		if at := t.matches(e.Match); len(at) > 0 {
			return []string{t.lines[at[len(at)-1]].body}, true, nil
		}
	}
	if len(e.Lines) == 0 || e.Fills() || !t.has(e.Lines) {
		return nil, false, nil
	}
	return e.Lines, true, nil
}

// remove takes away all lines that match, or all places where Lines stands.
func (e *Edit) remove(t *text) error {
	if e.Match != nil {
		at := t.matches(e.Match)
		for _, i := range slices.Backward(at) {
			t.splice(i, i+1, nil)
		}
		slices.Reverse(t.removed)
		return e.several(at)
	}
	for i := 0; i+len(e.Lines) <= len(t.lines); {
		if !t.hasAt(i, e.Lines) {
			i++
			continue
		}
		t.splice(i, i+len(e.Lines), nil)
	}
	return nil
}

// several is an error where only one line may be found.
func (e *Edit) several(at []int) error {
	if e.One && len(at) > 1 {
		return fmt.Errorf("%d lines match, and one is allowed", len(at))
	}
	return nil
}

// replace makes the line out of the matches. Once such a line is there, it has taken the place of a
// match, even if it does not match itself.
func (e *Edit) replace(t *text) error {
	at := t.matches(e.Match)
	if e.Fills() {
		return e.fill(t, at)
	}
	there := t.has(e.Lines)
	switch {
	case e.Missing && there, e.Keep && len(at) > 0, e.NoAdd && len(at) == 0:
		return nil
	case len(at) == 0 && !there:
		return e.add(t, e.Lines)
	case e.several(at) != nil:
		return e.several(at)
	case e.All:
	case len(at) > 0 && (!there || e.Match.MatchString(e.Lines[0])):
		at = at[len(at)-1:]
	default:
		return nil
	}
	for _, i := range at {
		if t.lines[i].body != e.Lines[0] {
			t.splice(i, i+1, e.Lines)
		}
	}
	return nil
}

// fill is replace for a line with groups in it. Where nothing matches, it is not known what they are. A line that would be replaced again
// is an error: it would grow with each run. The error shows no text, which may be one that others must not read.
func (e *Edit) fill(t *text, at []int) error {
	if err := e.several(at); err != nil {
		return err
	}
	if n := len(at); !e.All && n > 0 {
		if n > 1 && !e.Match.MatchString(e.Filled(t.lines[at[n-1]].body)) {
			return fmt.Errorf("%d lines match, and not the new one, so that the next run would replace the line before; all_matches replaces all", n)
		}
		at = at[n-1:]
	}
	for _, i := range at {
		line := e.Filled(t.lines[i].body)
		if e.Match.MatchString(line) && e.Filled(line) != line {
			return fmt.Errorf("line %d: match finds the new line too, and would make another one of it: let it match what the line adds, outside of the group", i+1)
		}
		if t.lines[i].body != line {
			t.splice(i, i+1, []string{line})
		}
	}
	return nil
}

// block makes the first block right, and removes further ones.
func (e *Edit) block(t *text) error {
	spans, err := t.blocks(e.Begin, e.End)
	if err != nil {
		return err
	}
	for i, s := range slices.Backward(spans) {
		switch {
		case i > 0 || e.Absent:
			t.splice(s.from, s.to, nil)
		case !slices.Equal(t.bodies(s.from+1, s.to-1), e.Lines):
			t.splice(s.from+1, s.to-1, e.Lines)
		}
	}
	if len(spans) == 0 && !e.Absent {
		return e.add(t, slices.Concat([]string{e.Begin}, e.Lines, []string{e.End}))
	}
	return nil
}

// add puts lines where they belong.
func (e *Edit) add(t *text, lines []string) error {
	at := len(t.lines)
	var found []int
	switch {
	case e.Above != nil:
		if found = t.matches(e.Above); len(found) > 0 {
			at = found[0]
		}
	case e.Below != nil:
		if found = t.matches(e.Below); len(found) > 0 {
			at = found[len(found)-1] + 1
		}
	}
	t.splice(at, at, lines)
	return e.several(found)
}

// text is a text in lines.
type text struct {
	lines   []line
	eol     string // of new lines
	open    bool   // the last line has no end in the text
	removed []string
	put     []string
	changed bool
}

type line struct{ body, end string }

func parse(s string) *text {
	t := &text{eol: "\n"}
	for l := range strings.SplitAfterSeq(s, "\n") {
		if l == "" {
			continue
		}
		body := strings.TrimSuffix(l, "\n")
		if body != l {
			body = strings.TrimSuffix(body, "\r")
		}
		t.lines = append(t.lines, line{body, l[len(body):]})
	}
	if n := len(t.lines); n > 0 {
		if t.lines[0].end == "\r\n" {
			t.eol = "\r\n"
		}
		if t.open = t.lines[n-1].end == ""; t.open {
			t.lines[n-1].end = t.eol
		}
	}
	return t
}

func (t *text) String() string {
	var b strings.Builder
	for i, l := range t.lines {
		b.WriteString(l.body)
		if !t.open || i < len(t.lines)-1 || l.body == "" { // an empty line is only its end
			b.WriteString(l.end)
		}
	}
	return b.String()
}

// splice puts lines in the place of some; the new ones end as the first of those.
func (t *text) splice(from, to int, lines []string) {
	end := t.eol
	if from < to {
		end = t.lines[from].end
	}
	t.removed, t.put = append(t.removed, t.bodies(from, to)...), append(t.put, lines...)
	rest := make([]line, 0, len(lines)+len(t.lines)-to)
	for _, l := range lines {
		rest = append(rest, line{l, end})
	}
	rest = append(rest, t.lines[to:]...)
	t.lines = append(t.lines[:from], rest...)
	t.changed = true
}

func (t *text) bodies(from, to int) []string {
	var out []string
	for _, l := range t.lines[from:to] {
		out = append(out, l.body)
	}
	return out
}

func (t *text) matches(re *regexp.Regexp) []int {
	var at []int
	for i, l := range t.lines {
		if re.MatchString(l.body) {
			at = append(at, i)
		}
	}
	return at
}

func (t *text) has(lines []string) bool {
	for i := range t.lines {
		if t.hasAt(i, lines) {
			return true
		}
	}
	return false
}

func (t *text) hasAt(i int, lines []string) bool {
	if i+len(lines) > len(t.lines) {
		return false
	}
	for j, l := range lines {
		if t.lines[i+j].body != l {
			return false
		}
	}
	return true
}

// span is a block with the lines around it: from the first up to before to.
type span struct{ from, to int }

func (t *text) blocks(begin, end string) ([]span, error) {
	var spans []span
	from := -1
	for i, l := range t.lines {
		switch {
		case l.body == begin && from >= 0:
			return nil, fmt.Errorf("line %d: %w", from+1, errNoEnd)
		case l.body == begin:
			from = i
		case l.body == end && from < 0:
			return nil, fmt.Errorf("line %d: %w", i+1, errNoBegin)
		case l.body == end:
			spans, from = append(spans, span{from, i + 1}), -1
		}
	}
	if from >= 0 {
		return nil, fmt.Errorf("line %d: %w", from+1, errNoEnd)
	}
	return spans, nil
}
