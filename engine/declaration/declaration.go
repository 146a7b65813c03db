package declaration

import (
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Exposing says in which file its parameters end up. It is asked when a graph is
// loaded, before Validate and Init, so that a secret that others could read is warned of.
type Exposing interface {
	// Exposes returns the path of the file into which one of these parameters is put, empty
	// for none, and the mode that the resource says of it, empty for none. Without
	// parameters it is asked for a file whose mode it says. It only computes.
	Exposes(params []string) (path string, mode schema.Mode)
}

// Stated has parameters that make no sense for some state. It is asked when a graph is loaded, before Validate, where the
// value of the parameter state comes from an expression: then the same declaration is for all states. Where the state is written, Validate
// refuses such parameters.
type Stated interface {
	// DropForState takes out the parameters that make no sense for the state.
	DropForState()
}

// Linted warns of parameters that are valid and seldom meant so. It is asked when a graph is loaded, after Validate
// has found nothing, and before Init.
type Linted interface {
	// Lint returns the warnings, each with the Path of a parameter and a Message that says what to write instead; nil for
	// none. It only computes.
	Lint() schema.Diagnostics
}

// Text reads the text of a command line by itself. Other kinds have it read
// by the types of their parameters.
type Text interface {
	engine.Res
	// FromText returns the typed text of a parameter as a plain value that
	// schema.Decode takes for it. The error says what is wanted instead. It is
	// called on a resource that was just made, before Init.
	FromText(key, text string) (any, error)
}

// Identified finds its identity in other places than its identity fields, such as the parts of its name.
type Identified interface {
	engine.Res
	// Identity returns the values of the identity fields that a name gives, by key. It only computes. The error says why the resource has none.
	Identity() (map[string]string, error)
}

// ReadsInChange is a resource whose Read may be called within a call of Init.Change: its CheckApply holds nothing then that Read waits for.
// The engine keeps the state before a change for an undo. Without this it asks CheckApply(false) before each change.
type ReadsInChange interface {
	engine.Res
	ReadsInChange()
}
