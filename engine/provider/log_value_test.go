package provider

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// notation is a way of writing values in a log.
type notation struct {
	text   func(string) string
	symbol func(string) string // also a key of a Record
	undef  string
	arrow  string
}

var (
	manifestNotation = notation{quoteSingle, quoteSingle, "undef", " => "}
	rubyNotation     = notation{quoteRuby, func(s string) string { return ":" + s }, "nil", "=>"}
)

func quoteSingle(s string) string { return "'" + s + "'" }

// quoteRuby quotes text so that Ruby would not replace anything in it.
func quoteRuby(s string) string {
	return strings.NewReplacer("#{", `\#{`, "#$", `\#$`, "#@", `\#@`).Replace(strconv.Quote(s))
}

// maxLogged is the length of a value in a line of the log.
const maxLogged = 200

// short writes a value so that it fits into a line.
func (n notation) short(v any) string {
	s := n.value(v)
	if len(s) <= maxLogged {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(s[:maxLogged], ""), len(s))
}

func (n notation) value(v any) string {
	switch v := v.(type) {
	case nil:
		return n.undef
	case string:
		return n.text(v)
	case float64:
		return rubyFloat(v)
	case puppettype.Symbol:
		return n.symbol(string(v))
	case puppettype.Sensitive, schema.Secret:
		return schema.Redacted
	case []any:
		return n.list(v)
	case Record:
		return n.hash(n.entries(v, n.symbol))
	case map[string]any:
		return n.hash(n.entries(v, n.text))
	case puppettype.Map:
		return n.hash(n.pairs(v))
	case bool, int64, int, *big.Int:
		return fmt.Sprint(v)
	}
	return n.text(fmt.Sprint(v))
}

func (n notation) list(v []any) string {
	words := make([]string, len(v))
	for i, x := range v {
		words[i] = n.value(x)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func (n notation) entries(m map[string]any, key func(string) string) []string {
	words := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, key(k)+n.arrow+n.value(m[k]))
	}
	return words
}

func (n notation) pairs(m puppettype.Map) []string {
	words := make([]string, len(m))
	for i, e := range m {
		words[i] = n.value(e.Key) + n.arrow + n.value(e.Value)
	}
	return words
}

func (n notation) hash(words []string) string { return "{" + strings.Join(words, ", ") + "}" }

// rubyFloat writes a float with a fraction, always.
func rubyFloat(f float64) string {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		format = 'e'
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, format, -1, 64), "e")
	if !strings.ContainsAny(mantissa, ".IN") {
		mantissa += ".0"
	}
	if exponent != "" {
		return mantissa + "e" + exponent
	}
	return mantissa
}
