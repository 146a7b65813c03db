package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity of a Diagnostic.
type Severity uint8

// An Error refuses the input, a Warning and a Note do not. A Note says how the input
// was understood; nothing need be done about it.
const (
	Error Severity = iota
	Warning
	Note
	numSeverities = iota
)

// String returns "error", "warning" or "note".
func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Note:
		return "note"
	default:
		return "error"
	}
}

// Diagnostic is one finding about an input: the fault, its place, and the way out. No
// text in it may show a secret: findings go into logs and to clients.
type Diagnostic struct {
	Severity   Severity
	Pos        Pos
	Resource   string // kind[name], when the finding is about one
	Path       string // of the field inside the resource, when it is about one
	Class      string // a stable name of the sort of fault, such as E_MAP_KEY; empty where it has none
	Message    string // the fault; no position, no final stop
	Suggestion string // the word that was probably meant, or empty
	Related    []Related
	More       int // when above 0: it stands for so many findings that were not kept
}

// Related is another place that a Diagnostic is about, such as the first of two
// duplicates or one edge of a cycle.
type Related struct {
	Pos     Pos
	Message string
}

// String returns "file:line:col: message (did you mean "x"?) [CLASS]", and each related
// place on an indented line of its own. An error has no word before it; a warning and a
// note have.
func (d Diagnostic) String() string {
	var b strings.Builder
	if p := d.Pos.String(); p != "" {
		b.WriteString(p + ": ")
	}
	if d.Severity != Error {
		b.WriteString(d.Severity.String() + ": ")
	}
	b.WriteString(d.Message)
	if d.Suggestion != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", d.Suggestion)
	}
	if d.Class != "" {
		b.WriteString(" [" + d.Class + "]")
	}
	for _, r := range d.Related {
		b.WriteString("\n    ")
		if p := r.Pos.String(); p != "" {
			b.WriteString(p + ": ")
		}
		b.WriteString(r.Message)
	}
	return b.String()
}

// Diagnostics are many findings; as an error it prints one on each line. The order is
// that in which they were found, until Sort.
type Diagnostics []Diagnostic

// Error returns the findings, one on each line.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns ds as an error when one of them is of severity Error, else nil. Warnings
// and notes alone are not an error.
func (ds Diagnostics) Err() error {
	if slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error }) {
		return ds
	}
	return nil
}

// Summary counts the findings in words: "2 errors, 1 warning". Errors are named even
// where there are none.
func (ds Diagnostics) Summary() string {
	var n [Note + 1]int64
	for _, d := range ds {
		n[d.Severity] += int64(max(1, d.More))
	}
	count := func(s Severity) string { return fmt.Sprintf("%d %s", n[s], plural(s.String(), n[s])) }
	parts := []string{count(Error)}
	for _, s := range []Severity{Warning, Note} {
		if n[s] > 0 {
			parts = append(parts, count(s))
		}
	}
	return strings.Join(parts, ", ")
}

// Errorf adds a finding of severity Error. The format takes no secret.
func (ds *Diagnostics) Errorf(pos Pos, format string, args ...any) {
	*ds = append(*ds, Diagnostic{Pos: pos, Message: fmt.Sprintf(format, args...)})
}

// Sort orders the findings by file, line and column, keeping the order of equals;
// findings that stand for others come last. It costs n log n, and a copy of the
// findings.
func (ds Diagnostics) Sort() {
	order := make([]*Diagnostic, len(ds)) // pointers: a sort of large structs is 10 KB of program
	for i, d := range ds {
		order[i] = &d
	}
	slices.SortStableFunc(order, func(a, b *Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.More, b.More),
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col),
		)
	})
	for i, d := range order {
		ds[i] = *d
	}
}
