package metrics

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A Unit is what a value counts.
type Unit string

const (
	Seconds Unit = "Seconds"
	Bytes   Unit = "Bytes"
	Percent Unit = "Percent"
)

// Precise is the largest number below which all whole ones are held.
const Precise = 1 << 53

// A Metric is a value over time.
type Metric struct {
	Name  string
	Unit  Unit
	Of    *idl.Resource    `lumi:"optional"`
	Units *map[Unit]string `lumi:"optional"`
}

// A Func is a way to put values together.
type Func struct {
	Name string
}
