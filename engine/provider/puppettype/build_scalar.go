package puppettype

import (
	"cmp"
	"math"
	"time"
)

var compareInts = cmp.Compare[int64]

// integer reads the bounds of an Integer. They have 64 bits; values are not bounded, so
// Integer[0] also takes a larger number.
func (p *parser) integer(e expr) *Type {
	return ranged(&Type{kind: KindInteger, ints: spanOf(p, e, compareInts, p.whole)})
}

// float reads the bounds of a Float, which may be written as whole numbers.
func (p *parser) float(e expr) *Type {
	return ranged(&Type{kind: KindFloat, floats: spanOf(p, e, cmp.Compare, p.numberOf)})
}

// ranged returns the bare type where there is no bound. So Integer[default, default] is
// equal to Integer, and prints as that.
func ranged(t *Type) *Type {
	if t.isBare() {
		return bare[t.kind]
	}
	return t
}

// numberOf reads a bound of a Float. A whole number is taken too, though no value of a
// Float is whole.
func (p *parser) numberOf(e expr) float64 {
	if e.kind != tokInt && e.kind != tokFloat {
		p.fail(e.at, false, "", "%s is not a number", p.source(e))
	}
	return e.num
}

// timestamp reads the bounds of a Timestamp, both included.
func (p *parser) timestamp(e expr) *Type {
	return ranged(&Type{kind: KindTimestamp, times: spanOf(p, e, time.Time.Compare, p.moment)})
}

// moment reads '2020-01-31T12:30:00 UTC', or a number of seconds since 1970.
func (p *parser) moment(e expr) time.Time {
	if e.kind == tokInt || e.kind == tokFloat {
		return p.unixTime(e)
	}
	at, err := ParseTimestamp(p.textOf(e, "a time"))
	return resultOf(p, e, at, err)
}

// unixTime reads a number of seconds since 1970. A year has four digits, so that
// FormatTimestamp writes each bound in a way that reads back.
func (p *parser) unixTime(e expr) time.Time {
	whole, fraction := math.Modf(e.num)
	if math.Abs(whole) < 1e12 {
		if at := time.Unix(int64(whole), int64(fraction*float64(time.Second))).UTC(); 0 <= at.Year() && at.Year() <= 9999 {
			return at
		}
	}
	p.fail(e.at, false, "", "%s seconds are not within the years 0 to 9999", e.text)
	return time.Time{}
}

// timespan reads the bounds of a Timespan. They are kept in nanoseconds.
func (p *parser) timespan(e expr) *Type {
	return ranged(&Type{kind: KindTimespan, ints: spanOf(p, e, compareInts, p.duration)})
}

// duration reads '1-02:03:04.5', or a number of seconds.
func (p *parser) duration(e expr) int64 {
	if e.kind == tokInt || e.kind == tokFloat {
		ns := e.num * float64(time.Second)
		if math.Abs(ns) >= 1<<63 {
			p.fail(e.at, false, "", "%s seconds are more than 292 years", e.text)
		}
		return int64(ns)
	}
	d, err := ParseTimespan(p.textOf(e, "a length of time"))
	return int64(resultOf(p, e, d, err))
}
