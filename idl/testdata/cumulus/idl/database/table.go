package database

import (
	"github.com/reactivegraph/mgmt/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/queue"
)

// A KeyType is how a column finds a row.
type KeyType string

const (
	Hash  KeyType = "HASH"
	Range KeyType = "RANGE"
)

// A Table has rows without a fixed form.
type Table struct {
	idl.NamedResource `lumi:"list"`
	Columns           []Column `lumi:"minItems=1,maxItems=10"`
	Capacity          Capacity
	Secondary         *map[string]Capacity `lumi:"optional"`
	// Where each change goes.
	Stream *queue.Topic `lumi:"optional"`
}

// A Column is one that finds rows.
type Column struct {
	Name string  `lumi:"minLen=1"`
	Key  KeyType `lumi:"name=type"`
}

// A Capacity is how much is read and written.
type Capacity struct {
	Read  float64 `lumi:"min=1"`
	Write float64 `lumi:"min=1"`
}
