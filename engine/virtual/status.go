package virtual

import (
	"slices"
	"strings"
)

// Status says what a call of a function does. See the package comment.
type Status uint8

// The statuses.
const (
	Implemented Status = iota
	NotImplemented
	NotSupported
	NotApplicable
	Deprecated
	SignatureMismatch
)

var statuses = []string{"implemented", "not_implemented", "not_supported", "not_applicable", "deprecated", "signature_mismatch"}

// String returns the word for the status.
func (s Status) String() string { return wordOf(statuses, int(s)) }

// MarshalText implements encoding.TextMarshaler.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Status) UnmarshalText(text []byte) error {
	return readWord(statuses, string(text), "status", s)
}

// Verdict is what a check says of one function.
type Verdict struct {
	Function    string
	Status      Status
	Differences []Difference // between the declared and the backend's, if both have it
	Contradicts bool         // the backend has what is not applicable here

	want, have *Function
}

// Lacks returns the parameters that each call must give and the backend does not have: so each
// call is an *UnsupportedArgumentError.
func (v *Verdict) Lacks() (params []string) {
	for _, d := range v.Differences {
		if d.Kind == Missing && d.required && v.Status != NotApplicable {
			params = append(params, d.Param)
		}
	}
	return params
}

// Misfit says why each result would be refused; empty where it need not be.
func (v *Verdict) Misfit() string {
	for _, d := range v.Differences {
		if d.Kind == ReturnsDiffer && v.Status != NotApplicable {
			return d.Have
		}
	}
	return ""
}

// Check says of each function the effect of a call on a machine with those facts. First
// come the functions of the interface, then the ones of the backend alone, each in the
// order of declaration.
func Check(i *Interface, b *Backend, facts Facts) []Verdict {
	var all []Verdict
	for n := range i.Functions {
		f := &i.Functions[n]
		all = append(all, judge(f, find(b.Functions, f.Name), facts))
	}
	for n := range b.Functions {
		f := &b.Functions[n]
		if !strings.HasPrefix(f.Name, "_") && i.Function(f.Name) == nil {
			all = append(all, Verdict{Function: f.Name, Status: Deprecated, have: f})
		}
	}
	return all
}

// judge says what a call of a declared function does; have is nil where the
// backend lacks it.
func judge(want, have *Function, facts Facts) Verdict {
	v := Verdict{Function: want.Name, want: want, have: have}
	if have != nil {
		v.Differences = Compare(want, have)
	}
	switch {
	case want.NotApplicable.Holds(facts):
		v.Status, v.Contradicts = NotApplicable, have != nil
	case have != nil && slices.ContainsFunc(v.Differences, fatal):
		v.Status = SignatureMismatch
	case have != nil && want.Deprecated != "":
		v.Status = Deprecated
	case have != nil:
		v.Status = Implemented
	case want.Extra, want.Deprecated != "", want.Supported != nil && !want.Supported.Holds(facts):
		v.Status = NotSupported
	default:
		v.Status = NotImplemented
	}
	return v
}

func fatal(d Difference) bool { return d.Severity() == SeverityError }
