package identity

import (
	"github.com/reactivegraph/mgmt/idl"
)

// An Effect is what a statement does.
type Effect string

const (
	Allow Effect = "Allow"
	Deny  Effect = "Deny"
)

// A Policy is a document with a name.
type Policy struct {
	idl.NamedResource
	Document Document
}

// A Document has the statements of a policy.
type Document struct {
	Version    *string `lumi:"name=Version,optional"`
	Statements []Statement
}

// A Statement allows or denies actions.
type Statement struct {
	Effect    Effect
	Actions   []string                        `lumi:"minItems=1"`
	Resources *[]*idl.Resource                `lumi:"optional"`
	Condition *map[string]map[string][]string `lumi:"optional"`
}
