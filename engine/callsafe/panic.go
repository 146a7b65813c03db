package callsafe

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// sayable makes a text of the value of a panic. Only the simplest values are kept as they
// are: the text is printed later, where no foreign code may run.
func sayable(p any) any {
	switch p.(type) {
	case string, int, bool:
		return p
	default:
		return fmt.Sprint(p) // which catches a panic in a method of it
	}
}

// PanicError is a panic in a method of a resource, turned into that resource's
// failure; or the end of the goroutine that has called the method.
type PanicError struct {
	Method string // Watch, CheckApply, ...
	Value  any    // as it was if it is a string, an int or a bool, else its text
	Stack  []byte
	Exited bool // the method has called runtime.Goexit; Value says where
}

func (e *PanicError) Error() string {
	if e.Exited {
		return fmt.Sprintf("%s has not returned: %v", e.Method, e.Value)
	}
	return fmt.Sprintf("%s panicked: %v", e.Method, e.Value)
}

// Traced returns an error that also shows the stack of the panic, for the report of a test.
func (e *PanicError) Traced() error { return fmt.Errorf("%w\n%s", e, e.Stack) }

// Do calls a function that runs code of another module. It turns a panic of that code into a
// *PanicError. The argument method names the called method in the error.
func Do(method string, f func() error) (err error) {
	defer Recover(method, &err)
	return f()
}

// Exited returns the error of a method that ends the goroutine that called it, by runtime.Goexit: t.FailNow of a test does that. It is
// called by a deferred function of that goroutine, while the goroutine ends.
func Exited(method string) *PanicError {
	where := "code that it has called"
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for exits := false; ; {
		f, more := frames.Next()
		exits = exits || f.Function == "runtime.Goexit"
		if exits && !strings.HasPrefix(f.Function, "runtime.") && !strings.HasPrefix(f.Function, "testing.") {
			where = f.Function
			break
		}
		if !more {
			break
		}
	}
	return &PanicError{Method: method, Value: "runtime.Goexit was called, in " + where + "; return an error instead", Stack: debug.Stack(), Exited: true}
}

// Recover is deferred in a function that runs code of another module. It stores a panic of that
// code in *err, as a *PanicError. Do is the same for a function value.
func Recover(method string, err *error) {
	p := recover()
	if e, ok := p.(*PanicError); ok && e.Exited {
		*err = e // of a goroutine that the function has waited for
	} else if p != nil {
		*err = &PanicError{Method: method, Value: sayable(p), Stack: debug.Stack()}
	}
}
