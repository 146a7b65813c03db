// Package setting has errors that name fields of a daemon.Config. A program that fills such a Config from flags of its own names these in
// their place, by Named: package daemon does not know how its user writes a field.
package setting

import (
	"fmt"
	"strings"
)

// Field is the path of a field of daemon.Config, such as State.Prefix.
type Field string

// The fields that errors name.
const (
	GraphYAML    Field = "Graph.YAML"
	GraphCatalog Field = "Graph.Catalog"
	GraphTS      Field = "Graph.TS"
	GraphVars    Field = "Graph.Vars"

	StatePrefix    Field = "State.Prefix"
	StateTemporary Field = "State.Temporary"

	StorePlace        Field = "Store.Place"
	StoreAccept       Field = "Store.Accept"
	StorePasswordFile Field = "Store.Access.PasswordFile"
	TrustedKeys       Field = "TrustedKeys"

	RemoteAddress Field = "Remote.Address"
	RemoteCert    Field = "Remote.Cert"
	RemoteKey     Field = "Remote.Key"
	RemoteCA      Field = "Remote.CA"
	RemoteWriters Field = "Remote.Writers"

	MetricsAddress  Field = "Metrics.Address"
	MetricsRemote   Field = "Metrics.Remote"
	MetricsTextfile Field = "Metrics.Textfile"

	WebAddress   Field = "Web.Address"
	WebCert      Field = "Web.Cert"
	WebKey       Field = "Web.Key"
	WebCA        Field = "Web.CA"
	WebOperators Field = "Web.Operators"
	WebProxy     Field = "Web.Proxy"
	WebHeader    Field = "Web.Header"

	StatusFile Field = "StatusFile"
)

// Fields returns all of them.
func Fields() []Field {
	return []Field{
		GraphYAML, GraphCatalog, GraphTS, GraphVars, StatePrefix, StateTemporary, StorePlace, StoreAccept, StorePasswordFile, TrustedKeys,
		RemoteAddress, RemoteCert, RemoteKey, RemoteCA, RemoteWriters, MetricsAddress, MetricsRemote, MetricsTextfile, WebAddress, WebCert, WebKey, WebCA,
		WebOperators, WebProxy, WebHeader, StatusFile,
	}
}

// Error is an error whose text names fields. It wraps what Errorf was given to wrap.
type Error struct {
	format string
	args   []any
	err    error
}

// Errorf is fmt.Errorf for an error whose text names fields.
func Errorf(format string, args ...any) *Error {
	return &Error{format, args, fmt.Errorf(format, args...)}
}

// Error implements error. The fields have their own names.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the error that fmt.Errorf makes of the same.
func (e *Error) Unwrap() error { return e.err }

// text is the text with other names.
func (e *Error) text(name func(Field) string) string {
	args := make([]any, len(e.args))
	for i, a := range e.args {
		switch a := a.(type) {
		case Field:
			args[i] = name(a)
		case error:
			args[i] = fmt.Errorf("%s", Named(a, name))
		default:
			args[i] = a
		}
	}
	return fmt.Errorf(e.format, args...).Error()
}

// Named returns the text of an error with other names of the fields, also of those that an error in it names.
func Named(err error, name func(Field) string) string {
	if e, ok := err.(*Error); ok {
		return e.text(name)
	}
	text := err.Error()
	var inner []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	}
	for _, x := range inner {
		if x == nil {
			continue
		}
		if was, is := x.Error(), Named(x, name); is != was {
			text = strings.Replace(text, was, is, 1)
		}
	}
	return text
}
