package schema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// decoder walks through a Node and a Type together. Its path is that of the value in
// hand; its findings are complete when the walk ends. It is for one goroutine and one
// input.
type decoder struct {
	path  []seg
	diags Diagnostics
}

// name returns the path of the value in hand, for a message.
func (d *decoder) name() string {
	if len(d.path) == 0 {
		return "the value"
	}
	return formatPath(d.path)
}

// add keeps a finding with the path of the value in hand.
func (d *decoder) add(sev Severity, pos Pos, suggestion, message string) {
	path := ""
	if len(d.path) > 0 {
		path = formatPath(d.path)
	}
	d.diags = append(d.diags, Diagnostic{Severity: sev, Pos: pos, Path: path, Message: message, Suggestion: suggestion})
}

// mismatch reports that n is not a value of t.
func (d *decoder) mismatch(t *Type, n *Node, hint string) {
	d.add(Error, n.Pos, "", fmt.Sprintf("%s must be %s, not %s%s", d.name(), t, n.found(t.Secret), hint))
}

// found describes what a Node holds, for a message; a secret's text is not shown.
func (n *Node) found(secret bool) string {
	hidden := secret || n.concealed()
	switch {
	case n.Kind == NodeNull:
		return "null"
	case hidden && n.Kind == NodeString:
		return "that text"
	case hidden && (n.Kind == NodeBool || n.Kind == NodeInt || n.Kind == NodeFloat):
		return "that"
	}
	return n.Describe()
}

// took reports whether n may be read as text in the notation of kind. Text that was
// made from a value of another kind may not. A whole number passes here, and the caller
// decides.
func (n *Node) took(kind Kind) bool {
	return !n.typed || n.of == kind || n.of == KindString || n.Kind == NodeInt
}

// boolean reads true and false, and the other words for them that are text in YAML 1.2.
// They count without quotes only, since a quoted word is meant as text.
func (d *decoder) boolean(t *Type, n *Node) (v, ok bool) {
	known, plain := false, n.Kind == NodeBool
	switch strings.ToLower(n.Text) {
	case "yes", "on", "y":
		v, known, plain = true, true, plain || !n.Quoted
	case "no", "off", "n":
		known, plain = true, plain || !n.Quoted
	case "true":
		v, known = true, true
	case "false":
		known = true
	}
	switch known = known && (n.Kind == NodeBool || n.Kind == NodeString && !n.typed); {
	case known && plain:
		return v, true
	case known:
		d.mismatch(t, n, "; leave out the quotes")
	default:
		d.mismatch(t, n, "")
	}
	return false, false
}

// text reads text. A number or true is taken as it was written, unless the Node
// was made from a value.
func (d *decoder) text(t *Type, n *Node) (string, bool) {
	switch n.Kind {
	case NodeString, NodeBool, NodeInt, NodeFloat:
	default:
		d.mismatch(t, n, "")
		return "", false
	}
	if n.typed && n.of != KindString {
		d.mismatch(t, n, "")
		return "", false
	}
	s := n.text()
	if len(t.Enum) > 0 && !slices.Contains(t.Enum, s) {
		d.notInEnum(t, n)
		return "", false
	}
	if t.Min != nil || t.Max != nil {
		// A length counts characters, as the documentation of a type says.
		if length := int64(utf8.RuneCountInString(s)); !within(t, length) {
			d.mismatch(t, n, "")
			return "", false
		}
	}
	if !t.fitsText(s) {
		d.mismatch(t, n, "")
		return "", false
	}
	return s, true
}

// notInEnum reports a word that is not one of the enumeration, with the nearest one. A
// secret has none, because its nearest word would tell of it.
func (d *decoder) notInEnum(t *Type, n *Node) {
	near := ""
	if !n.concealed() {
		near = Nearest(n.Text, t.Enum)
	}
	found := n.found(t.Secret)
	if n.Kind == NodeString && !n.concealed() {
		found = strconv.Quote(Shorten(n.Text))
	}
	d.add(Error, n.Pos, near, fmt.Sprintf("%s must be %s, not %s", d.name(), t, found))
}

