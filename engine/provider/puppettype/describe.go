package puppettype

import (
	"slices"
	"strconv"
	"strings"
)

// step is one step from the subject to the part of the value that does not fit.
type step struct {
	kind  stepKind
	text  string
	index int
}

type stepKind uint8

// The steps are the words of Puppet's own messages. A variant is numbered from 0.
const (
	stepSubject stepKind = iota
	stepEntry
	stepKey
	stepIndex
	stepVariant
)

// String writes the step in the words of Puppet, which users know from its messages.
func (s step) String() string {
	switch s.kind {
	case stepEntry:
		return "entry '" + s.text + "'"
	case stepKey:
		return "key of entry '" + s.text + "'"
	case stepIndex:
		return "index " + strconv.Itoa(s.index)
	case stepVariant:
		return "variant " + strconv.Itoa(s.index)
	}
	return s.text
}

// findClass is the sort of a finding.
type findClass uint8

const (
	findType    findClass = iota // expected and actual differ
	findPattern                  // as findType, of text that fits neither words nor patterns
	findSize                     // want and got differ
	findMissing                  // key is not there
	findUnknown                  // key should not be there
)

// finding is one thing that does not fit. Which fields are set depends on the class.
// The path begins with the subject.
type finding struct {
	class            findClass
	path             []step
	expected, actual *Type
	want, got        Size
	key              string
}

// String returns the finding as a line.
func (f finding) String() string {
	words := make([]string, len(f.path))
	for i, s := range f.path {
		words[i] = s.String()
	}
	return strings.Join(words, " ") + " " + f.message()
}

// place is the path without the numbers of variants. Findings of several alternatives
// at one place differ in nothing else.
func (f finding) place() []step {
	return slices.DeleteFunc(slices.Clone(f.path), func(s step) bool { return s.kind == stepVariant })
}

// join makes one finding of two at one place.
func (f finding) join(o finding) finding {
	if f.class == findSize {
		f.want = f.want.join(o.want)
		return f
	}
	f.expected = variantOf(f.expected, o.expected)
	return f
}

// below returns a longer path. It copies, since the findings of several branches share
// the beginning. The cost is the depth, which is paid for a refusal only.
func below(path []step, s step) []step { return append(slices.Clone(path), s) }

// describe returns the reasons that keep values of actual out of expected. It compares
// the expected type with the inferred type of the value, as Puppet does. It may find
// nothing for a value that is refused; mismatch then speaks of the whole value.
func describe(expected, actual *Type, path []step) []finding {
	return describeAs(expected.normal(), expected, actual, path)
}

// describeAs is describe for a type that the messages call original.
func describeAs(expected, original, actual *Type, path []step) []finding {
	// A message says Data, and not the union that Data stands for.
	if expected.isAlias() {
		return describeAs(expected.resolved(), expected, actual, path)
	}
	switch expected.kind {
	case KindVariant:
		return describeVariant(expected, original, actual, path)
	case KindOptional:
		return describeOptional(expected, original, actual, path)
	case KindStruct:
		return describeStruct(expected, original, actual, path)
	case KindHash:
		return describeHash(expected, original, actual, path)
	case KindTuple:
		return describeTuple(expected, original, actual, path)
	case KindArray:
		return describeArray(expected, original, actual, path)
	// Only the size of a Collection can be wrong.
	case KindCollection:
		if size, ok := actual.count(); ok {
			return sizeFinding(path, expected.size.or(), size)
		}
	case KindPattern, KindEnum:
		if expected.assignable(actual) {
			return nil
		}
		return []finding{{class: findPattern, path: path, expected: original, actual: actual}}
	}
	if expected.assignable(actual) {
		return nil
	}
	return typeFinding(path, original, actual)
}

// typeFinding is the one finding that the types differ.
func typeFinding(path []step, expected, actual *Type) []finding {
	return []finding{{class: findType, path: path, expected: expected, actual: actual}}
}

// sizeFinding is empty where the size is right.
func sizeFinding(path []step, want, got Size) []finding {
	if want.covers(got) {
		return nil
	}
	return []finding{{class: findSize, path: path, want: want, got: got}}
}

// describeOptional describes the type inside. The message names the Optional, so that the
// reader sees that undef would fit too.
func describeOptional(expected, original, actual *Type, path []step) []finding {
	switch {
	case actual.kind == KindUndef:
		return nil
	case expected.elem == nil:
		return typeFinding(path, undefType, actual)
	// An alias keeps its own name; any other Optional is named as it is written.
	case !original.isAlias():
		original = expected
	}
	return describeAs(expected.elem, original, actual, path)
}

// describeVariant asks every alternative: one without findings means that the value fits.
// The findings of all are merged where they say the same.
func describeVariant(expected, original, actual *Type, path []step) []finding {
	alts := expected.types
	// Undef is one more alternative of such a union, and counts in the numbers of the
	// path.
	if original.kind == KindOptional {
		alts = append([]*Type{undefType}, alts...)
	}
	if len(alts) == 0 {
		return typeFinding(path, original, actual)
	}
	var found []finding
	for i, alt := range alts {
		each := describe(alt, actual, below(path, step{stepVariant, "", i}))
		if len(each) == 0 {
			return nil
		}
		found = append(found, each...)
	}
	found = mergeFindings(len(path), found, len(alts))
	// A reader who has written Data does not know the parts of it.
	if original.isAlias() && len(found) == 1 {
		return typeFinding(path, original, actual)
	}
	return found
}

