package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxDigits bounds the length of a number's notation. A longer one is a mistake or an
// attack, since no number of 64 bits needs so many signs.
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
	// There is one more negative number than there are positive ones.
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
		if len(text) > 1 && text[0] == '0' && isInt(text) && abs != 0 && !n.covert {
			d.add(Warning, n.Pos, "", fmt.Sprintf("%s is octal here and means %d; write 0o%s or %d", n.Text, abs, strings.TrimLeft(text, "0"), abs))
		}
		return neg, abs, true
	case NodeFloat:
		f, err := parseFloat(n.Text)
		if err != nil || f != math.Trunc(f) {
			d.mismatch(t, n, "")
			return false, 0, false
		}
		// From there on, neighbours have the same float64, so the meant number is not
		// known.
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

// parseUint reads 10, 0x1f, 0o17, 017, 0b11, with underscores. A leading 0 means octal,
// as in YAML 1.1; the caller warns of it.
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

// within compares with the bounds of a whole number or of a length; an absent bound
// holds.
func within(t *Type, i int64) bool {
	return (t.Min == nil || i >= *t.Min) && (t.Max == nil || i <= *t.Max)
}

// uintWithin is within for a number that may be above the range of a bound.
func uintWithin(t *Type, u uint64) bool {
	return (t.Min == nil || *t.Min <= 0 || u >= uint64(*t.Min)) && (t.Max == nil || *t.Max >= 0 && u <= uint64(*t.Max))
}

// outOfRange reports a whole number outside of the bits and bounds of t, naming
// the bound or the range that holds.
func (d *decoder) outOfRange(t *Type, n *Node) {
	if t.Min != nil && t.Max == nil && strings.HasPrefix(n.Text, "-") {
		d.mismatch(t, n, "") // the range of the bits would only distract
		return
	}
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

// float reads a number with or without a point. Written numbers are rounded to the
// width; numbers of a program must be exact.
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
	case t.FloatMin != nil && f < *t.FloatMin, t.FloatMax != nil && f > *t.FloatMax:
		d.mismatch(t, n, "")
	default:
		return f, true
	}
	return 0, false
}

// intAsFloat rounds a whole number that was written to the nearest float64, and
// refuses a sent number if it is not exact.
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
