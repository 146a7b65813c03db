package callsafe

import (
	"fmt"
	"reflect"
	"strings"
	"syscall"
)

// CopyError takes the text of an error, and the errors that it wraps, once. The result calls
// no method of the error any more. So a loop that serves all resources can print it, and
// runs no code of another module. An error that can't be read, because its Error panics or
// it is a nil pointer in an interface, becomes an *UnreadableError. The argument method is
// the name of the method that returned the error. CopyError takes as long as the methods of
// the error do, so call it where only the resource that returned the error has to wait. It
// returns nil for nil.
//
// errors.Is and errors.As find the wrapped errors. Is and As methods of other modules are
// not called.
func CopyError(method string, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *frozenError, *UnreadableError:
		return e
	}
	f := &frozenError{}
	if bad := f.read(err); bad != "" {
		return &UnreadableError{Method: method, Type: fmt.Sprintf("%T", err), Reason: bad}
	}
	return f
}

// Printable reports whether only code of Go's library and of this package answers for an
// error, so that its text can be taken anywhere.
func Printable(err error) bool {
	for e := range errorTree(err) {
		if !ours(reflect.TypeOf(e)) || isNil(e) {
			return false
		}
	}
	return true
}

// UnreadableError stands for an error that tells nothing but its type.
type UnreadableError struct {
	Method string // that returned it
	Type   string // its Go type
	Reason string
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s returned an error of the type %s that can't be read: %s", e.Method, e.Type, e.Reason)
}

// frozenError is what CopyError has taken.
type frozenError struct {
	text string
	tree []error // the error and what it wraps, as errors.Is goes through them
}

func (e *frozenError) Error() string { return e.text }

// Is implements the method that errors.Is asks for.
func (e *frozenError) Is(target error) bool {
	comparable := reflect.ValueOf(target).Comparable()
	for _, x := range e.tree {
		if comparable && reflect.ValueOf(x).Comparable() && x == target {
			return true
		}
		if no, ok := x.(syscall.Errno); ok && no.Is(target) {
			return true
		}
	}
	return false
}

// As implements the method that errors.As asks for.
func (e *frozenError) As(target any) bool {
	to := reflect.ValueOf(target).Elem()
	for _, x := range e.tree {
		if v := reflect.ValueOf(x); v.Type().AssignableTo(to.Type()) {
			to.Set(v)
			return true
		}
	}
	return false
}

// read takes text and tree. It returns why it could not.
func (e *frozenError) read(err error) (bad string) {
	if isNil(err) {
		return "it is a nil pointer; a method that has not failed must return nil itself"
	}
	if caught := e.take(err); caught != nil {
		return fmt.Sprintf("a method of it panicked: %v", caught.(*PanicError).Value)
	}
	return ""
}

// take calls the methods of an error.
func (e *frozenError) take(err error) (caught error) {
	defer Recover("Error", &caught)
	e.text = err.Error()
	for x := range errorTree(err) {
		e.tree = append(e.tree, x)
	}
	return nil
}

// maxTree bounds how much is taken of what an error wraps.
const maxTree = 100

// errorTree yields an error and the errors that it wraps, in the order of
// errors.Is.
func errorTree(err error) func(yield func(error) bool) {
	return func(yield func(error) bool) {
		n := 0
		var walk func(error) bool
		walk = func(err error) bool {
			if n++; err == nil || n > maxTree {
				return n <= maxTree
			}
			if f, ok := err.(*frozenError); ok {
				for _, x := range f.tree {
					if !yield(x) {
						return false
					}
				}
				return true
			}
			if !yield(err) {
				return false
			}
			switch u := err.(type) {
			case interface{ Unwrap() error }:
				return walk(u.Unwrap())
			case interface{ Unwrap() []error }:
				for _, x := range u.Unwrap() {
					if !walk(x) {
						return false
					}
				}
			}
			return true
		}
		walk(err)
	}
}

// ours reports whether a type is one of Go's library, or of the packages that make the contract with kinds.
func ours(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if below, ok := strings.CutPrefix(t.PkgPath(), contract); ok {
		switch below {
		case "", "/bus", "/callsafe", "/failure", "/reversal", "/schema", "/world":
			return true
		}
	}
	top, _, _ := strings.Cut(t.PkgPath(), "/")
	return top != "" && top != "main" && !strings.Contains(top, ".")
}

// contract is the path of package engine.
const contract = "github.com/reactivegraph/mgmt/engine"

// isNil reports whether an error is nil, or a nil pointer in an interface.
func isNil(v any) bool {
	return v == nil || reflect.ValueOf(v).Kind() == reflect.Pointer && reflect.ValueOf(v).IsNil()
}
