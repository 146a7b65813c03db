package model

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Code is the class of an Error. It is an error itself, so errors.Is(err, model.NotFound) asks for it.
type Code string

// The classes of errors. Conflict is a lost comparison with a version or a revision.
const (
	UnknownModel  Code = "unknown_model"
	UnknownIndex  Code = "unknown_index"
	UnknownField  Code = "unknown_field"
	UnknownEvent  Code = "unknown_event"
	UnknownCall   Code = "unknown_operation"
	Registration  Code = "registration"
	Cycle         Code = "cycle"
	Validation    Code = "validation"
	BadValue      Code = "bad_value"
	BadReference  Code = "bad_reference"
	NotFound      Code = "not_found"
	RefNotFound   Code = "ref_not_found"
	Multiple      Code = "multiple_results"
	Exists        Code = "already_exists"
	Conflict      Code = "conflict"
	HookFailed    Code = "hook_failed"
	NeedsID       Code = "fall_through_needs_id"
	SchemaTooNew  Code = "schema_too_new"
	MigrationFail Code = "migration_failed"
	BadRecord     Code = "bad_record"
	SecretRefused Code = "secret_refused"
	ReadOnly      Code = "read_only"
)

// Error returns the code's word.
func (c Code) Error() string { return string(c) }

// Error is one fault, with the place where it is.
type Error struct {
	Code       Code
	Table, ID  string     // of the object; empty where no object is meant
	Field      string     // the path of the field; empty where no field is meant
	Pos        schema.Pos // in the text that was read; zero where there was none
	Message    string     // the fault, and the way out; no final stop
	Suggestion string     // the word that was probably meant
	Err        error      // the cause; may be nil
}

// Error returns the place and the message.
func (e *Error) Error() string {
	var b strings.Builder
	if p := e.Pos.String(); p != "" {
		b.WriteString(p + ": ")
	}
	if e.Table != "" {
		b.WriteString(e.Table)
		if e.ID != "" {
			fmt.Fprintf(&b, "[%s]", e.ID)
		}
		b.WriteString(": ")
	}
	b.WriteString(cmp.Or(e.Message, string(e.Code)))
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Suggestion != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", e.Suggestion)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the error's code. NotFound is world.ErrNotFound, too.
func (e *Error) Is(target error) bool {
	return target == error(e.Code) || e.Code == NotFound && target == world.ErrNotFound
}

// Faults returns each Error in err, which may be joined of several.
func Faults(err error) (all []*Error) {
	var one *Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, Faults(e)...)
		}
	} else if errors.As(err, &one) {
		all = append(all, one)
	}
	return all
}

// CodeOf returns the class of the first Error in err, or "" where there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// fault makes an Error about an object of m.
func (m *Model) fault(code Code, id, field, format string, args ...any) *Error {
	return &Error{Code: code, Table: m.Label(), ID: id, Field: field, Message: fmt.Sprintf(format, args...)}
}
