package metrics

import (
	"github.com/reactivegraph/mgmt/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/queue"
)

// An Alarm tells of a value that is out of its bounds.
type Alarm struct {
	idl.NamedResource `lumi:"watch"`
	Of                Metric
	Above             *float64        `lumi:"optional"`
	Below             *float64        `lumi:"optional"`
	Periods           float64         `lumi:"min=1"`
	Tell              *[]*queue.Topic `lumi:"optional"`
	LastState         *State          `lumi:"out"`
}

// A State is that of an alarm.
type State string

const (
	OK      State = "OK"
	Alarmed State = "ALARM"
	Unknown State = "INSUFFICIENT_DATA"
)
