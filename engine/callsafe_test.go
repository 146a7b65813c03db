package engine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/failure"
)

// hostile is an error whose methods do what one of a resource may.
type hostile struct{ text func() string }

func (h *hostile) Error() string  { return h.text() }
func (h *hostile) Is(error) bool  { panic("Is was asked") }
func (h *hostile) As(any) bool    { panic("As was asked") }
func (h *hostile) Unwrap() error  { return fs.ErrNotExist }
func (h *hostile) String() string { panic("String was asked") }
func saying(s string) *hostile    { return &hostile{func() string { return s }} }
func frozen(err error) error      { return callsafe.CopyError("CheckApply", err) }
func panicking() *hostile         { return &hostile{func() string { panic("no text") }} }
func wrapped(err error) error     { return fmt.Errorf("outer: %w", err) }
func texts(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// TestFindingC8Freeze: what is left of an error has its text and what it wraps, and
// calls nothing of it.
func TestFindingC8Freeze(t *testing.T) {
	t.Parallel()
	calls := 0
	h := &hostile{func() string { calls++; return "once" }}
	err := frozen(wrapped(failure.Permanent(h)))
	was := calls
	texts(t, err, "outer: once")
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || !failure.IsPermanent(err) || failure.IsVerdict(err) {
		t.Errorf("%v lost what it wraps", err)
	}
	if got, ok := errors.AsType[*hostile](err); !ok || got != h {
		t.Errorf("got %v", got)
	}
	if calls != was {
		t.Errorf("asked %d times after it was frozen", calls-was)
	}
	if again := frozen(err); again != err {
		t.Errorf("frozen twice: %v", again)
	}
	_, open := os.Open("/nowhere/at/all")
	if err := frozen(wrapped(open)); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, syscall.ENOENT) {
		t.Errorf("%v is not ErrNotExist", err)
	}
	if err := frozen(errors.Join(errors.New("a"), wrapped(failure.Verdict(saying("b"))))); !failure.IsVerdict(err) {
		t.Errorf("%v is no verdict", err)
	}
	if frozen(nil) != nil || failure.Verdict(nil) != nil {
		t.Error("nil is an error")
	}
}

// TestFindingC8Unreadable: an error that can't be read is one that says so.
func TestFindingC8Unreadable(t *testing.T) {
	t.Parallel()
	var none *hostile
	texts(t, frozen(none), "CheckApply", "*engine_test.hostile", "nil pointer", "return nil itself")
	texts(t, frozen(panicking()), "*engine_test.hostile", "panicked: no text")
	texts(t, frozen((*fs.PathError)(nil)), "*fs.PathError", "nil pointer")
	texts(t, frozen(fmt.Errorf("outer: %w", failure.Permanent(panicking()))), "outer") // fmt has taken the text
	deep := error(saying("end"))
	for range 1000 {
		deep = failure.Permanent(deep)
	}
	texts(t, frozen(deep), "end")
}

// TestFindingC8Legible: only Go's library and this module are asked on the loop.
func TestFindingC8Legible(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("plain"), true},
		{fmt.Errorf("x: %w", syscall.EMFILE), true},
		{failure.Permanent(errors.New("x")), true},
		{failure.Permanent(saying("x")), false},
		{errors.Join(errors.New("x"), panicking()), false},
		{(*fs.PathError)(nil), false},
	} {
		if got := callsafe.Printable(c.err); got != c.want {
			t.Errorf("%T: %v, want %v", c.err, got, c.want)
		}
	}
}
