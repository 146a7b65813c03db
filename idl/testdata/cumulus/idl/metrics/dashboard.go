package metrics

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A Dashboard shows metrics.
type Dashboard struct {
	idl.NamedResource
	Widgets []Widget
}

// A Widget is a part of a dashboard, with others in it.
type Widget struct {
	box
	Title   *string   `lumi:"optional"`
	Metrics *[]Metric `lumi:"optional"`
	Parts   *[]Widget `lumi:"optional"`
}

// box is a place on a dashboard.
type box struct {
	X, Y          float64
	Width, Height *float64 `lumi:"optional"`
}
