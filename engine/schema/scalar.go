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

// decoder walks a Node beside a Type. Its path is that of the value in hand; its
// findings are complete when the walk ends.
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

func (d *decoder) add(sev Severity, pos Pos, suggestion, message string) {
	path := ""
	if len(d.path) > 0 {
		path = formatPath(d.path)
	}
	d.diags = append(d.diags, Diagnostic{Severity: sev, Pos: pos, Path: path, Message: message, Suggestion: suggestion})
}

// mismatch reports that n is no value of t.
func (d *decoder) mismatch(t *Type, n *Node, hint string) {
	d.add(Error, n.Pos, "", fmt.Sprintf("%s must be %s, not %s%s", d.name(), t, n.found(t.Secret), hint))
}

// found describes what a Node holds, for a message; a secret's text is not shown.
func (n *Node) found(secret bool) string {
	switch n.Kind {
	case NodeNull:
		return "null"
	case NodeList:
		return "a list"
	case NodeMap:
		return "a map"
	case NodeString:
		if n.hidden != nil || secret {
			return "that text"
		}
		return fmt.Sprintf("the text %q", shorten(n.Text))
	case NodeBool, NodeInt, NodeFloat:
		if secret {
			return "that"
		}
		return shorten(n.Text)
	}
	return "something unknown"
}

// took reports whether n may be read as text in the notation of kind: one that was
// made from a value of another kind may not.
func (n *Node) took(kind Kind) bool {
	return !n.typed || n.of == kind || n.of == KindString || n.Kind == NodeInt
}

func (d *decoder) boolean(t *Type, n *Node) (v, ok bool) {
	if n.Kind == NodeBool || n.Kind == NodeString && !n.typed {
		switch text := strings.ToLower(n.Text); {
		case text == "yes", text == "on", text == "y", n.Kind == NodeBool && text == "true":
			return true, true
		case text == "no", text == "off", text == "n", n.Kind == NodeBool && text == "false":
			return false, true
		case text == "true", text == "false":
			d.mismatch(t, n, "; leave out the quotes")
			return false, false
		}
	}
	d.mismatch(t, n, "")
	return false, false
}

// maxDigits bounds the length of a number's notation.
const maxDigits = 128

// maxExact is the largest whole number below which a float64 is exact.
const maxExact = 1 << 53

// integer reads a whole number that fits the bits and the bounds of t. An unsigned
// one comes in u.
func (d *decoder) integer(t *Type, n *Node) (i int64, u uint64, ok bool) {
	neg, abs, ok := d.magnitude(t, n)
	if !ok {
		return 0, 0, false
	}
	if t.Unsigned {
		fits := (!neg || abs == 0) && abs>>1>>(cmpBits(t.Bits)-1) == 0
		if !fits || !uintWithin(t, abs) {
			d.outOfRange(t, n)
			return 0, 0, false
		}
		return 0, abs, true
	}
	limit := uint64(1)<<(cmpBits(t.Bits)-1) - 1
	if neg {
		limit++
	}
	i = int64(abs)
	if neg {
		i = -i
	}
	if abs > limit || !within(t, i) {
		d.outOfRange(t, n)
		return 0, 0, false
	}
	return i, 0, true
}

// cmpBits takes an int without a width for one of 64 bits.
func cmpBits(bits int) int {
	if bits == 0 {
		return 64
	}
	return bits
}

// magnitude reads the sign and the absolute value of a whole number.
func (d *decoder) magnitude(t *Type, n *Node) (neg bool, abs uint64, ok bool) {
	switch n.Kind {
	case NodeInt:
		text, neg := strings.CutPrefix(n.Text, "-")
		abs, err := parseUint(strings.TrimPrefix(text, "+"))
		if err == strconv.ErrRange {
			d.outOfRange(t, n)
			return false, 0, false
		} else if err != nil {
			d.mismatch(t, n, "")
			return false, 0, false
		}
		if len(text) > 1 && text[0] == '0' && isInt(text) && abs != 0 {
			d.add(Warning, n.Pos, "", fmt.Sprintf("%s is octal here and means %d; write 0o%s or %d", n.Text, abs, strings.TrimLeft(text, "0"), abs))
		}
		return neg, abs, true
	case NodeFloat:
		f, err := parseFloat(n.Text)
		if err != nil || f != math.Trunc(f) {
			d.mismatch(t, n, "")
			return false, 0, false
		}
		if math.Abs(f) >= maxExact {
			d.mismatch(t, n, ", which is not exact; write it without a point or an exponent")
			return false, 0, false
		}
		return f < 0, uint64(math.Abs(f)), true
	case NodeString:
		if isInt(n.Text) && !n.typed {
			d.mismatch(t, n, "; leave out the quotes")
			return false, 0, false
		}
	}
	d.mismatch(t, n, "")
	return false, 0, false
}

// parseUint reads 10, 0x1f, 0o17, 017, 0b11, with underscores.
func parseUint(text string) (uint64, error) {
	if len(text) > maxDigits {
		return 0, strconv.ErrSyntax
	}
	if len(text) == 0 || text[0] < '0' || text[0] > '9' {
		return 0, strconv.ErrSyntax
	}
	if strings.Contains(text, "_") {
		text = strings.ReplaceAll(text, "_", "")
	}
	abs, err := strconv.ParseUint(text, 0, 64)
	if ne, ok := err.(*strconv.NumError); ok {
		err = ne.Err
	}
	return abs, err
}

