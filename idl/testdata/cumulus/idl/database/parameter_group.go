package database

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A ParameterGroup has the settings of clusters.
type ParameterGroup struct {
	idl.NamedResource
	Engine Engine `lumi:"replaces"`
	Values map[string]any
}
