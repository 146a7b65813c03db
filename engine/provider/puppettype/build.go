package puppettype

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// unlimited is the most parameters of a type that takes any number.
const unlimited = 1 << 30

// signature says how many parameters a type takes, and makes it of them.
//
// A reader fails by p.fail, which panics with an *Error; Parse recovers it. So a reader
// that returns has a type.
type signature struct {
	// least and most bound how many parameters there may be, both included.
	least, most int
	make        func(p *parser, e expr) *Type
}

// signatures is every type that takes parameters. A name that is not in here and has a
// Kind stands alone. The table is written by init and only read later, so parsers may
// run at the same time.
var signatures map[Kind]signature

// init fills the table, since its functions refer to the table again when types nest.
func init() {
	signatures = map[Kind]signature{
		KindBoolean:    {1, 1, (*parser).boolean},
		KindInteger:    {1, 2, (*parser).integer},
		KindFloat:      {1, 2, (*parser).float},
		KindTimestamp:  {1, 2, (*parser).timestamp},
		KindTimespan:   {1, 2, (*parser).timespan},
		KindString:     {1, 2, sized(KindString)},
		KindCollection: {1, 2, sized(KindCollection)},
		KindEnum:       {1, unlimited, (*parser).enum},
		KindPattern:    {1, unlimited, (*parser).pattern},
		KindRegexp:     {1, 1, (*parser).oneRegexp},
		KindSemVer:     {1, unlimited, (*parser).semVer},
		KindVariant:    {1, unlimited, (*parser).variant},
		KindTuple:      {1, unlimited, (*parser).tuple},
		KindCallable:   {1, unlimited, (*parser).callable},
		KindArray:      {1, 3, (*parser).array},
		KindHash:       {2, 4, (*parser).hashType},
		KindStruct:     {1, 1, (*parser).structType},
		KindOptional:   {1, 1, (*parser).literalOrType},
		KindNotUndef:   {0, 1, (*parser).literalOrType},
		KindSensitive:  {0, 1, (*parser).holder},
		KindType:       {1, 1, (*parser).holder},
		KindIterable:   {1, 1, (*parser).holder},
		KindInit:       {1, 1, (*parser).holder},
		KindRuntime:    {2, 2, (*parser).named},
		KindClass:      {1, 1, (*parser).named},
		KindResource:   {1, 2, (*parser).resource},
	}
}

// knownResources are the resource types that every Puppet has; File[...] is the type of
// a reference to one. The names are in lower case, since Puppet folds the case of
// references.
var knownResources = map[string]bool{
	"component": true, "exec": true, "file": true, "filebucket": true, "group": true, "node": true, "notify": true, "package": true,
	"resources": true, "schedule": true, "service": true, "stage": true, "tidy": true, "user": true, "whit": true,
}

// absent are types of Puppet that no value of an attribute can have. They get an error
// of their own, because a nearest name would mislead.
var absent = []string{"Object", "TypeSet", "TypeAlias", "TypeReference", "Iterator", "Error", "Target", "Deferred", "ProcessOutput"}

// kindByName finds a type by its name in lower case: of a name only the case of the
// first letter counts.
var kindByName = sync.OnceValue(func() map[string]Kind {
	out := map[string]Kind{}
	for k := range Kind(numKinds) {
		if k != KindUnit {
			out[strings.ToLower(k.String())] = k
		}
	}
	return out
})

// Names returns the name of every type, in alphabetical order.
func Names() []string {
	names := make([]string, 0, len(kindByName()))
	for _, k := range kindByName() {
		names = append(names, k.String())
	}
	slices.Sort(names)
	return names
}

// source returns the text of e. It is the text as the user wrote it, shortened for an
// error.
func (p *parser) source(e expr) string { return shorten(p.text[e.at:e.end]) }

// notType fails because e stands where a type must.
func (p *parser) notType(e expr) {
	p.fail(e.at, false, nearestType(e.text), "%s is not a type", p.source(e))
}

// typeKind returns the kind that e names.
func (e expr) typeKind() (Kind, bool) {
	k, known := kindByName()[strings.ToLower(strings.TrimPrefix(e.text, "::"))]
	return k, known && e.kind == tokType
}

// typeOf returns the type that e is.
func (p *parser) typeOf(e expr) *Type {
	if e.kind != tokType {
		p.notType(e)
	}
	name := strings.TrimPrefix(e.text, "::")
	k, known := e.typeKind()
	switch {
	// A reference is looked for before the error, as File is a type though it has no
	// Kind.
	case !known && knownResources[strings.ToLower(name)]:
		return p.reference(e, strings.ToLower(name))
	case !known:
		p.unknown(e, name)
	case !e.index:
		return bare[k]
	}
	sig, ok := signatures[k]
	if !ok {
		p.fail(e.at, false, "", "%s takes no parameters", name)
	}
	if n := len(e.args); n < sig.least || n > sig.most {
		p.fail(e.at, false, "", "%s takes %s, not %d", name, sig.count(), n)
	}
	return sig.make(p, e)
}

