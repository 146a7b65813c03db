package waf

import (
	"github.com/reactivegraph/mgmt/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/metrics"
)

// An Action is what becomes of a request.
type Action string

const (
	Pass  Action = "allow"
	Block Action = "block"
	Count Action = "count"
)

// A Rule judges requests.
type Rule struct {
	idl.NamedResource
	Lists   []*List
	Action  Action
	Metric  metrics.Metric
	Weights *map[Action][]float64 `lumi:"optional,min=0"`
}
