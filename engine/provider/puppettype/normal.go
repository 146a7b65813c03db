package puppettype

import (
	"cmp"
	"slices"
	"time"
)

// normal returns t as a message shows it: the same values, without its idle parts (a
// NotUndef around a type without undef), unions joined. Lower starts from it too, so
// that a union of ranges lowers to a range.
func (t *Type) normal() *Type {
	switch t.kind {
	case KindOptional:
		return normalOptional(t)
	case KindNotUndef:
		return normalNotUndef(t)
	case KindVariant:
		return normalVariant(t)
	case KindInit: // the written type decides what it makes
		return t
	}
	return t.mapped((*Type).normal)
}

// normalOptional drops an Optional around a type that has undef already.
func normalOptional(t *Type) *Type {
	if t.elem == nil {
		return t
	}
	switch in := t.elem.normal(); {
	case in.kind == KindNotUndef:
		return newOptional(in.elem.orAny()).normal()
	case in.mayBeUndef():
		return in
	default:
		return newOptional(in)
	}
}

// normalNotUndef drops a NotUndef around a type that has no undef.
func normalNotUndef(t *Type) *Type {
	if t.elem == nil {
		return t
	}
	switch in := t.elem.normal(); {
	case in.kind == KindOptional && in.elem != nil:
		return wrap(KindNotUndef, in.elem).normal()
	case !in.mayBeUndef():
		return in
	default:
		return wrap(KindNotUndef, in)
	}
}

// normalVariant joins alternatives that are alike and pulls undef out of them. It runs
// until nothing changes, so the result is a fixed point.
func normalVariant(t *Type) *Type {
	alts := variantOf(apply(t.types, (*Type).normal)...)
	if alts.kind != KindVariant || len(alts.types) == 0 {
		return alts
	}
	var rest []*Type
	undef := false
	for _, alt := range alts.types {
		switch {
		case alt.kind == KindUndef || alt.kind == KindOptional && alt.elem == nil:
			undef = true
		case alt.kind == KindOptional:
			undef = true
			rest = append(rest, alt.elem)
		default:
			rest = append(rest, alt)
		}
	}
	if undef {
		return newOptional(variantOf(rest...)).normal()
	}
	if merged := mergeAlike(rest); len(merged) < len(rest) {
		return variantOf(merged...)
	}
	return alts
}

// mergeAlike joins alternatives of one kind: words and patterns go to the end, ranges
// to the front. The order is that of Puppet's messages.
func mergeAlike(types []*Type) []*Type {
	types = joinLast(types, (*Type).wordy, func(same []*Type) *Type {
		var words []string
		for _, t := range same {
			words = append(words, t.asEnum().words...)
		}
		return newEnum(words, false)
	})
	types = joinLast(types, func(t *Type) bool { return t.kind == KindPattern }, func(same []*Type) *Type {
		all := &Type{kind: KindPattern}
		for _, t := range same {
			for _, p := range t.patterns {
				if !slices.ContainsFunc(all.patterns, p.Equal) {
					all.patterns = append(all.patterns, p)
				}
			}
		}
		return all
	})
	for _, k := range []Kind{KindInteger, KindFloat, KindTimespan, KindTimestamp} {
		types = joinRanges(types, k)
	}
	return types
}

// wordy reports whether a type is a list of words, whose case counts.
func (t *Type) wordy() bool {
	return t.value != nil || t.kind == KindEnum && len(t.words) > 0 && !t.fold
}

// joinLast replaces two or more types that are alike by what join makes of them.
func joinLast(types []*Type, alike func(*Type) bool, join func([]*Type) *Type) []*Type {
	same, others := partition(types, alike)
	if len(same) < 2 {
		return types
	}
	return append(others, join(same))
}

// partition splits a list in two and keeps the order in both.
func partition(types []*Type, in func(*Type) bool) (yes, no []*Type) {
	for _, t := range types {
		if in(t) {
			yes = append(yes, t)
		} else {
			no = append(no, t)
		}
	}
	return yes, no
}

// joinRanges joins the ranges of one kind that meet. The last range takes in every
// range that it meets, then the rest goes through again. The cost is the square of the
// number of ranges.
func joinRanges(types []*Type, k Kind) []*Type {
	ranges, others := partition(types, func(t *Type) bool { return t.kind == k })
	if len(ranges) < 2 {
		return types
	}
	var joined []*Type
	for len(ranges) > 0 {
		last := len(ranges) - 1
		whole, apart := ranges[last], []*Type(nil)
		for _, r := range ranges[:last] {
			if next := whole.joinRange(r); next != nil {
				whole = next
			} else {
				apart = append(apart, r)
			}
		}
		joined, ranges = append(joined, whole), apart
	}
	return append(joined, others...)
}

// joinRange returns the range of both where they meet or, for integers, follow one
// another; else nil.
func (t *Type) joinRange(o *Type) *Type {
	switch {
	case t.big != nil || o.big != nil:
	case t.kind == KindFloat && t.floats.meets(o.floats, cmp.Compare):
		return &Type{kind: t.kind, floats: t.floats.join(o.floats, cmp.Compare)}
	case t.kind == KindTimestamp && t.times.meets(o.times, time.Time.Compare):
		return &Type{kind: t.kind, times: t.times.join(o.times, time.Time.Compare)}
	case t.kind == KindTimespan && t.ints.meets(o.ints, compareInts),
		t.kind == KindInteger && (t.ints.meets(o.ints, compareInts) || follows(t.ints, o.ints) || follows(o.ints, t.ints)):
		return &Type{kind: t.kind, ints: t.ints.join(o.ints, compareInts)}
	}
	return nil
}

// follows reports whether b begins right behind a, so that no whole number lies between
// them.
func follows(a, b span[int64]) bool {
	return a.hi != nil && b.lo != nil && *a.hi < *b.lo && *a.hi+1 == *b.lo
}