// fail reports why the text of n is not in the notation of t. The error of a notation
// quotes the text, so that of a secret is not shown.
func (d *decoder) fail(t *Type, n *Node, err error) {
	if n.concealed() || t.Secret {
		d.mismatch(t, n, "")
		return
	}
	d.add(Error, n.Pos, "", fmt.Sprintf("%s: %s", d.name(), err))
}

// notation returns the text of a scalar that is read as text in t's notation.
func (d *decoder) notation(t *Type, n *Node, ok bool) (string, bool) {
	if !ok || !n.took(t.Kind) {
		d.mismatch(t, n, "")
		return "", false
	}
	return n.text(), true
}

// counted reads the text of a length of time or a size. A number without a fraction is a
// whole one, however it is written: encoding/json gives each number as a float64.
func (d *decoder) counted(t *Type, n *Node) (string, bool) {
	if n.Kind == NodeFloat {
		if f, err := parseFloat(n.Text); err == nil && f == math.Trunc(f) && math.Abs(f) < maxExact {
			return strconv.FormatInt(int64(f), 10), true
		}
	}
	return d.notation(t, n, n.Kind == NodeString || n.Kind == NodeInt)
}

// duration reads a length of time in the unit of t.
func (d *decoder) duration(t *Type, n *Node) (time.Duration, bool) {
	s, ok := d.counted(t, n)
	if !ok {
		return 0, false
	}
	v, err := ParseDuration(s, t.Unit)
	if err != nil {
		d.fail(t, n, err)
		return 0, false
	}
	return v, d.bounded(t, n, int64(v), "negative")
}

// size reads a number of bytes.
func (d *decoder) size(t *Type, n *Node) (Size, bool) {
	s, ok := d.counted(t, n)
	if !ok {
		return 0, false
	}
	v, err := ParseSize(s)
	if err != nil {
		d.fail(t, n, err)
		return 0, false
	}
	return v, d.bounded(t, n, int64(v), "negative")
}

// bounded reports a length of time or a size outside of its bounds.
func (d *decoder) bounded(t *Type, n *Node, v int64, below string) bool {
	switch {
	case within(t, v):
		return true
	case v < 0 && t.Min != nil && *t.Min == 0 && !n.covert:
		d.add(Error, n.Pos, "", fmt.Sprintf("%s is %s, it must not be %s", d.name(), Shorten(n.Text), below))
	default:
		d.mismatch(t, n, "")
	}
	return false
}

// mode reads a mode as it was written, so that 0644 without quotes is octal, too.
func (d *decoder) mode(t *Type, n *Node) (Mode, bool) {
	// YAML takes 0999 for a number with a fraction, since it is not octal.
	number := n.Kind == NodeInt || n.Kind == NodeFloat
	s, ok := d.notation(t, n, n.Kind == NodeString || number && !n.typed)
	if !ok {
		return "", false
	}
	m, err := ParseMode(s)
	if err != nil {
		d.fail(t, n, err)
		return "", false
	}
	if lint := Mode(s).Lint(); lint != "" && !n.concealed() {
		d.add(Warning, n.Pos, "", fmt.Sprintf("%s: %s", d.name(), lint))
	}
	return m, true
}

// ref reads a reference; empty text is a reference to nothing.
func (d *decoder) ref(t *Type, n *Node) (Ref, bool) {
	s, ok := d.notation(t, n, n.Kind == NodeString)
	if !ok || s == "" {
		return Ref{}, ok
	}
	r, err := ParseRef(s)
	if err != nil {
		d.fail(t, n, err)
		return Ref{}, false
	}
	if t.Target != "" && r.Kind != t.Target {
		d.mismatch(t, n, "")
		return Ref{}, false
	}
	return r, true
}
