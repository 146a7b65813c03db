package virtual

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound is what a backend returns about a thing that is not there. Where the
// function declares a result for that, a call gives that result, with Found false;
// else it is the error of the call.
var ErrNotFound = errors.New("not found")

// FunctionError says which function an error is about. The others embed it.
type FunctionError struct {
	Module, Function, Backend string
}

func (e FunctionError) name() string { return e.Module + "." + e.Function }

// NotImplementedError says that a backend lacks a function that it should have.
type NotImplementedError struct{ FunctionError }

func (e *NotImplementedError) Error() string {
	return fmt.Sprintf("%s is not implemented by the backend %s", e.name(), e.Backend)
}

// NotSupportedError says that a function is not there, and need not be on this
// machine.
type NotSupportedError struct {
	FunctionError
	Supported Match // where it should be; nil where no backend must have it
}

func (e *NotSupportedError) Error() string {
	text := fmt.Sprintf("%s is not supported by the backend %s on this machine", e.name(), e.Backend)
	if len(e.Supported) > 0 {
		text += ", only where " + e.Supported.String()
	}
	return text
}

// SignatureMismatchError says that a backend has a function with other
// parameters, to which a call cannot be adapted.
type SignatureMismatchError struct {
	FunctionError
	Want, Have  string // the signatures of the interface and of the backend
	Differences []Difference
}

func (e *SignatureMismatchError) Error() string {
	var why []string
	for _, d := range e.Differences {
		if d.Severity() == SeverityError {
			why = append(why, d.String())
		}
	}
	return fmt.Sprintf("%s%s cannot be called: the backend %s has %s%s (%s)",
		e.name(), e.Want, e.Backend, e.Function, e.Have, strings.Join(why, "; "))
}

// UnknownFunctionError says that neither the interface nor the backend has a
// function.
type UnknownFunctionError struct {
	FunctionError
	Near string // a function that was perhaps meant, or empty
}

func (e *UnknownFunctionError) Error() string {
	text := fmt.Sprintf("there is no function %s", e.name())
	if e.Near != "" {
		text += fmt.Sprintf(" (did you mean %s.%s?)", e.Module, e.Near)
	}
	return text
}

// BadArgumentsError says that a call does not fit the interface.
type BadArgumentsError struct {
	FunctionError
	Problems []string
}

func (e *BadArgumentsError) Error() string {
	return fmt.Sprintf("%s: %s", e.name(), strings.Join(e.Problems, "; "))
}

// UnsupportedArgumentError says that a call fits the interface, but the backend in
// use has no such parameters.
type UnsupportedArgumentError struct {
	FunctionError
	Params []string
}

func (e *UnsupportedArgumentError) Error() string {
	return fmt.Sprintf("%s: the backend %s has no %s", e.name(), e.Backend, strings.Join(e.Params, ", "))
}

// ReturnShapeError says that a backend has returned what it must not.
type ReturnShapeError struct {
	FunctionError
	Err error // what is wrong, with the path of each part
}

func (e *ReturnShapeError) Error() string {
	return fmt.Sprintf("%s: the backend %s returned what its interface does not allow: %v", e.name(), e.Backend, e.Err)
}

func (e *ReturnShapeError) Unwrap() error { return e.Err }

// CallError is what a backend itself says went wrong.
type CallError struct {
	FunctionError
	Err error
}

func (e *CallError) Error() string { return fmt.Sprintf("%s: %v", e.name(), e.Err) }

func (e *CallError) Unwrap() error { return e.Err }

// UnknownModuleError says that no interface of a name is declared.
type UnknownModuleError struct {
	Module string
	Near   string // a module that was perhaps meant, or empty
}

func (e *UnknownModuleError) Error() string {
	text := fmt.Sprintf("there is no module %q", e.Module)
	if e.Near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", e.Near)
	}
	return text
}

// NoBackendError says that no backend of a module can be used on this machine,
// and why each was refused.
type NoBackendError struct {
	Module  string
	Refused []Refusal // in the order of their names
}

// Refusal says why a backend was not chosen.
type Refusal struct{ Backend, Reason string }

func (e *NoBackendError) Error() string {
	if len(e.Refused) == 0 {
		return fmt.Sprintf("no backend of %s is known", e.Module)
	}
	why := make([]string, len(e.Refused))
	for i, r := range e.Refused {
		why[i] = r.Backend + ": " + r.Reason
	}
	return fmt.Sprintf("no backend of %s can be used here: %s", e.Module, strings.Join(why, "; "))
}
