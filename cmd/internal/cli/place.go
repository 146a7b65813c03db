package cli

import (
	"errors"

	"github.com/spf13/pflag"
)

// Place is a flag that names a file or a folder. It may be left out, but not be empty: a
// script's variable that is not set must not mean another place.
type Place string

// String implements pflag.Value. It is the path as it was given.
func (p *Place) String() string {
	if p == nil { // the library asks a zero value
		return ""
	}
	return string(*p)
}

// Type is the word that help shows.
func (*Place) Type() string { return "string" }

// Set implements pflag.Value.
func (p *Place) Set(path string) error {
	if path == "" {
		return errors.New("it is empty, write a path or omit the flag")
	}
	*p = Place(path)
	return nil
}

// source is the place of a graph, or of types. With two, the first one would be
// ignored silently.
type source struct {
	*Place
	instead string // the advice for more than one
}

// Once is the flag of a source, with the advice for who gives more than one. The path must be empty before the flags are read.
func Once(path *string, instead string) pflag.Value { return source{(*Place)(path), instead} }

// Set implements pflag.Value. A source may be given once only, by a flag or by the
// argument.
func (s source) Set(path string) error {
	if *s.Place != "" && string(*s.Place) != path { // what completes an argument sets the flags twice
		return errors.New("there is one already, " + s.String() + "; " + s.instead)
	}
	return s.Place.Set(path)
}
