package queue

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A Protocol is a way to a subscriber.
type Protocol string

const (
	Mail Protocol = "email"
	HTTP Protocol = "https"
	SQS  Protocol = "queue"
)

// A Subscription brings the messages of a topic to one subscriber.
type Subscription struct {
	idl.Resource
	Topic    *Topic   `lumi:"replaces"`
	Protocol Protocol `lumi:"replaces"`
	Queue    *Queue   `lumi:"optional,replaces"`
	Address  *string  `lumi:"optional,replaces"`
}
