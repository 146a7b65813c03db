package queue

import (
	"github.com/reactivegraph/mgmt/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/keys"
)

// A Topic sends each message to all subscriptions.
type Topic struct {
	idl.NamedResource
	DisplayName *string   `lumi:"optional,maxLen=100"`
	Key         *keys.Key `lumi:"optional"`
	TopicID     *string   `lumi:"out"`
}
