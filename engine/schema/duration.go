package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units are what a bare integer of a duration may count in.
var units = map[string]time.Duration{
	"ns": time.Nanosecond,
	"us": time.Microsecond,
	"ms": time.Millisecond,
	"s":  time.Second,
	"m":  time.Minute,
	"h":  time.Hour,
}

// A day has 24 hours, whatever a calendar says of daylight saving.
const (
	day          = 24 * time.Hour
	maxUnitWidth = 32 // no duration that fits is written longer
)

// ParseDuration reads a length of time: 500ms, 1h30m, 2d, 1d12h, 1.5h, -3s, or a bare
// integer. A bare integer counts in unit, one of ns us ms s m h; empty means s. A day
// is 24 hours. A length that does not fit 64 bits of nanoseconds (292 years) is an
// error. Months and years are not units, since their lengths differ.
func ParseDuration(s, unit string) (time.Duration, error) {
	if isInt(s) {
		if unit == "" {
			unit = "s"
		}
		return bareDuration(s, unit)
	}
	days, rest, hasDays := strings.Cut(s, "d")
	if !hasDays {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, badDuration(s, err)
		}
		return d, nil
	}
	return daysDuration(s, days, rest)
}

// bareDuration counts a whole number in a unit, and refuses a product beyond 64 bits.
func bareDuration(s, unit string) (time.Duration, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	u := int64(units[unit])
	if err != nil || u == 0 || n > math.MaxInt64/u || n < -math.MaxInt64/u {
		return 0, fmt.Errorf("%s%s is too long a time", Shorten(s), unit)
	}
	return time.Duration(n * u), nil
}

// daysDuration adds days, which is a number with an optional sign and fraction,
// to the rest, which takes the sign.
func daysDuration(s, days, rest string) (time.Duration, error) {
	if strings.Trim(days, "+-.0123456789") != "" {
		return 0, badDuration(s, nil)
	}
	// The library knows no days, so hours are read and multiplied.
	d, err := time.ParseDuration(days + "h") // a day is as long as 24 of these
	if err != nil {
		return 0, badDuration(s, err)
	}
	var more time.Duration
	if rest != "" {
		if more, err = time.ParseDuration(rest); err != nil || strings.ContainsAny(rest[:1], "+-") {
			return 0, badDuration(s, err)
		}
	}
	if strings.HasPrefix(days, "-") {
		more = -more
	}
	if d > math.MaxInt64/24 || d < math.MinInt64/24 {
		return 0, fmt.Errorf("%s is too long a time", Shorten(s))
	}
	// A sum that went past an end has moved in the wrong direction.
	sum := d*24 + more
	if more > 0 && sum < d*24 || more < 0 && sum > d*24 {
		return 0, fmt.Errorf("%s is too long a time", Shorten(s))
	}
	return sum, nil
}

// badDuration tells a length that is too long from a misspelt one.
func badDuration(s string, err error) error {
	if err != nil && len(s) < maxUnitWidth && wellFormed(s) {
		return fmt.Errorf("%s is too long a time", s)
	}
	return fmt.Errorf("%q is not a length of time, write it as 500ms, 10s, 1h30m or 2d", Shorten(s))
}

// wellFormed reports whether s is numbers followed by known units, days first.
func wellFormed(s string) bool {
	s = strings.TrimLeft(s, "+-")
	for first := true; s != "" || first; first = false {
		rest := strings.TrimLeft(s, "0123456789.")
		end := len(rest) - len(strings.TrimLeft(rest, "nuµmshd"))
		unit := strings.Replace(rest[:end], "µ", "u", 1)
		if _, ok := units[unit]; len(rest) == len(s) || !ok && (unit != "d" || !first) {
			return false
		}
		s = rest[end:]
	}
	return true
}

// FormatDuration writes d as ParseDuration reads it, without units that are zero:
// 1h30m, 2d, 500ms. Only whole days are written as days: 36h is 36h.
func FormatDuration(d time.Duration) string {
	if d != 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// isInt reports whether s is digits with an optional sign.
func isInt(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	return s != "" && strings.Trim(s, "0123456789") == ""
}
