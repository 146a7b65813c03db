// Package schema describes what a resource type looks like, as plain data, and
// does everything that follows from the description alone: it reads a Go
// struct once (OfType), fills it from a positioned tree (Decode), turns it back
// into values (Encode), checks values (Check) and compares them (Diff).
//
// # Laws
//
//   - A Type is immutable once returned and safe for concurrent use. It is read
//     from a struct once per process and shared.
//   - There are twelve kinds of type and no more. A rule that spans fields is Go
//     code in the resource's Validate, never a feature of Type.
//   - Decode works in place: it never replaces what a field already holds
//     unless the node says so, so defaults set beforehand survive. It goes on
//     after an error and reports every one, each with its position and path.
//   - A field's key is its yaml tag, else its lang tag, else its Go name in
//     lower case. Unexported fields, embedded fields without a tag and fields
//     tagged "-" are no keys. A key in ReservedKeys is an error of the type.
//   - Every part of a value has one stable path: a.b[0].c
//   - A Secret never leaves this package in clear except through Reveal.
//   - Nothing here starts a goroutine, reads a file or looks at a clock.
//
// # Struct tags
//
//	yaml:"key"   the key (options after a comma are ignored)
//	lang:"key"   the key, where there is no yaml tag
//	doc:"text"   one or two sentences for the reference and editors
//	mgmt:"..."   a comma-separated list of:
//	    identity        names the thing; falls back to the resource's name where the kind says so
//	    param           steers how, can't be read back from the system
//	    init            may be set when the thing is made, not changed later
//	    readonly        can be read, not set
//	    writeonly       can be set, not read
//	    required        must be given
//	    nowatch         a new received value needs no restart of Watch
//	    enum=a|b|c      the only values
//	    unit=ms         what a bare integer of a duration means (ns us ms s m h; default s)
//	    min=N, max=N    bounds of an int, float, size or duration, or of the length of a string or list
package schema
