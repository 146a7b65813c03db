package plugintest

import (
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// sample returns inputs with every required property. Optional ones are left out: a provider may have rules between them that
// no schema says.
func sample(t *schema.Type, name string) protocol.Bag {
	out := protocol.Bag{}
	for _, f := range t.Fields {
		if f.Required && f.Role != schema.RoleReadOnly {
			out[f.Key] = sampleOf(f.Type, name)
		}
	}
	return out
}

// sampleOf returns a value of a type, within its bounds.
func sampleOf(t *schema.Type, name string) any {
	switch t.Kind {
	case schema.KindBool:
		return true
	case schema.KindInt:
		return within(1, t.Min, t.Max)
	case schema.KindFloat:
		return within(1.5, t.FloatMin, t.FloatMax)
	case schema.KindDuration:
		return "1s"
	case schema.KindSize:
		return int64(1024)
	case schema.KindMode:
		return "0644"
	case schema.KindRef:
		return t.Target + "[" + name + "]"
	case schema.KindList:
		out := []any{}
		for range within(1, t.Min, t.Max) {
			out = append(out, sampleOf(t.Elem, name))
		}
		return out
	case schema.KindMap:
		out := map[string]any{}
		for i := range within(1, t.Min, t.Max) {
			key := fmt.Sprint("key", i)
			if len(t.Enum) > 0 {
				key = t.Enum[min(int(i), len(t.Enum)-1)]
			}
			out[key] = sampleOf(t.Elem, name)
		}
		return out
	case schema.KindStruct:
		return map[string]any(sample(t, name))
	}
	if len(t.Enum) > 0 {
		return t.Enum[0]
	}
	return text(t, name)
}

// within returns the number that is nearest to n within two bounds, each nil for none.
func within[N int64 | float64](n N, low, high *N) N {
	if low != nil {
		n = max(n, *low)
	}
	if high != nil {
		n = min(n, *high)
	}
	return n
}

// ofFormats has a text of each notation of schema.Formats.
var ofFormats = map[string]string{
	"ip": "192.0.2.1", "cidr": "192.0.2.0/24", "mac": "52:54:00:12:34:56", "portrange": "8000-8010", "uri": "https://example.org/path",
	"email": "root@example.org", "semver": "1.2.3",
}

// mostRepeats bounds the tries of text. A text that a pattern wants to be longer is for a file of inputs.
const mostRepeats = 300

// text returns a text that fits a type: the name where it does, since that is like no other. Where no try fits, the provider
// refuses the name, and the author gives inputs.
func text(t *schema.Type, name string) string {
	fits := func(s string) bool { return schema.Check(t, s).Err() == nil }
	long := strings.Repeat(name, mostRepeats)
	tries := []string{name, ofFormats[t.Format]}
	if t.Min != nil || t.Max != nil {
		n := within(int64(len(name)), t.Min, t.Max)
		tries = append(tries, name[max(0, len(name)-int(n)):], long[:min(int(n), len(long))])
	}
	if i := slices.IndexFunc(tries, fits); i >= 0 {
		return tries[i]
	}
	re, err := syntax.Parse(t.Pattern, syntax.Perl)
	for n := 0; err == nil && n <= mostRepeats; n++ {
		if s := matching(re, n); fits(s) {
			return s
		}
	}
	return name
}

// matching returns a text that an expression matches, in which each part that may be repeated is there n times, as far as that is
// allowed. Within such a part, others are there once, so that the length grows with n alone.
func matching(re *syntax.Regexp, n int) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return string(pick(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpStar:
		return strings.Repeat(matching(re.Sub[0], min(n, 1)), n)
	case syntax.OpPlus:
		return strings.Repeat(matching(re.Sub[0], min(n, 1)), max(n, 1))
	case syntax.OpQuest:
		return strings.Repeat(matching(re.Sub[0], n), min(n, 1))
	case syntax.OpRepeat:
		times := max(n, re.Min)
		if re.Max >= 0 {
			times = min(times, re.Max)
		}
		return strings.Repeat(matching(re.Sub[0], min(n, 1)), times)
	case syntax.OpAlternate:
		return matching(re.Sub[0], n)
	}
	var b strings.Builder // a group, a sequence, or an anchor
	for _, sub := range re.Sub {
		b.WriteString(matching(sub, n))
	}
	return b.String()
}

// pick returns a character of a class, whose ranges are pairs: a letter or a digit where there is one.
func pick(ranges []rune) rune {
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_./ " {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'a' // a class without members matches nothing
	}
	return ranges[0]
}

// with returns a copy of a bag with another value for a key; nil for none.
func with(b protocol.Bag, key string, v any) protocol.Bag {
	c := maps.Clone(b)
	if c[key] = v; v == nil {
		delete(c, key)
	}
	return c
}