// count says how many parameters a type takes, for the error.
func (s signature) count() string {
	noun := "parameters"
	if s.most == 1 {
		noun = "parameter"
	}
	switch {
	case s.most == unlimited:
		return fmt.Sprintf("at least %d parameter", s.least)
	case s.least == s.most:
		return fmt.Sprintf("%d %s", s.least, noun)
	}
	return fmt.Sprintf("%d to %d %s", s.least, s.most, noun)
}

// unknown fails with the best reason for a name that means nothing here. The nearest name is
// suggested only where a slip is likely: not for names of modules, which are right
// elsewhere.
func (p *parser) unknown(e expr, name string) {
	switch {
	case slices.Contains(absent, name):
		p.fail(e.at, false, "", "no value of an attribute is of the type %s", name)
	case strings.Contains(name, "::"):
		p.fail(e.at, false, "", "%s is an alias of a module, which is not known here; write out the type that it stands for", shorten(name))
	}
	p.fail(e.at, false, nearestType(name), "there is no type %s", shorten(name))
}

// nearestType returns the name of a type that differs from the word by a slip, or nothing.
func nearestType(word string) string {
	return schema.Nearest(strings.TrimPrefix(word, "::"), Names())
}

// boolean reads the only value that a Boolean may be bound to.
func (p *parser) boolean(e expr) *Type {
	if a := e.args[0]; a.kind == tokName && (a.text == "true" || a.text == "false") && !a.index {
		return &Type{kind: KindBoolean, truth: new(a.text == "true")}
	}
	p.fail(e.args[0].at, false, "", "Boolean takes true or false, not %s", p.source(e.args[0]))
	return nil
}

// isValue reports whether e is a word that stands for a value, not for itself.
func (e expr) isValue() bool {
	return e.kind == tokName && slices.Contains([]string{"true", "false", "default", "undef"}, e.text)
}

// isDefault reports whether e is the word for "no bound".
func (e expr) isDefault() bool { return e.kind == tokName && e.text == "default" && !e.index }

// spanOf reads one or two bounds by read. A word default stands for an open end. A
// range upside down is an error, because no value would fit.
func spanOf[T any](p *parser, e expr, order func(a, b T) int, read func(expr) T) span[T] {
	var s span[T]
	for i, bound := range []**T{&s.lo, &s.hi}[:len(e.args)] {
		if !e.args[i].isDefault() {
			*bound = new(read(e.args[i]))
		}
	}
	if s.lo != nil && s.hi != nil && order(*s.lo, *s.hi) > 0 {
		p.fail(e.at, false, "", "the lower bound of %s is above the upper one", p.source(e))
	}
	return s
}

// resultOf is for a reading that may fail with a reason.
func resultOf[T any](p *parser, e expr, v T, err error) T {
	if err != nil {
		p.fail(e.at, false, "", "%s", err)
	}
	return v
}

// textOf reads a string. A bare word is refused, since Puppet reads it as a name there.
func (p *parser) textOf(e expr, what string) string {
	if e.kind != tokString {
		p.fail(e.at, false, "", "%s must be in quotes, %s is not", what, p.source(e))
	}
	return e.text
}

// whole reads a bound of a length.
func (p *parser) whole(e expr) int64 {
	if e.kind != tokInt {
		p.fail(e.at, false, "", "%s is not a whole number", p.source(e))
	}
	return e.whole
}

// sizeOf reads the one or two bounds of a length, or an Integer[min, max]. A negative
// number counts as 0. The sizes of two types compare without regard to the form in
// which they were written. A lone number is the lower bound, as in Puppet: String[5]
// has no upper one.
func (p *parser) sizeOf(e expr, args []expr) *Size {
	var s span[int64]
	// Integer[1, 5] as the only parameter says the same as two bounds.
	if len(args) == 1 && args[0].kind == tokType {
		t := p.typeOf(args[0])
		if t.kind != KindInteger {
			p.notType(args[0])
		}
		s = t.ints
	} else {
		s = spanOf(p, expr{token: e.token, args: args}, compareInts, p.whole)
	}
	size := anySize
	if s.lo != nil {
		size.Min = max(0, *s.lo)
	}
	if s.hi != nil {
		size.Max = max(0, *s.hi)
	}
	return &size
}

// sized makes the reader of a type whose parameters are the bounds of a length.
func sized(k Kind) func(p *parser, e expr) *Type {
	return func(p *parser, e expr) *Type { return &Type{kind: k, size: p.sizeOf(e, e.args)} }
}

// wordsOf reads names and strings.
func (p *parser) wordsOf(e expr, args []expr) []string {
	words := make([]string, len(args))
	for i, a := range args {
		if a.kind != tokString && a.kind != tokName || a.index {
			p.fail(a.at, false, "", "%s takes words, %s is none", e.text, p.source(a))
		}
		words[i] = a.text
	}
	return words
}

