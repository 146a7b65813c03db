package puppettype

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"time"
)

// timestampLayouts are a date, with a time, with a zone behind a blank or without.
var timestampLayouts = sync.OnceValue(func() []string {
	var layouts []string
	for _, clock := range []string{"T15:4:5", " 15:4:5", "T15:4", " 15:4", ""} {
		for _, zone := range []string{"", "Z0700", " Z0700", "Z07:00", " Z07:00"} {
			layouts = append(layouts, "2006-1-2"+clock+zone)
		}
	}
	return layouts
})

// ParseTimestamp reads 2020-01-31, 2020-01-31T12:30:00.000 UTC, 2020-01-31 12:30:00
// +0100 and the like. A time without a zone is in UTC, and of names of zones only UTC
// is known. At most 25 layouts are tried, so the cost is bounded. The result is in UTC.
func ParseTimestamp(s string) (time.Time, error) {
	plain := strings.TrimSuffix(s, " UTC")
	for _, layout := range timestampLayouts() {
		if at, err := time.Parse(layout, plain); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is not a time; write it as 2020-01-31T12:30:00 UTC", quote(shorten(s)))
}

// FormatTimestamp writes a time as Puppet does. It has nine digits of a fraction, so no
// time is rounded.
func FormatTimestamp(at time.Time) string {
	return at.UTC().Format("2006-01-02T15:04:05.000000000 UTC")
}

const day = 24 * time.Hour

// ParseTimespan reads days-hours:minutes:seconds.fraction, from the right: 90,
// 1:30, 1-00:00:00.5.
func ParseTimespan(s string) (time.Duration, error) {
	if d, ok := parseTimespan(s); ok {
		return d, nil
	}
	return 0, fmt.Errorf("%s is not a length of time; write it as 1-23:59:59.5", quote(shorten(s)))
}

// parseTimespan sums up the units from the right. It counts in big numbers, so that a
// length of time which is too long is refused and does not wrap around.
func parseTimespan(s string) (time.Duration, bool) {
	rest, negative := strings.CutPrefix(s, "-")
	var total big.Int
	days, rest2, ok := strings.Cut(rest, "-")
	if ok {
		rest = rest2
		if !addUnits(&total, days, day) || strings.Count(rest, ":") != 2 {
			return 0, false
		}
	}
	rest, fraction, dotted := strings.Cut(rest, ".")
	parts := strings.Split(rest, ":")
	if len(parts) > 3 || dotted && !addFraction(&total, fraction) {
		return 0, false
	}
	unit := time.Second
	for i := len(parts) - 1; i >= 0; i-- {
		if !addUnits(&total, parts[i], unit) {
			return 0, false
		}
		unit *= 60
	}
	if negative {
		total.Neg(&total)
	}
	return time.Duration(total.Int64()), total.IsInt64()
}

// addUnits adds digits times a unit. A sign before digits is refused, since the sign
// stands before the whole.
func addUnits(total *big.Int, digits string, unit time.Duration) bool {
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || digits[0] == '+' {
		return false
	}
	total.Add(total, new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(int64(unit))))
	return true
}

// addFraction adds up to nine digits behind the dot as nanoseconds. More digits are
// refused, since they would be lost.
func addFraction(total *big.Int, digits string) bool {
	if digits == "" || len(digits) > 9 {
		return false
	}
	return addUnits(total, (digits + "000000000")[:9], time.Nanosecond)
}

// FormatTimespan writes a length of time as Puppet does: 1-23:59:59.5.
func FormatTimespan(d time.Duration) string {
	// The unsigned form holds the shortest duration as well, whose positive value does
	// not fit.
	sign, n := "", uint64(d)
	if d < 0 {
		sign, n = "-", -n
	}
	ns, seconds := n%1e9, n/1e9
	fraction := strings.TrimRight(fmt.Sprintf("%09d", ns), "0")
	if fraction == "" {
		fraction = "0"
	}
	return fmt.Sprintf("%s%d-%02d:%02d:%02d.%s", sign, seconds/86400, seconds/3600%24, seconds/60%60, seconds%60, fraction)
}
