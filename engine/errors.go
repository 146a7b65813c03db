package engine

import (
	"fmt"
)

// UnknownKindError says that no kind of a name is registered.
type UnknownKindError struct {
	Kind string
	Near string // a kind that was perhaps meant, or empty
}

func (e *UnknownKindError) Error() string {
	if e.Near == "" {
		return fmt.Sprintf("unknown resource kind %q", e.Kind)
	}
	return fmt.Sprintf("unknown resource kind %q (did you mean %q?)", e.Kind, e.Near)
}
