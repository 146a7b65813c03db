// Package puppettype is the data type language of Puppet 4. A type is written as
// text, such as Enum[present, absent] or Struct[{path => String[1]}]. It is then a set
// of values that can be checked and compared with other sets. It can be lowered to the
// schema.Type from which the rest of the program lives.
//
// # How it is used
//
//	t, err := puppettype.Parse("Optional[Integer[0, 65535]]") // at registration; err is an *Error
//	err = t.Check("apt_key.port", v)    // nil, or a *Mismatch with the words for users
//	v, err = t.CleanText(name, "22")    // what was typed on a command line: "22" becomes 22
//	st := t.Lower()                     // for decoding, pages, flags: everything that a schema.Type does
//	v, err = t.Lift(name, plain)        // a plain value of st as a value of t, checked
//	plain := puppettype.Plain(v)        // and back
//
// A field of a definition has t.Lower() as its type. The decoded value goes through
// t.Lift, which refuses values that a schema.Type cannot exclude (a Pattern, a
// Tuple). The results of a provider's Get go through t.Check. An attribute that is
// sensitive has t.AsSensitive() in place of t; CheckSecret is for values that are
// not wrapped. An attribute may be left out where t.Accepts(nil).
//
// # Laws
//
//   - A Type is immutable and safe for concurrent use. It is a set of values:
//     t.Accepts(v) says whether v is in it.
//   - t.Assignable(u) says that every value of u is one of t. It never says so
//     wrongly; it may fail to see it. It is reflexive and transitive.
//   - Infer(v) accepts v, unless v is or holds a NaN, which no Float takes.
//   - Common(t, u) has both t and u assigned to it.
//   - Parse(t.String()) equals t, for each t that Parse gave.
//   - Every unknown name of a type is an error of Parse with the nearest one. So are
//     a range upside down, a key given twice, and a pattern that cannot be compiled.
//   - Parse is bounded: MaxText bytes, maxDepth levels, maxProgram steps of a pattern.
//   - The content of a Sensitive, and a value that goes through CheckSecret, is in
//     no message.
//   - Nothing here starts a goroutine, reads a file or looks at a clock.
//   - Accepts does not allocate for a scalar.
//
// # Values
//
//	Undef        nil
//	Default      Default{}
//	Boolean      bool
//	Integer      int64; every Go integer; *big.Int beyond
//	Float        float64, float32
//	String       string, and every Go type made of one
//	Array        []any; every Go slice
//	Hash         map[string]any; every Go map with text keys; Map where keys are no text
//	Sensitive    Sensitive, schema.Secret
//	Regexp       *rubyre.Regexp
//	Timestamp    time.Time
//	Timespan     time.Duration
//	SemVer       Version
//	SemVerRange  *VersionRange
//	Binary       []byte
//	URI          URI
//	Type         *Type
//	Runtime      Symbol, and every other Go value
//
// # Where it departs from Puppet
//
// Deviations lists it case by case with the reasons. An unknown name of a type is
// refused at once. A subtype relation that Puppet claims and its own checks contradict
// is not claimed. Every refusal has a message.
//
// # Regular expressions
//
// A pattern is an expression of Ruby and is searched for: ^ and $ are the ends of
// lines. The package rubyre reads it, and refuses by name all that RE2 cannot do.
package puppettype
