package puppettype

import "slices"

// Deviation is a sort of case in which this package does otherwise than Puppet, on
// purpose. The recorded cases of Puppet stand in testdata. A case that differs without
// a Deviation fails the tests. Unseen has to say exactly whether a case shows it.
type Deviation struct {
	File   string // of the cases seen on Puppet, without its suffix
	Case   string // a regular expression on the case, as TestVectors writes it
	Puppet string // a regular expression on what Puppet does; empty for all
	Ours   string // the same on what this package does
	Unseen bool   // it follows from the rules, no case in testdata shows it
	Reason string
}

// The reasons that several deviations share. They are sentences for the page that lists
// them.
const (
	notAType    = "An unknown name of a type is an error at registration, with the nearest name; Puppet accepts it and then refuses every value."
	notExpected = "A text that is not a type is refused at the first word that cannot belong to a type. Puppet reads it in its whole language."
	emptyReason = "Puppet refuses without a word; a refusal here names the expected type and the found one."
	noValues    = "No value of an attribute can be of this type, so it is refused at registration."
	oddSizes    = "Puppet accepts numbers in place of types, and takes them for types that no author means. They are refused at registration."
	notWord     = "Where a type must stand a word is refused; Puppet makes a type of it that no value is of."
	beyondRE2   = "RE2 has no look-around, back-references, atomic groups and possessive repeats; they are refused at registration."
	ofRE2       = "RE2 knows \\b and \\B of ASCII letters, and its ^ stands behind a last newline, too."
	oneBound    = "A single bound means 'from then on', so the type of one moment is written with both. The text of a type reads back as the same type."
	bareAccepts = "The bare type accepts none of these values, so it cannot be assigned the type that has them."
	keepsBounds = "Bounds inside of a Sensitive are kept."
	hidesInside = "The content of a Sensitive shows in general terms only, without lengths and words."
	otherKinds  = "An Init takes the things that one value makes, without arguments; an Iterable is asked element by element."
	noNumber    = "Not a number (NaN) is of no type of numbers."
	notSymbol   = "The symbols undef and default are these values, not text."
	uriParts    = "The parts of a URI do not belong to its type."
	fullTypes   = "The content of a Type is written in full."
	emptyUnion  = "A bare Enum, Variant or Optional has no values but undef, so it can be assigned to every type that takes that."
	allParts    = "Each misfit is shown, also the size of a Collection and the values that a bare Optional, Variant or Enum refuses. Values that fit are not shown."
)

// re2Cannot finds what translate refuses.
const re2Cannot = `/.*(\(\?(<?[=!]|[>~(])|\\[1-9kgXG]|[*+?]\+).*/`

// bareUnion finds the types that are unions of nothing.
const bareUnion = `\b(Enum|Variant|Optional)($|[^\[\w])`

// Deviations returns all of them, for the tests and for the page that lists them.
func Deviations() []Deviation {
	return slices.Concat(parseDeviations, valueDeviations, latticeDeviations)
}

// parseDeviations are about the text of a type: what Puppet reads, and this package
// refuses or writes in another way.
var parseDeviations = []Deviation{
	{File: "datatypes_parse", Puppet: `TypeReference`, Ours: `^refused`, Reason: notAType},
	{File: "datatypes_parse", Case: `\b(Object|TypeSet|Iterator|Error|Target|Deferred)\b|\bCallable\[\[|^URI\[`, Ours: `^refused`, Unseen: true, Reason: noValues},
	{File: "datatypes_parse", Case: `\bTuple\[ *(\d|.*\d *, *\d+ *, *\d)|(Array|Hash)\[ *\d|=> *\d|Integer\[[^]]*(\.|- |--)`, Ours: `^refused`, Reason: oddSizes},
	{File: "datatypes_parse", Puppet: `Runtime\[ruby, '`, Ours: `^refused`, Reason: notWord},
	{File: "datatypes_parse", Case: re2Cannot, Ours: `^refused`, Unseen: true, Reason: beyondRE2},
	{File: "datatypes_parse", Puppet: `^(refused|syntax error)`, Ours: `^(refused|syntax error)`, Unseen: true, Reason: notExpected},
	{File: "datatypes_parse", Ours: `- is no part of a type`, Unseen: true, Reason: "A minus stands right before its number."},
	{File: "datatypes_parse", Puppet: `^[A-Z]`, Ours: `64 bits`, Unseen: true,
		Reason: "The bounds of a type are numbers of 64 bits; values are not bounded."},
	{File: "datatypes_parse", Puppet: `^Struct`, Ours: `given twice`, Unseen: true,
		Reason: "A key that is given twice is an error; Puppet takes the last one."},
	{File: "datatypes_parse", Case: `Optional\[''\]`, Ours: `is not a key`, Unseen: true, Reason: "A key of a Struct is not empty."},
	{File: "datatypes_parse", Puppet: `/\(\?-mix:`, Unseen: true, Reason: "A pattern is written as it was given."},
	{File: "datatypes_parse", Case: `Timespan\[[^'"]*\d\.\d`, Unseen: true, Reason: "A fraction of a second that is given as a number is written as that fraction."},
	{File: "datatypes_parse", Case: `Resource\[`, Ours: `Resource\['`, Unseen: true, Reason: "The type of a resource that is not Puppet's own is written so that it reads back."},
	{File: "datatypes_parse", Case: `::[A-Z]\w*\[`, Puppet: `^refused`, Unseen: true, Reason: "A name may begin with :: whether it has parameters or not."},
	{File: "datatypes_parse", Case: `SemVer\[.*['"]['"]|Init\[.*,`, Ours: `^refused`, Unseen: true, Reason: "An empty range of versions, and an Init with arguments, are refused."},
	{File: "datatypes_parse", Case: `Sensitive\[`, Unseen: true, Reason: keepsBounds},
}

