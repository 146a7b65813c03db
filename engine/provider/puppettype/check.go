package puppettype

import (
	"fmt"
	"strings"
)

// maxLines bounds the findings about one value that are written out. A list of
// thousands of wrong elements must not fill a log.
const maxLines = 20

// Mismatch says why a value is none of a type. Its text is what users see.
type Mismatch struct {
	Subject string   // the checked thing, as the caller named it
	Lines   []string // the findings, each beginning with Subject and the place in it
}

// Error returns the findings; where there are several, each on an indented line.
func (m *Mismatch) Error() string {
	if len(m.Lines) == 1 {
		return m.Lines[0]
	}
	return " " + strings.Join(m.Lines, "\n  ")
}

// Check returns nil if t accepts v, else a *Mismatch that names subject. The value
// itself is shown only where it is text that fits no Enum or Pattern, or a range. The
// type of the value is inferred only for a refusal, so a check that passes costs no
// more than Accepts.
func (t *Type) Check(subject string, v any) error {
	v = settle(v)
	if t.accepts(v) {
		return nil
	}
	return t.mismatch(subject, inferEach(v))
}

// CheckSecret is Check for a value that must not be shown: the message says of what sort
// it is and no more.
func (t *Type) CheckSecret(subject string, v any) error {
	v = settle(v)
	if t.accepts(v) {
		return nil
	}
	return t.mismatch(subject, bare[kindOf(v)])
}

// mismatch puts the findings into words. Where the comparison of types finds nothing,
// the value as a whole is the finding: a refusal always has words.
func (t *Type) mismatch(subject string, actual *Type) error {
	found := describe(t, actual, []step{{stepSubject, subject, 0}})
	if len(found) == 0 {
		found = []finding{{class: findType, path: []step{{stepSubject, subject, 0}}, expected: t, actual: actual}}
	}
	m := &Mismatch{Subject: subject}
	for _, f := range found[:min(len(found), maxLines)] {
		m.Lines = append(m.Lines, f.String())
	}
	if more := len(found) - maxLines; more > 0 {
		m.Lines = append(m.Lines, fmt.Sprintf("%s does not fit in %d more places", subject, more))
	}
	return m
}
