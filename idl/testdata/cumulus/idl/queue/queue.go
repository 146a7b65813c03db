package queue

import (
	"github.com/reactivegraph/mgmt/idl"
	cumulus "github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl"
)

// A Queue keeps messages until they are read.
type Queue struct {
	idl.NamedResource `lumi:"watch"`
	cumulus.Labels
	// How long a message is kept, in seconds.
	Retention *float64 `lumi:"optional,default=345600,min=60,max=1209600"`
	// Where messages go that nobody could handle.
	Failed *Queue   `lumi:"optional"`
	Tries  *float64 `lumi:"optional,min=1"`
	URL    *string  `lumi:"out"`
	Length *float64 `lumi:"out,optional"`
}
