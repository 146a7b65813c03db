// Package schema describes what a resource type looks like, as plain data, and does
// everything that follows from the description alone. It reads a Go struct once
// (OfType), or makes one for a type that is data (Build, Typed). It fills the struct
// from a positioned tree (Decode), and turns it back into values (Encode). It checks
// values (Check) and compares them (Diff).
//
// # Laws
//
//   - A Type is immutable once returned and safe for concurrent use. It is read
//     from a struct once per process and shared.
//   - What Build makes of the description of a struct behaves as the struct does.
//   - There are twelve kinds of type and no more. A rule that spans fields is Go
//     code in the resource's Validate, never a feature of Type.
//   - A struct that contains itself is a type with a name, and has Link where it is inside
//     of itself. So no walk over Elem and Fields is endless. A question about a type as a
//     whole goes by Some, which follows links.
//   - Decode works in place: it never replaces the value of a field unless the node
//     says so, so defaults set beforehand survive. It goes on after an error and
//     reports every one, each with its position and path.
//   - A field's key is its yaml tag, else its lang tag, else its Go name in
//     lower case. Unexported fields, embedded fields without a tag and fields
//     tagged "-" do not make keys. A key in ReservedKeys is an error of the type.
//   - An absent key keeps the value of the field. A list or a map that is present is
//     the whole value. A struct is filled key by key.
//   - Every part of a value has one stable path: a.b[0].c, and env["a.b"] where a
//     key of a map is not made of letters, digits, _ and -.
//   - What Decode, Set, Get, Encode and Clone hand over shares no list, map or
//     pointer with their arguments.
//   - A Secret never leaves this package in clear except through Reveal.
//   - Nothing here starts a goroutine, reads a file or looks at a clock.
//
// # Struct tags
//
//	yaml:"key"   the key; "-" for none; ",inline" on a struct makes its fields keys
//	             of the outer one (other options are ignored)
//	lang:"key"   the key, where there is no yaml tag
//	doc:"text"   one or two sentences for the reference and editors
//	deprecated:"text"  the text says what to use instead; a graph with the key gets it as a warning
//	mgmt:"..."   a comma-separated list of:
//	    identity        names the thing; falls back to the resource's name where the kind says so
//	    param           steers how, can't be read back from the system
//	    init            may be set when the thing is made, not changed later
//	    readonly        can be read, not set
//	    writeonly       can be set, not read
//	    required        must be given
//	    nowatch         a new received value needs no restart of Watch
//	    nosecret=a|b    others on the machine can see it: a secret is received into a or b instead
//	    enum=a|b|c      the only values
//	    unit=ms         what a bare integer of a duration means (ns us ms s m h; default s)
//	    min=N, max=N    bounds of an int, float, size or duration, or of the length of a string, list or map
//	    format=ip       a notation of text: ip, cidr, mac, portrange, uri, email or semver
//	    target=KIND     the kind of the resource that a Ref names
//	    replaces        another value removes the thing and makes it again
//	    pattern=RE      a regular expression that text matches; it takes the rest of the tag (CheckPattern)
//
// enum, unit, format, target and pattern speak about the elements of a list or a map, min and max about its
// length. A duration and a size must not be negative unless min says so.
//
// # Go types
//
// Known are bool, all integers and floats, string, []byte (text), slices, maps with
// string keys, structs, any, pointers (optional), time.Duration, Size, Mode, Ref and
// Secret. Every type with UnmarshalText and MarshalText is text in its own notation,
// such as time.Time. A type may have UnmarshalYAML(func(any) error)
// error. Channels, funcs, arrays and other interfaces are errors of the type. A struct may
// contain itself in a list, in a map or behind a pointer.
//
// # What Decode reads
//
//	bool       true, false, and the words yes, no, on, off, y, n
//	int        10, 0x1f, 0o17, 0b11, 1_000, 1.0; 017 is octal, with a warning
//	float      the same, 1.5, 1e3; never NaN or infinite
//	text       text; also a number or true, as it is written, without quotes
//	duration   500ms, 1h30m, 2d; a bare integer in the unit of the field
//	size       512, 64k (thousands), 10MiB (1024s)
//	mode       "0644", 644, u=rwX,go=rX; always octal if it is digits
//	reference  kind[name], kind[name].key
//
// # Errors and costs
//
// The faults of an input are Diagnostics with positions, for its author: Decode, Value
// and Check give all of them. The faults of a type are errors of the program. OfType
// and Build join them, each a Fault with its place in Go or in the description.
//
// A Go type is read once per process. The cost of Get and Set is that of the path, and
// the cost of Decode that of the Node. Equal encodes its two values. Diff of two structs
// encodes only fields that differ.
package schema
