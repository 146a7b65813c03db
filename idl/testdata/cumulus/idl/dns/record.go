package dns

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A RecordType is a sort of records.
type RecordType string

const (
	A     RecordType = "A"
	AAAA  RecordType = "AAAA"
	CNAME RecordType = "CNAME"
	TXT   RecordType = "TXT"
)

// DefaultTTL is the time that a record is kept, in seconds.
const DefaultTTL float64 = 300

// A Record is one name of a zone.
type Record struct {
	idl.Resource `lumi:"batch=100"`
	Zone         *Zone      `json:"-" lumi:"replaces"`
	Host         string     `lumi:"replaces"`
	Type         RecordType `lumi:"replaces"`
	TTL          *float64   `lumi:"optional,default=300,min=0"`
	Values       []string   `json:"values"`
}
