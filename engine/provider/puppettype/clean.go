package puppettype

import (
	"fmt"
	"reflect"
	"slices"
)

// Clean returns a value that a catalog gave as one of t, checked. Nothing is converted
// but the symbols true and false.
func (t *Type) Clean(subject string, v any) (any, error) {
	v = symbolTruth(settle(v))
	return v, t.Check(subject, v)
}

// symbolTruth makes a Boolean of the symbols true and false, which a Ruby program may pass
// in their place. All else stays as it is.
func symbolTruth(v any) any {
	switch v {
	case Symbol("true"):
		return true
	case Symbol("false"):
		return false
	}
	return v
}

// CleanText returns the text of a command line as a value of t, checked: "22" is a
// number where t wants one. A union takes the one reading that fits, text last;
// readings that differ are an error. Values other than text are kept, but for the
// elements of an Array. Hashes, structs, tuples and sensitive values are not read from
// text. The rules are those of the command puppet resource.
func (t *Type) CleanText(subject string, v any) (any, error) {
	return t.cleanText(subject, settle(v))
}

// cleanText is CleanText for a settled value. A value that it cannot read goes to Check as
// it came, so that the message shows the text that the user has typed.
func (t *Type) cleanText(subject string, v any) (any, error) {
	switch t.kind {
	case KindArray:
		v = t.cleanList(subject, v)
	case KindBoolean:
		v = readTruth(v)
	case KindInteger, KindFloat, KindNumeric:
		v = readNumber(v)
	// A symbol of a Ruby program is the same word as a text.
	case KindEnum, KindString, KindPattern:
		if s, ok := v.(Symbol); ok {
			v = string(s)
		}
	case KindOptional:
		if v == nil || t.elem == nil {
			return v, t.Check(subject, v)
		}
		return t.elem.cleanText(subject, v)
	case KindVariant:
		return t.cleanVariant(subject, v)
	}
	return v, t.Check(subject, v)
}

// cleanList reads each element; an unreadable one leaves all as they are. Otherwise the
// message would show values that the user has not typed.
func (t *Type) cleanList(subject string, v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(list))
	for i, item := range list {
		var err error
		if out[i], err = t.elem.CleanText(subject, item); err != nil {
			return v
		}
	}
	return out
}

// readTruth reads the words true and false. Other words stay text, and so do yes and 1,
// as in Puppet.
func readTruth(v any) any {
	if s, ok := v.(string); ok {
		v = Symbol(s)
		if b, ok := symbolTruth(v).(bool); ok {
			return b
		}
		return s
	}
	return symbolTruth(v)
}

// readNumber reads a number of any base; other text stays text.
func readNumber(v any) any {
	if s, ok := v.(string); ok {
		if n, ok := parseNumber(s); ok {
			return n
		}
	}
	return v
}

// cleanVariant reads a text as each alternative but String. Readings that are equal are
// one, so that two ranges which meet do not contradict one another. String takes the
// text only where all others fail. Two readings that differ are an error and no guess:
// the user has to say which of them is meant.
func (t *Type) cleanVariant(subject string, v any) (any, error) {
	text := slices.IndexFunc(t.types, func(alt *Type) bool { return alt.kind == KindString })
	var hits []any
	for i, alt := range t.types {
		if i == text {
			continue
		}
		read, err := alt.cleanText(subject, v)
		if err == nil && !slices.ContainsFunc(hits, func(hit any) bool { return reflect.DeepEqual(hit, read) }) {
			hits = append(hits, read)
		}
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) > 1:
		return nil, &Mismatch{Subject: subject, Lines: []string{
			fmt.Sprintf("%s %s can be read in more than one way as %s; give it as JSON", subject, shown(v), t)}}
	case text >= 0:
		return t.types[text].cleanText(subject, v)
	}
	return v, t.Check(subject, v)
}

// shown writes a value for a message, a secret redacted.
func shown(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", shorten(s))
	}
	return "a value of " + infer(v).shortName()
}
