package puppettype

import (
	"cmp"
	"math"
	"math/big"
)

// span is the values from lo to hi, both included; nil means unbounded. Neither end is
// ever altered, so spans share them.
type span[T any] struct{ lo, hi *T }

// has reports whether v is within s.
func (s span[T]) has(v T, order func(a, b T) int) bool {
	return (s.lo == nil || order(*s.lo, v) <= 0) && (s.hi == nil || order(v, *s.hi) <= 0)
}

// covers reports whether all of o is within s. An open end of o needs an open end of s.
func (s span[T]) covers(o span[T], order func(a, b T) int) bool {
	return (s.lo == nil || o.lo != nil && order(*s.lo, *o.lo) <= 0) && (s.hi == nil || o.hi != nil && order(*o.hi, *s.hi) <= 0)
}

// join returns the smallest span that covers both.
func (s span[T]) join(o span[T], order func(a, b T) int) span[T] {
	j := s
	if s.lo != nil && (o.lo == nil || order(*o.lo, *s.lo) < 0) {
		j.lo = o.lo
	}
	if s.hi != nil && (o.hi == nil || order(*o.hi, *s.hi) > 0) {
		j.hi = o.hi
	}
	return j
}

// meets reports whether s and o have a value in common.
func (s span[T]) meets(o span[T], order func(a, b T) int) bool {
	return (s.hi == nil || o.lo == nil || order(*o.lo, *s.hi) <= 0) && (o.hi == nil || s.lo == nil || order(*s.lo, *o.hi) <= 0)
}

// open reports whether a span excludes nothing.
func (s span[T]) open() bool { return s.lo == nil && s.hi == nil }

// equal compares the bounds by order, since two moments may differ as Go values and be the
// same time.
func (s span[T]) equal(o span[T], order func(a, b T) int) bool {
	same := func(a, b *T) bool { return a == b || a != nil && b != nil && order(*a, *b) == 0 }
	return same(s.lo, o.lo) && same(s.hi, o.hi)
}

// exactly is the span of one value. Both ends point to the same copy.
func exactly[T any](v T) span[T] { return span[T]{&v, &v} }

// hasBig reports whether an Integer takes n, which may be beyond 64 bits.
func (t *Type) hasBig(n *big.Int) bool {
	switch {
	case t.big != nil:
		return t.big.Cmp(n) == 0
	case n.IsInt64():
		return t.ints.has(n.Int64(), cmp.Compare)
	case n.Sign() > 0:
		return t.ints.hi == nil
	}
	return t.ints.lo == nil
}

// hasFloat reports whether f is within s; NaN never is. The order of cmp puts NaN below
// every number, so it is asked first.
func hasFloat(s span[float64], f float64) bool {
	return !math.IsNaN(f) && s.has(f, cmp.Compare)
}

// noLimit is the Max of a Size without one.
const noLimit = math.MaxInt64

// Size bounds a length, both ends included. Max is math.MaxInt64 where there is no
// limit. A String counts characters. A Min above Max has no length, and comes from no
// text: Parse refuses it.
type Size struct{ Min, Max int64 }

var anySize = Size{0, noLimit}

// The laws of sizes: covers and join say of two sizes the same as has says of all lengths in them.
func (s Size) has(n int64) bool   { return s.Min <= n && n <= s.Max }
func (s Size) covers(o Size) bool { return s.Min <= o.Min && o.Max <= s.Max }
func (s Size) join(o Size) Size   { return Size{min(s.Min, o.Min), max(s.Max, o.Max)} }
func (s Size) empty() bool        { return s.Max == 0 }

// or returns *s, or every size where there is none.
func (s *Size) or() Size {
	if s == nil {
		return anySize
	}
	return *s
}