// valueDeviations are about values: whether a type takes them, the words of a refusal,
// and the reading of a command line.
var valueDeviations = []Deviation{
	{File: "datatypes_instance", Puppet: `references an unresolved type`, Unseen: true, Reason: notAType},
	{File: "munge", Puppet: `references an unresolved type`, Unseen: true, Reason: notAType},
	{File: "datatypes_instance", Case: `^(Array|Hash)\[ *\d`, Reason: oddSizes},
	{File: "datatypes_instance", Case: re2Cannot, Unseen: true, Reason: beyondRE2},
	{File: "munge", Case: re2Cannot, Unseen: true, Reason: beyondRE2},
	{File: "datatypes_instance", Case: `/.*(\\[bBZ]|\^).*/`, Puppet: `match for|^accepted`, Unseen: true, Reason: ofRE2},
	{File: "munge", Case: `/.*(\\[bBZ]|\^).*/`, Puppet: `match for|^"`, Unseen: true, Reason: ofRE2},
	{File: "datatypes_instance", Puppet: `^refused: $`, Reason: emptyReason},
	{File: "munge", Puppet: `^refused: $`, Unseen: true, Reason: emptyReason},
	{File: "datatypes_instance", Case: `Sensitive\[.*\[`, Puppet: `^accepted$`,
		Reason: "Puppet forgets bounds inside of a Sensitive; the specification makes a value that does not match an error."},
	{File: "datatypes_instance", Case: `Sensitive\[.*\[`, Ours: `expects a Sensitive\[`, Unseen: true, Reason: keepsBounds},
	{File: "munge", Case: `Sensitive\[.*\[`, Ours: `expects a Sensitive\[`, Unseen: true, Reason: keepsBounds},
	{File: "datatypes_instance", Puppet: `Sensitive\[`, Ours: `Sensitive\[`, Unseen: true, Reason: hidesInside},
	{File: "munge", Puppet: `Sensitive\[`, Ours: `Sensitive\[`, Unseen: true, Reason: hidesInside},
	{File: "datatypes_instance", Puppet: `got .*Times(tamp|pan)\['[^']*'\]`, Reason: oneBound},
	{File: "munge", Puppet: `got .*Times(tamp|pan)\['[^']*'\]`, Unseen: true, Reason: oneBound},
	{File: "datatypes_instance", Case: `Tuple\[.*, *(\d+|default) *\]`, Puppet: `index \d`, Ours: `index \d`, Unseen: true,
		Reason: "The index is that of the element; Puppet stops counting at the last type, which repeats."},
	{File: "munge", Case: `Tuple\[.*, *(\d+|default) *\]`, Puppet: `index \d`, Ours: `index \d`, Unseen: true,
		Reason: "The index is that of the element; Puppet stops counting at the last type, which repeats."},
	{File: "datatypes_instance", Case: `Collection\[|` + bareUnion, Puppet: `^refused`, Ours: `^refused`, Unseen: true, Reason: allParts},
	{File: "munge", Case: `Collection\[|` + bareUnion, Puppet: `^refused`, Ours: `^refused`, Unseen: true, Reason: allParts},
	{File: "datatypes_instance", Puppet: `got (Hash\[Unit, Unit\]|Array\[Unit\])`, Unseen: true, Reason: allParts},
	{File: "munge", Puppet: `got (Hash\[Unit, Unit\]|Array\[Unit\])`, Unseen: true, Reason: allParts},
	{File: "munge", Case: `"`, Puppet: `got Undef$`, Unseen: true, Reason: "Text that is not a number stays text; Puppet makes undef of some."},
	{File: "datatypes_instance", Case: `\b(Init|Iterable)\[`, Unseen: true, Reason: otherKinds},
	{File: "munge", Case: `\b(Init|Iterable)\[`, Unseen: true, Reason: otherKinds},
	{File: "datatypes_instance", Case: `Tuple\[`, Puppet: `expects a match for`, Ours: `^refused`, Unseen: true, Reason: allParts},
	{File: "munge", Case: `Tuple\[`, Puppet: `expects a match for`, Ours: `^refused`, Unseen: true, Reason: allParts},
	{File: "datatypes_instance", Case: `Type\[.*\[`, Puppet: `Type\[`, Ours: `Type\[`, Unseen: true, Reason: fullTypes},
	{File: "munge", Case: `Type\[.*\[`, Puppet: `Type\[`, Ours: `Type\[`, Unseen: true, Reason: fullTypes},
	{File: "datatypes_instance", Case: `"nan"`, Unseen: true, Reason: noNumber},
	{File: "munge", Case: `"nan"`, Unseen: true, Reason: noNumber},
	{File: "munge", Case: `"\$t":"(default"|undef"|symbol")`, Unseen: true, Reason: notSymbol},
	{File: "datatypes_instance", Puppet: `URI\[\{`, Unseen: true, Reason: uriParts},
	{File: "munge", Puppet: `URI\[\{`, Unseen: true, Reason: uriParts},
	{File: "datatypes_instance", Case: `Type\[.*"type"`, Puppet: `got Type\[(Enum|Variant|Optional)\]`, Unseen: true, Reason: emptyUnion},
	{File: "munge", Case: `Type\[.*"type"`, Puppet: `got Type\[(Enum|Variant|Optional)\]`, Unseen: true, Reason: emptyUnion},
	{File: "datatypes_instance", Case: `Type\[.*` + bareUnion, Puppet: `^accepted`, Unseen: true, Reason: bareAccepts},
	{File: "datatypes_instance", Case: `SemVer\[.*\+`, Puppet: `^refused`, Ours: `^accepted`, Unseen: true, Reason: "The build of a version counts nothing in a range, also in one of a single version."},
	{File: "munge", Puppet: `is not unabiguously convertable`,
		Reason: "Readings that give the same value are one; where they differ, the message says what to do."},
}