// parseFloat reads the notation of YAML and JSON. NaN is an error, as it equals
// nothing, and so is what is infinite or too large.
func parseFloat(text string) (float64, error) {
	if len(text) > maxDigits {
		return 0, strconv.ErrSyntax
	}
	if strings.Contains(text, "_") {
		text = strings.ReplaceAll(text, "_", "")
	}
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = strconv.ErrRange
	}
	return f, err
}

func within(t *Type, i int64) bool {
	return (t.Min == nil || i >= *t.Min) && (t.Max == nil || i <= *t.Max)
}

func uintWithin(t *Type, u uint64) bool {
	return (t.Min == nil || *t.Min <= 0 || u >= uint64(*t.Min)) && (t.Max == nil || *t.Max >= 0 && u <= uint64(*t.Max))
}

// outOfRange reports a whole number outside of the bits and bounds of t, naming
// the range that holds.
func (d *decoder) outOfRange(t *Type, n *Node) {
	bits := cmpBits(t.Bits)
	lo, hi := int64(-1)<<(bits-1), uint64(1)<<(bits-1)-1
	if t.Unsigned {
		lo, hi = 0, math.MaxUint64>>(64-bits)
	}
	if t.Min != nil {
		lo = max(lo, *t.Min)
	}
	if t.Max != nil {
		hi = min(hi, uint64(max(*t.Max, 0)))
	}
	d.add(Error, n.Pos, "", fmt.Sprintf("%s must be a whole number from %d to %s, not %s", d.name(), lo, upper(t, hi), n.found(t.Secret)))
}

// upper writes the upper end of a range, which is below zero only by a bound.
func upper(t *Type, hi uint64) string {
	if t.Max != nil && *t.Max < 0 {
		return strconv.FormatInt(*t.Max, 10)
	}
	return strconv.FormatUint(hi, 10)
}

func (d *decoder) float(t *Type, n *Node) (f float64, ok bool) {
	var err error
	switch n.Kind {
	case NodeInt:
		f, ok = d.intAsFloat(t, n)
		if !ok {
			return 0, false
		}
	case NodeFloat:
		f, err = parseFloat(n.Text)
	default:
		d.mismatch(t, n, "")
		return 0, false
	}
	switch {
	case err != nil:
		d.mismatch(t, n, "")
	case t.Bits == 32 && math.Abs(f) > math.MaxFloat32:
		d.mismatch(t, n, ", which is too large for 32 bits")
	case t.Bits == 32 && n.typed && float64(float32(f)) != f:
		d.mismatch(t, n, ", which is not exact in 32 bits")
	case t.Min != nil && f < float64(*t.Min), t.Max != nil && f > float64(*t.Max):
		d.mismatch(t, n, "")
	default:
		return f, true
	}
	return 0, false
}

// intAsFloat rounds a whole number that was written to the nearest float64, and
// refuses one that was sent if it is not exact.
func (d *decoder) intAsFloat(t *Type, n *Node) (float64, bool) {
	neg, abs, ok := d.magnitude(t, n)
	if !ok {
		return 0, false
	}
	f := float64(abs)
	if n.typed && (f >= 1<<64 || uint64(f) != abs) {
		d.mismatch(t, n, ", which is not exact as a number with a point")
		return 0, false
	}
	if neg {
		f = -f
	}
	return f, true
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
		if length := int64(utf8.RuneCountInString(s)); !within(t, length) {
			d.mismatch(t, n, "")
			return "", false
		}
	}
	return s, true
}

func (d *decoder) notInEnum(t *Type, n *Node) {
	near := ""
	if n.hidden == nil {
		near = Nearest(n.Text, t.Enum)
	}
	found := n.found(t.Secret)
	if n.Kind == NodeString && n.hidden == nil {
		found = strconv.Quote(shorten(n.Text))
	}
	d.add(Error, n.Pos, near, fmt.Sprintf("%s must be %s, not %s", d.name(), t, found))
}

// fail reports why the text of n is not in the notation of t.
func (d *decoder) fail(t *Type, n *Node, err error) {
	if n.hidden != nil || t.Secret {
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

func (d *decoder) duration(t *Type, n *Node) (time.Duration, bool) {
	s, ok := d.notation(t, n, n.Kind == NodeString || n.Kind == NodeInt)
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

func (d *decoder) size(t *Type, n *Node) (Size, bool) {
	s, ok := d.notation(t, n, n.Kind == NodeString || n.Kind == NodeInt)
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
	case v < 0 && t.Min != nil && *t.Min == 0:
		d.add(Error, n.Pos, "", fmt.Sprintf("%s is %s, it must not be %s", d.name(), shorten(n.Text), below))
	default:
		d.mismatch(t, n, "")
	}
	return false
}

func (d *decoder) mode(t *Type, n *Node) (Mode, bool) {
	s, ok := d.notation(t, n, n.Kind == NodeString || n.Kind == NodeInt && !n.typed)
	if !ok {
		return "", false
	}
	m, err := ParseMode(s)
	if err != nil {
		d.fail(t, n, err)
		return "", false
	}
	if lint := Mode(s).Lint(); lint != "" {
		d.add(Warning, n.Pos, "", fmt.Sprintf("%s: %s", d.name(), lint))
	}
	return m, true
}

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
	return r, true
}
