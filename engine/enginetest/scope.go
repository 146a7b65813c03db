package enginetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/callsafe"
)

// scope is the testing.TB of one law. Failures become errors of the law. Cleanups run
// when the law ends, so that the remains can be counted. Fatal panics instead of ending
// the goroutine, since a law runs its methods on several of them; guard takes the
// panic.
type scope struct {
	testing.TB

	mu       sync.Mutex
	errs     []error
	cleanups []func()
}

// fatal is what FailNow panics with.
const fatal = "the law has ended by FailNow of its testing.TB"

// add records an error of the law, from any goroutine.
func (s *scope) add(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

func (s *scope) Helper()                      {}
func (s *scope) Fail()                        { s.add(errors.New("failed")) }
func (s *scope) Error(args ...any)            { s.add(errors.New(strings.TrimSpace(fmt.Sprintln(args...)))) }
func (s *scope) Errorf(f string, args ...any) { s.add(fmt.Errorf(f, args...)) }
func (s *scope) FailNow()                     { s.Fail(); panic(fatal) }
func (s *scope) Fatal(args ...any)            { s.Error(args...); panic(fatal) }
func (s *scope) Fatalf(f string, args ...any) { s.Errorf(f, args...); panic(fatal) }
func (s *scope) Failed() bool                 { return s.err() != nil }

// Cleanup has f called when the law ends, the last one first. A cleanup may register
// another one, which runs too.
func (s *scope) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

// err joins the errors so far; nil where there are none.
func (s *scope) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// close runs the cleanups. A cleanup that panics does not keep the others from running.
func (s *scope) close() {
	for {
		s.mu.Lock()
		n := len(s.cleanups)
		if n == 0 {
			s.mu.Unlock()
			return
		}
		f := s.cleanups[n-1]
		s.cleanups = s.cleanups[:n-1]
		s.mu.Unlock()
		if err := guard("a cleanup", func() error { f(); return nil }); err != nil {
			s.add(err)
		}
	}
}

// guard calls f and turns a panic into an error. That of a scope's Fatal has
// been recorded by it.
func guard(what string, f func() error) error {
	err := callsafe.Do(what, f)
	if _, panicked := err.(*callsafe.PanicError); panicked {
		return traced(err)
	}
	return err
}

// traced returns an error with the stack of the panic in it, if there is one. It keeps
// the chain, so errors.As still finds the PanicError.
func traced(err error) error {
	switch p, ok := errors.AsType[*callsafe.PanicError](err); {
	case !ok:
		return err
	case p.Value == fatal:
		return nil
	default:
		return fmt.Errorf("%w\n%s", err, p.Stack)
	}
}
