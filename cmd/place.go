package cmd

import "errors"

// place is a flag that names a file or a folder. It may be left out, but not be empty: a
// script's variable that is not set must not mean another place.
type place struct{ path *string }

// String implements pflag.Value. It is the path as it was given.
func (p place) String() string {
	if p.path == nil { // the library asks a zero value
		return ""
	}
	return *p.path
}

// Type is the word that help shows.
func (p place) Type() string { return "string" }

// Set implements pflag.Value.
func (p place) Set(path string) error {
	if path == "" {
		return errors.New("it is empty, name a place or leave the flag out")
	}
	*p.path = path
	return nil
}

// source is the place of a graph, or of types. With two, the first one would be
// ignored silently.
// An empty path stands for no source yet, so the field must be empty before the flags are read.
type source struct {
	place
	instead string // the advice for more than one
}

// Set implements pflag.Value. A source may be given once only, by a flag or by the
// argument.
func (s source) Set(path string) error {
	if *s.path != "" && *s.path != path { // what completes an argument sets the flags twice
		return errors.New("there is one already, " + *s.path + "; " + s.instead)
	}
	return s.place.Set(path)
}
