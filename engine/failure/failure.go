package failure

import (
	"errors"
	"time"
)

// WaitError is the error of a CheckApply that has altered nothing, because something outside of the graph must
// end first: a job of another program, or a lock of another process. It does not count as a failure, and no retry is
// counted. The resource is waiting, so it is not settled, and the graph has not converged. The engine calls
// CheckApply again after the next Event, and after Again at the latest. CheckApply reports its changes before it
// returns a WaitError: under noop the engine waits for nothing, and these changes are the result.
type WaitError struct {
	For   string        // the awaited thing, in words that fit behind "waits for"
	Again time.Duration // look again after about this time; 0 for ten seconds
}

func (e *WaitError) Error() string { return e.For }

// IsWait reports whether err is a *WaitError, or wraps one.
func IsWait(err error) bool {
	_, ok := errors.AsType[*WaitError](err)
	return ok
}

// Permanent marks an error that a retry will not end: the retries that are left
// are given up. It returns nil for nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// IsPermanent reports whether err, or an error that it wraps, was marked by
// Permanent.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[*permanentError](err)
	return ok
}

// Verdict marks an error that is an answer and not a hindrance: the resource's own
// command ran, and said no. The engine then tries the resource again only when an
// ancestor has changed, or as often as retry in the graph says. Verdict returns nil for nil.
func Verdict(err error) error {
	if err == nil {
		return nil
	}
	return &verdictError{err}
}

type verdictError struct{ error }

func (e *verdictError) Unwrap() error { return e.error }

// IsVerdict reports whether err, or an error that it wraps, was marked by Verdict.
func IsVerdict(err error) bool {
	_, ok := errors.AsType[*verdictError](err)
	return ok
}

// Interrupted marks an error of a change that ended in its middle, such as by the loss of the machine
// that it was made on. The state that it has left is unknown. The engine tells such an error at once; it
// looks first at the ancestors after other errors. Interrupted returns nil for nil.
func Interrupted(err error) error {
	if err == nil {
		return nil
	}
	return &interruptedError{err}
}

type interruptedError struct{ error }

func (e *interruptedError) Unwrap() error { return e.error }

// IsInterrupted reports whether err, or an error that it wraps, was marked by Interrupted.
func IsInterrupted(err error) bool {
	_, ok := errors.AsType[*interruptedError](err)
	return ok
}
