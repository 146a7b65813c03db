package protocol

import (
	"fmt"
	"strings"
)

// The codes of an Error.
const (
	CodeInvalid       = "invalid"       // the request is wrong; another try is of no use
	CodeUnavailable   = "unavailable"   // a thing that the provider needs is away; another try may help
	CodeConflict      = "conflict"      // another one has changed the thing meanwhile
	CodeDenied        = "denied"        // the provider may not do that
	CodeCanceled      = "canceled"      // mgmt has canceled the call
	CodeUnimplemented = "unimplemented" // the provider has no such method
	CodeInternal      = "internal"      // all else
)

// Error is the answer to a question that could not be answered.
type Error struct {
	Code     string    `json:"code" pb:"1"`
	Message  string    `json:"message" pb:"2"`
	Failures []Failure `json:"failures,omitempty" pb:"3"` // of single properties

	// ID, Properties and Private tell of a thing that was made or changed in spite of the error, so that mgmt
	// remembers it.
	ID         string `json:"id,omitempty" pb:"4"`
	Properties Bag    `json:"properties,omitempty" pb:"5"`
	Private    string `json:"private,omitempty" pb:"6"`
}

// Error returns the message with all failures.
func (e *Error) Error() string {
	parts := []string{e.Message}
	if e.Message == "" {
		parts[0] = e.Code
	}
	for _, f := range e.Failures {
		parts = append(parts, f.String())
	}
	return strings.Join(parts, "; ")
}

// String returns path: message.
func (f Failure) String() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// Errorf makes an Error.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
