package schema

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Size is a number of bytes. It is written as a number with an optional unit. The units
// k, M, G, T, P, E count in thousands, and Ki, Mi, Gi, Ti, Pi, Ei in 1024s. Each may
// have a B behind it; K is the same as k.
type Size int64

// sizeUnits are in the order of their powers: the first is the base itself.
const sizeUnits = "kMGTPE"

// ParseSize reads 512, 64k, 1.5G, 10MiB. The result must be a whole number of bytes
// that fits 63 bits; a sign is allowed, a fraction of a byte is not. No float is used
// on the way, so 0.1k is 100 exactly. One blank may stand before the unit.
func ParseSize(s string) (Size, error) {
	bad := fmt.Errorf("%q is not a size, write it as 512, 64k, 1.5G or 10MiB", Shorten(s))
	digits := len(s) - len(strings.TrimLeft(s, "+-0123456789."))
	if len(s) > maxUnitWidth || !decimal(s[:digits]) {
		return 0, bad
	}
	mult, ok := sizeUnit(strings.TrimPrefix(s[digits:], " "))
	if !ok {
		return 0, bad
	}
	whole, frac, _ := strings.Cut(strings.TrimLeft(s[:digits], "+-"), ".")
	part, ok := fractionOf(frac, uint64(mult))
	if !ok {
		return 0, fmt.Errorf("%s is not a whole number of bytes", s)
	}
	negative := s[0] == '-'
	n, ok := timesPlus(whole, uint64(mult), part)
	switch {
	case ok && negative && n <= 1<<63:
		return Size(-n), nil
	case ok && !negative && n < 1<<63:
		return Size(n), nil
	}
	return 0, fmt.Errorf("%s is too large a size", s)
}

// fractionOf returns the fraction of a unit that digits after a point say. It reports whether that is a whole number. Where it
// is one, each digit leaves a whole number, from the last on. The unit is at most 1<<60, so that nothing overflows.
func fractionOf(digits string, unit uint64) (n uint64, whole bool) {
	for i := len(digits) - 1; i >= 0; i-- {
		n += uint64(digits[i]-'0') * unit
		if n%10 != 0 {
			return 0, false
		}
		n /= 10
	}
	return n, true
}

// timesPlus returns so many units and n more. It reports whether that fits.
func timesPlus(digits string, unit, n uint64) (sum uint64, fits bool) {
	count, err := strconv.ParseUint(digits, 10, 64)
	over, product := bits.Mul64(count, unit)
	sum, carry := bits.Add64(product, n, 0)
	return sum, err == nil && over == 0 && carry == 0
}

// decimal reports whether s is digits with an optional sign and fraction.
func decimal(s string) bool {
	whole, frac, dot := strings.Cut(s, ".")
	if dot && (frac == "" || strings.Trim(frac, "0123456789") != "") {
		return false
	}
	return isInt(whole)
}

// sizeUnit returns how many bytes a unit is.
func sizeUnit(unit string) (int64, bool) {
	unit = strings.TrimSuffix(unit, "B") // 64k and 64kB are the same
	if unit == "" {
		return 1, true
	}
	base := int64(1000)
	if rest, ok := strings.CutSuffix(unit, "i"); ok {
		base, unit = 1024, rest
	}
	if unit == "K" {
		unit = "k"
	}
	pow := strings.Index(sizeUnits, unit)
	if len(unit) != 1 || pow < 0 {
		return 0, false
	}
	mult := base
	for range pow {
		mult *= base
	}
	return mult, true
}

// String writes the size in the largest unit that divides it, and so that ParseSize
// reads it again: 10MiB, 64kB, 512. Powers of 1024 come before powers of 1000, as
// memory is counted so.
func (s Size) String() string {
	if s == 0 {
		return "0"
	}
	for pow := len(sizeUnits); pow > 0; pow-- {
		for _, unit := range []string{sizeUnits[pow-1:pow] + "iB", sizeUnits[pow-1:pow] + "B"} {
			unit = strings.Replace(unit, "ki", "Ki", 1)
			if mult, _ := sizeUnit(unit); int64(s)%mult == 0 {
				return strconv.FormatInt(int64(s)/mult, 10) + unit
			}
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText writes the size as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the size as ParseSize does.
func (s *Size) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSize(string(b))
	return err
}
