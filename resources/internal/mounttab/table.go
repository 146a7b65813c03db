package mounttab

import (
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/mountinfo"
)

// Line is what a line of a table says.
type Line struct {
	Device  string
	Point   string
	Type    string
	Options []string // empty for "defaults"
	Freq    int      // whether dump saves it
	PassNo  int      // when it is checked at boot; 0 for never
}

// Equal reports whether both say the same.
func (l Line) Equal(o Line) bool {
	return l.Device == o.Device && l.Point == o.Point && l.Type == o.Type && SameOptions(l.Options, o.Options) &&
		l.Freq == o.Freq && l.PassNo == o.PassNo
}

// Plain returns the options without the word that stands for none; nil for none.
func Plain(list []string) []string {
	list = slices.DeleteFunc(slices.Clone(list), func(o string) bool { return o == "defaults" })
	if len(list) == 0 {
		return nil
	}
	return list
}

// String returns the line as it is written in a table.
func (l Line) String() string {
	options := strings.Join(l.Options, ",")
	if options == "" {
		options = "defaults"
	}
	fields := []string{escape(l.Device), escape(l.Point), escape(l.Type), escape(options), strconv.Itoa(l.Freq), strconv.Itoa(l.PassNo)}
	return strings.Join(fields, " ")
}

// Table is an fstab. The zero Table is an empty one.
type Table struct{ rows []row }

type row struct {
	text string // with its end
	line *Line  // nil for what is none
}

// Parse reads a table. It takes every text.
func Parse(text string) *Table {
	t := &Table{}
	for l := range strings.Lines(text) {
		t.rows = append(t.rows, row{l, parseLine(l)})
	}
	return t
}

func parseLine(text string) *Line {
	f := strings.Fields(text)
	if len(f) < 3 || strings.HasPrefix(f[0], "#") {
		return nil
	}
	l := &Line{Device: mountinfo.Unescape(f[0]), Point: mountinfo.Unescape(f[1]), Type: mountinfo.Unescape(f[2])}
	if len(f) > 3 {
		l.Options = Plain(SplitOptions(mountinfo.Unescape(f[3])))
	}
	for i, to := range []*int{&l.Freq, &l.PassNo} {
		if len(f) <= 4+i || strings.HasPrefix(f[4+i], "#") {
			break
		}
		n, err := strconv.Atoi(f[4+i])
		if err != nil {
			return nil
		}
		*to = n
	}
	return l
}

// Lines returns what all lines say.
func (t *Table) Lines() (all []Line) {
	for _, r := range t.rows {
		if r.line != nil {
			all = append(all, *r.line)
		}
	}
	return all
}

// Find returns the line of a mount point: the first one, which is what counts.
func (t *Table) Find(point string) (Line, bool) {
	for _, r := range t.rows {
		if r.at(point) {
			return *r.line, true
		}
	}
	return Line{}, false
}

// at reports whether the row is the line of a mount point. A slash at its end makes no
// difference.
func (r row) at(point string) bool {
	return r.line != nil && (r.line.Point == point || len(point) > 1 && strings.TrimRight(r.line.Point, "/") == point)
}

// Set makes the line the only line of its mount point: in the place of the first present one, or at
// the end. Others of the same mount point go.
func (t *Table) Set(l Line) {
	done := false
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool { return r.at(l.Point) && !first(&done) })
	for i, r := range t.rows {
		if r.at(l.Point) {
			if !r.line.Equal(l) {
				t.rows[i] = row{l.String() + "\n", &l}
			}
			return
		}
	}
	if n := len(t.rows); n > 0 && !strings.HasSuffix(t.rows[n-1].text, "\n") {
		t.rows[n-1].text += "\n"
	}
	t.rows = append(t.rows, row{l.String() + "\n", &l})
}

// first reports whether it is asked for the first time.
func first(done *bool) bool {
	was := *done
	*done = true
	return !was
}

// Remove takes out all lines of a mount point.
func (t *Table) Remove(point string) {
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool { return r.at(point) })
}

// Count returns how many lines a mount point has.
func (t *Table) Count(point string) (n int) {
	for _, r := range t.rows {
		if r.at(point) {
			n++
		}
	}
	return n
}

// String returns the text of the table.
func (t *Table) String() string {
	var b strings.Builder
	for _, r := range t.rows {
		b.WriteString(r.text)
	}
	return b.String()
}