// latticeDeviations are about the relations of types: which is assignable to which, and
// the types of values.
var latticeDeviations = []Deviation{
	{File: "datatypes_assignable", Case: `\b(Enum|Variant|Optional)([^\[\w].*)? <- `, Puppet: `^true$`, Reason: bareAccepts},
	{File: "datatypes_assignable", Case: `Iterable.* <- .*Integer`, Puppet: `^true$`, Unseen: true,
		Reason: "An Integer below 0 cannot be iterated, so that only ranges from 0 on are assignable."},
	{File: "datatypes_assignable", Case: `Struct\[.* <- .*Hash`, Puppet: `^true$`, Unseen: true,
		Reason: "Of a Hash the keys are not known, so it may lack those of a Struct."},
	{File: "datatypes_assignable", Case: `Pattern\[`, Puppet: `^false$`, Unseen: true,
		Reason: "A Pattern with more alternatives takes all that one with fewer takes."},
	{File: "datatypes_assignable", Case: ` <- .*` + bareUnion, Puppet: `^false$`, Unseen: true,
		Reason: emptyUnion},
	{File: "datatypes_assignable", Case: `NotUndef\[`, Puppet: `^false$`, Unseen: true,
		Reason: "NotUndef of a type that takes undef is that type without it."},
	{File: "datatypes_assignable", Case: `Sensitive\[`, Puppet: `^true$`, Unseen: true, Reason: keepsBounds},
	{File: "datatypes_assignable", Case: `(Optional|NotUndef)\['.* <- .*(Enum|String)`, Puppet: `^true$`, Unseen: true,
		Reason: "A type of one word is not assigned others."},
	{File: "datatypes_assignable", Case: ` <- .*\bTuple($|[^\[])`, Puppet: `^true$`, Unseen: true,
		Reason: "A bare Tuple has any number of elements, of every type."},
	{File: "datatypes_assignable", Case: ` <- .*SemVer\[`, Puppet: `^false$`, Unseen: true,
		Reason: "A range of versions upside down has none."},
	{File: "datatypes_assignable", Case: `Init\[`, Unseen: true,
		Reason: "An Init is assigned any type that it can convert to its own, whatever the value."},
	{File: "datatypes_assignable", Case: `Tuple\[.*\d *\]`, Puppet: `^false$`, Unseen: true,
		Reason: "Types of elements that a Tuple is too short to have do not count."},
	{File: "datatypes_infer", Puppet: `Times(tamp|pan)\['[^']*'\]`, Unseen: true, Reason: oneBound},
	{File: "datatypes_infer", Case: `undef|null`, Unseen: true,
		Reason: "Puppet drops undef from the common type of elements, so that the type of an array does not accept it."},
	{File: "datatypes_infer", Puppet: `Sensitive\[`, Ours: `Sensitive\[`, Unseen: true, Reason: hidesInside},
	{File: "datatypes_infer", Puppet: `URI\[\{`, Unseen: true, Reason: uriParts},
	{File: "datatypes_infer", Case: `"nan"`, Unseen: true, Reason: noNumber},
	{File: "datatypes_infer", Case: `"bigint"`, Puppet: `Integer\[`, Ours: `Integer[^\[]`, Unseen: true,
		Reason: "The common type of whole numbers beyond 64 bits has no bounds."},
}
