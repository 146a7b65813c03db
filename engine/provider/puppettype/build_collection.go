package puppettype

import "strings"

// isBound reports whether e can be a bound of a length.
func (e expr) isBound() bool { return e.kind == tokInt || e.isDefault() }

// splitSize cuts the bounds of a length from the end of a list. At most the last two
// parameters are bounds. A number before them is refused by typeOf.
func (p *parser) splitSize(e expr) (types []expr, size *Size) {
	n := len(e.args)
	for n > 0 && n > len(e.args)-2 && e.args[n-1].isBound() {
		n--
	}
	if n < len(e.args) {
		size = p.sizeOf(e, e.args[n:])
	}
	return e.args[:n], size
}

// tuple reads the types of the elements, then how many there may be: the last type
// repeats. Without a size it takes exactly one element for each type.
func (p *parser) tuple(e expr) *Type {
	types, size := p.splitSize(e)
	if len(types) == 0 {
		p.fail(e.at, false, "", "Tuple takes the types of its elements before their number")
	}
	return &Type{kind: KindTuple, types: p.typesOf(types), size: size}
}

// callable reads the types of the parameters. A block as a parameter is refused, since no
// attribute holds a function.
func (p *parser) callable(e expr) *Type {
	types, size := p.splitSize(e)
	return &Type{kind: KindCallable, types: p.typesOf(types), size: size}
}

// isEmpty reports whether args are 0, 0: the size of an empty collection.
func isEmpty(args []expr) bool {
	return len(args) == 2 && args[0].kind == tokInt && args[1].kind == tokInt && args[0].whole == 0 && args[1].whole == 0
}

// array reads the type of the elements, then their number. Array[0, 0] is the one form
// without a type.
func (p *parser) array(e expr) *Type {
	if isEmpty(e.args) {
		return emptyArray
	}
	p.typesFirst(e, 1)
	if len(e.args) == 1 {
		return newArray(p.typeOf(e.args[0]), nil)
	}
	return newArray(p.typeOf(e.args[0]), p.sizeOf(e, e.args[1:]))
}

// hashType reads the types of keys and values, then the number of entries. Hash[0, 0] is
// the one form without types.
func (p *parser) hashType(e expr) *Type {
	if isEmpty(e.args) {
		return emptyHash
	}
	p.typesFirst(e, 2)
	if len(e.args) == 2 {
		return newHash(p.typeOf(e.args[0]), p.typeOf(e.args[1]), nil)
	}
	return newHash(p.typeOf(e.args[0]), p.typeOf(e.args[1]), p.sizeOf(e, e.args[2:]))
}

// typesFirst says what is missing where a size stands in place of a type.
func (p *parser) typesFirst(e expr, n int) {
	for _, a := range e.args[:n] {
		if a.isBound() {
			p.fail(a.at, false, "", "%s takes its size behind its types: %s[%s...]", e.text, e.text, strings.Repeat("Any, ", n))
		}
	}
}

// structType reads the members. Their order is that of the text and shows in messages.
// A key that is given twice is an error, since one of the two types would be lost. A
// Struct takes no keys but these.
func (p *parser) structType(e expr) *Type {
	h := e.args[0]
	if h.kind != '{' {
		p.fail(h.at, false, "", "Struct takes {key => Type, ...}, not %s", p.source(h))
	}
	t := &Type{kind: KindStruct}
	for _, kv := range h.pairs {
		m := p.memberOf(kv)
		if t.member(m.Key) != nil {
			p.fail(kv.key.at, false, "", "the key %s is given twice", quote(m.Key))
		}
		t.members = append(t.members, m)
	}
	return t
}

// memberOf reads name => T, Optional[name] => T or NotUndef[name] => T. By Puppet's
// rule a member may be missing where its key says so, or where its type takes undef.
// NotUndef[name] switches that off.
func (p *parser) memberOf(kv pair) Member {
	key, m := kv.key, Member{Type: p.typeOf(kv.value)}
	m.Optional = m.Type.mayBeUndef()
	if k, ok := key.typeKind(); ok && (k == KindOptional || k == KindNotUndef) && len(key.args) == 1 {
		m.Optional = k == KindOptional
		key = key.args[0]
	}
	if key.kind != tokName && key.kind != tokString || key.text == "" || key.index || key.isValue() {
		p.fail(key.at, false, "", "%s is not a key: it is a word, Optional[word] or NotUndef[word]", p.source(key))
	}
	m.Key = key.text
	return m
}