// mergeFindings makes one finding of equal ones about each alternative, and leaves out
// the number of the alternative when there is one finding. A wrong size comes first: if
// all alternatives refuse the size, their types do not matter.
func mergeFindings(position int, found []finding, alternatives int) []finding {
	for _, alike := range []func(findClass) bool{
		func(c findClass) bool { return c == findSize },
		func(c findClass) bool { return c == findType || c == findPattern },
	} {
		if one, ok := mergeAll(found, alternatives, alike); ok {
			found = []finding{one}
			break
		}
	}
	if len(found) == 1 && position < len(found[0].path) {
		found[0].path = slices.Delete(slices.Clone(found[0].path), position, position+1)
	}
	return found
}

// mergeAll joins the findings of one class at one place, one of each alternative. It gives
// up where an alternative has another place: the reader needs all of them then.
func mergeAll(found []finding, alternatives int, alike func(findClass) bool) (one finding, ok bool) {
	n := 0
	for _, f := range found {
		switch {
		case !alike(f.class):
			continue
		case n == 0:
			one = f
		case !slices.Equal(one.place(), f.place()):
			return finding{}, false
		default:
			one = one.join(f)
		}
		n++
	}
	return one, n > 0 && n == alternatives
}

// describeArray says the size first: with the wrong number of elements, their types are
// noise.
func describeArray(expected, original, actual *Type, path []step) []finding {
	switch actual.kind {
	case KindTuple:
		if found := sizeFinding(path, expected.size.or(), actual.tupleSize()); found != nil {
			return found
		}
		return describeElements(expected, actual, path)
	// Of an Array the single elements are not known, so the finding is about the list
	// as a whole.
	case KindArray:
		if found := sizeFinding(path, expected.size.or(), actual.size.or()); found != nil {
			return found
		}
		return typeFinding(path, original, newArray(actual.elem, nil))
	}
	return typeFinding(path, original, actual)
}

// describeElements goes through the elements of a Tuple. Each element that does not fit
// has its own finding.
func describeElements(expected, actual *Type, path []step) []finding {
	var found []finding
	for i, elem := range actual.types {
		if want := expected.element(i); !want.assignable(elem) {
			found = append(found, describe(want, elem, below(path, step{stepIndex, "", i}))...)
		}
	}
	return found
}

// describeTuple is describeArray for a list whose positions differ in type.
func describeTuple(expected, original, actual *Type, path []step) []finding {
	if !actual.listed() {
		return typeFinding(path, original, actual)
	}
	size, _ := actual.count()
	if found := sizeFinding(path, expected.tupleSize(), size); found != nil {
		return found
	}
	if actual.kind == KindTuple {
		return describeElements(expected, actual, path)
	}
	return typeFinding(path, original, actual)
}

// describeHash says the size first, then each key and each value that does not fit.
func describeHash(expected, original, actual *Type, path []step) []finding {
	if !actual.hashed() {
		return typeFinding(path, original, actual)
	}
	size, _ := actual.count()
	if found := sizeFinding(path, expected.size.or(), size); found != nil {
		return found
	}
	if actual.kind == KindHash {
		return typeFinding(path, original, newHash(actual.key, actual.elem, nil))
	}
	var found []finding
	// A key may be wrong as well as its value, and then both are named.
	for _, m := range actual.members {
		if !expected.key.assignable(m.keyType()) {
			found = append(found, describe(expected.key, m.keyType(), below(path, step{stepKey, m.Key, 0}))...)
		}
		found = append(found, describeMember(expected.elem, m, path)...)
	}
	return found
}

// describeMember describes the value of one key.
func describeMember(expected *Type, m Member, path []step) []finding {
	if expected.assignable(m.Type) {
		return nil
	}
	return describe(expected, m.Type, below(path, step{stepEntry, m.Key, 0}))
}

// describeStruct compares key by key where all keys are known. Of a Hash they are not, so
// there only the size and the types can be named.
func describeStruct(expected, original, actual *Type, path []step) []finding {
	switch actual.kind {
	case KindStruct:
		return describeMembers(expected, actual, path)
	case KindHash:
		if found := sizeFinding(path, expected.structSize(), actual.size.or()); found != nil {
			return found
		}
		return typeFinding(path, original, newHash(actual.key, actual.elem, nil))
	}
	return typeFinding(path, original, actual)
}

// describeMembers names missing keys in the order of the type, and unknown ones in the
// order of the value. So the text is the same on every run.
func describeMembers(expected, actual *Type, path []step) []finding {
	var found []finding
	for _, want := range expected.members {
		m := actual.member(want.Key)
		switch {
		case m != nil:
			found = append(found, describeMember(want.Type, *m, path)...)
		case !want.Optional:
			found = append(found, finding{class: findMissing, path: path, key: want.Key})
		}
	}
	for _, m := range actual.members {
		if expected.member(m.Key) == nil {
			found = append(found, finding{class: findUnknown, path: path, key: m.Key})
		}
	}
	return found
}
