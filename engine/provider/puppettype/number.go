package puppettype

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// numeric is what Puppet takes for a number: a sign, then hexadecimal, octal or
// decimal digits, then a fraction and an exponent; blanks around.
var numeric = lazyregexp.New(`\A[ \t]*([-+]?)[ \t]*(?:0[xX]([0-9A-Fa-f]+)|([0-9]+)((?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?))[ \t]*\z`)

// parseNumber reads a number as Puppet does: an int64, a *big.Int or a float64. A
// leading 0 makes whole digits octal, so 010 is 8. Underscores and a fraction without a
// digit before it are refused.
func parseNumber(s string) (any, bool) {
	m := numeric.FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}
	sign, hex, digits, rest := m[1], m[2], m[3], m[4]
	switch {
	case hex != "":
		return wholeNumber(sign+hex, 16)
	case rest != "":
		f, err := strconv.ParseFloat(sign+digits+rest, 64)
		return f, err == nil
	case len(digits) > 1 && digits[0] == '0':
		return wholeNumber(sign+digits[1:], 8)
	}
	return wholeNumber(sign+digits, 10)
}

// wholeNumber reads digits of a base: as an int64 where it fits, else as a *big.Int.
func wholeNumber(s string, base int) (any, bool) {
	n, ok := new(big.Int).SetString(strings.TrimPrefix(s, "+"), base)
	switch {
	case !ok:
		return nil, false
	case n.IsInt64():
		return n.Int64(), true
	}
	return n, true
}