// enum reads the words of an Enum. A last true or false is the switch for case. Puppet
// lets capital words stand among others and matches no text with them. Alone they are
// an error here, since no value would fit.
func (p *parser) enum(e expr) *Type {
	args, fold := e.args, false
	if last := args[len(args)-1]; last.kind == tokName && (last.text == "true" || last.text == "false") {
		args, fold = args[:len(args)-1], last.text == "true"
	}
	if len(args) == 0 {
		p.fail(e.at, false, "", "Enum takes at least one word; write 'true' in quotes where it is one")
	}
	// The slice has no room, so that append leaves the expression of the parser alone.
	words := args[:0:0]
	for _, a := range args {
		switch {
		case a.kind == tokType && !a.index && len(args) > 1: // a type, which no text is equal to
			continue
		case a.kind == tokType || a.isValue():
			p.fail(a.at, false, "", "Enum takes words; write '%s' in quotes", a.text)
		}
		words = append(words, a)
	}
	if args = words; len(args) == 0 {
		p.fail(e.at, false, "", "Enum takes words, and capital ones are types; write them in quotes")
	}
	return newEnum(p.wordsOf(e, args), fold)
}

// compile reads an expression of Ruby, with or without slashes, and reports its fault
// at the place in the text. The expression is compiled once, here; matching never fails
// later.
func (p *parser) compile(e expr) *rubyre.Regexp {
	if e.kind != tokRegexp && e.kind != tokString && e.kind != tokName || e.isValue() {
		p.fail(e.at, false, "", "%s is not a regular expression", p.source(e))
	}
	re, err := rubyre.New(e.text)
	return resultOf(p, e, re, err)
}

// pattern joins expressions, and those of other Pattern and Regexp types, to one list in
// the order of the text.
func (p *parser) pattern(e expr) *Type {
	t := &Type{kind: KindPattern}
	for _, a := range e.args {
		if a.kind != tokType {
			t.patterns = append(t.patterns, p.compile(a))
			continue
		}
		in := p.typeOf(a)
		if in.kind != KindPattern && in.kind != KindRegexp || len(in.patterns) == 0 {
			p.fail(a.at, false, "", "Pattern takes regular expressions, %s is none", p.source(a))
		}
		t.patterns = append(t.patterns, in.patterns...)
	}
	return t
}

// oneRegexp reads the only expression that a Regexp may be bound to.
func (p *parser) oneRegexp(e expr) *Type {
	return &Type{kind: KindRegexp, patterns: []*rubyre.Regexp{p.compile(e.args[0])}}
}

// semVer reads ranges of versions; a version is in the type if one of them has it. A
// wrong range is reported at its own place in the list.
func (p *parser) semVer(e expr) *Type {
	t := &Type{kind: KindSemVer}
	for _, a := range e.args {
		r, err := ParseVersionRange(p.textOf(a, "a range of versions"))
		t.versions = append(t.versions, resultOf(p, a, r, err))
	}
	return t
}

// typesOf reads a list in which each element is a type.
func (p *parser) typesOf(args []expr) []*Type {
	types := make([]*Type, len(args))
	for i, a := range args {
		types[i] = p.typeOf(a)
	}
	return types
}

// variant reads a union. One alternative alone is that type itself. Alternatives that
// repeat count once, and nested unions are flattened.
func (p *parser) variant(e expr) *Type { return variantOf(p.typesOf(e.args)...) }

// literalOrType reads the content of an Optional or a NotUndef, where a word is the
// type of that one string.
func (p *parser) literalOrType(e expr) *Type {
	if len(e.args) == 1 && !e.args[0].index && !e.args[0].isValue() && (e.args[0].kind == tokString || e.args[0].kind == tokName) {
		k, _ := e.typeKind()
		return wrap(k, newLiteral(e.args[0].text))
	}
	return p.holder(e)
}

// holder reads a type that wraps another one, or none.
func (p *parser) holder(e expr) *Type {
	k, _ := e.typeKind()
	if len(e.args) == 0 {
		return bare[k]
	}
	return wrap(k, p.typeOf(e.args[0]))
}

// named reads a type whose parameters are words, which no value is compared with.
func (p *parser) named(e expr) *Type {
	k, _ := e.typeKind()
	return &Type{kind: k, words: p.wordsOf(e, e.args)}
}

// resource reads Resource[type] and Resource[type, title]. Puppet folds the case of the
// type, so Resource['File'] and Resource['file'] are equal.
func (p *parser) resource(e expr) *Type {
	first := e.args[0]
	if first.kind == tokType {
		first.kind = tokName
	}
	words := p.wordsOf(e, append([]expr{first}, e.args[1:]...))
	if words[0] == "" {
		p.notType(first)
	}
	words[0] = strings.ToLower(words[0])
	return &Type{kind: KindResource, words: words}
}

// reference reads File and File[title].
// Its titles are kept only for the text: no attribute holds a reference.
func (p *parser) reference(e expr, name string) *Type {
	if len(e.args) > 1 {
		p.fail(e.at, false, "", "%s takes one title", e.text)
	}
	return &Type{kind: KindResource, words: append([]string{name}, p.wordsOf(e, e.args)...)}
}
