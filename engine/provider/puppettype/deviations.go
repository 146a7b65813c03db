package puppettype

// Deviation is a sort of case in which this package does otherwise than Puppet, on
// purpose.
type Deviation struct {
	File   string // of the cases seen on Puppet, without its suffix
	Case   string // a regular expression on the case, as TestVectors writes it
	Puppet string // a regular expression on what Puppet does; empty for all
	Unseen bool   // it follows from the rules, no case in testdata shows it
	Reason string
}

const (
	notAType    = "A name that is no type is an error at registration, with the nearest name; Puppet accepts it and then refuses every value."
	emptyReason = "Puppet refuses without a word; a refusal says what was expected and what was found."
	noValues    = "No value of an attribute can be of this type, so it is refused at registration."
	oddSizes    = "Puppet takes numbers in place of types for types that nobody means; they are refused at registration."
	beyondRE2   = "RE2 has no look-around, back-references, atomic groups and possessive repeats; they are refused at registration."
	oneBound    = "A single bound means 'from then on', so the type of one moment is written with both: the text of a type reads back as the same type."
	bareAccepts = "The bare type accepts none of these values, so it cannot be assigned the type that has them."
)

// re2Cannot finds what translate refuses.
const re2Cannot = `/.*(\(\?(<?[=!]|[>~(])|\\[1-9kgXG]|[*+?]\+).*/`

// Deviations returns all of them, for the tests and for the page that lists them.
func Deviations() []Deviation {
	return []Deviation{
		{File: "datatypes_parse", Puppet: `^(UnresolvedAlias = )?TypeReference`, Reason: notAType},
		{File: "datatypes_instance", Puppet: `references an unresolved type`, Unseen: true, Reason: notAType},
		{File: "munge", Puppet: `references an unresolved type`, Unseen: true, Reason: notAType},
		{File: "datatypes_parse", Case: `^(Object|TypeSet|Iterator|Error|Target|Deferred)\b|\bCallable\[\[|^URI\[`, Unseen: true, Reason: noValues},
		{File: "datatypes_parse", Case: `^Tuple\[(a|1,2)\]$`, Reason: oddSizes},
		{File: "datatypes_parse", Case: `^(Array|Hash)\[ *\d|=> *\d`, Unseen: true, Reason: oddSizes},
		{File: "datatypes_instance", Case: `^(Array|Hash)\[ *\d`, Reason: oddSizes},
		{File: "datatypes_parse", Case: re2Cannot, Unseen: true, Reason: beyondRE2},
		{File: "datatypes_instance", Case: re2Cannot, Unseen: true, Reason: beyondRE2},
		{File: "munge", Case: re2Cannot, Unseen: true, Reason: beyondRE2},
		{File: "datatypes_instance", Puppet: `^refused: $`, Reason: emptyReason},
		{File: "munge", Puppet: `^refused: $`, Unseen: true, Reason: emptyReason},
		{File: "datatypes_instance", Case: `Sensitive\[.*\[`, Puppet: `^accepted$`,
			Reason: "Puppet forgets bounds inside of a Sensitive; the specification makes a value that does not match an error."},
		{File: "datatypes_parse", Case: `Sensitive\[.*\[`, Unseen: true,
			Reason: "Bounds inside of a Sensitive are kept."},
		{File: "datatypes_infer", Puppet: `Times(tamp|pan)\['[^']*'\]`, Unseen: true, Reason: oneBound},
		{File: "datatypes_instance", Puppet: `got Times(tamp|pan)\['[^']*'\]$`, Reason: oneBound},
		{File: "datatypes_instance", Case: `^Tuple\[.*, *(\d+|default) *\]`, Puppet: `index \d`, Unseen: true,
			Reason: "The index is that of the element; Puppet stops counting at the last type, which repeats."},
		{File: "datatypes_assignable", Case: `^(Enum|Variant|Optional) <- `, Puppet: `^true$`, Reason: bareAccepts},
		{File: "datatypes_assignable", Case: `^(Iterable.*) <- `, Puppet: `^true$`, Unseen: true,
			Reason: "An Integer below 0 cannot be iterated, so that only ranges from 0 on are assignable."},
		{File: "datatypes_assignable", Case: `^Struct\[.* <- Hash`, Puppet: `^true$`, Unseen: true,
			Reason: "Of a Hash the keys are not known, so it may lack those of a Struct."},
		{File: "datatypes_assignable", Case: `^Pattern\[`, Puppet: `^false$`, Unseen: true,
			Reason: "A Pattern with more alternatives takes all that one with fewer takes."},
		{File: "datatypes_infer", Case: `undef|null`, Unseen: true,
			Reason: "Puppet drops undef from the common type of elements, so that the type of an array does not accept it."},
		{File: "munge", Puppet: `is not unabiguously convertable`,
			Reason: "Readings that give the same value are one; where they differ, the message says what to do."},
	}
}
