package protocol

import "encoding/json"

// The versions of the protocol that this package speaks, both inclusive.
const (
	MinVersion = 1
	MaxVersion = 1
)

// MaxMessage is the most that one line may have, in bytes.
const MaxMessage = 16 << 20

// The methods. Each has a request and a reply of its name below.
const (
	MethodHandshake = "handshake"
	MethodSchema    = "schema"
	MethodConfigure = "configure"
	MethodCheck     = "check"
	MethodDiff      = "diff"
	MethodGet       = "get"
	MethodCreate    = "create"
	MethodUpdate    = "update"
	MethodDelete    = "delete"
	MethodList      = "list"
	MethodWatch     = "watch"
	MethodBatch     = "batch"
	MethodLogs      = "logs" // over gRPC
	MethodShutdown  = "shutdown"
)

// The features that a side may have beyond the methods that each provider has.
const (
	FeatureWatch = "watch" // watch, of the kinds that say so
	FeatureList  = "list"  // list, of the kinds that say so
	FeatureBatch = "batch" // batch, of the kinds that say so
)

// Range is a range of versions of the protocol, both ends inclusive.
type Range struct {
	Min int `json:"min" pb:"1" yaml:"min"`
	Max int `json:"max" pb:"2" yaml:"max"`
}

// HandshakeRequest begins a connection.
type HandshakeRequest struct {
	Protocols Range    `json:"protocols" pb:"1"` // that mgmt speaks
	Features  []string `json:"features,omitempty" pb:"2"`
	Program   string   `json:"program" pb:"3"` // mgmt
	Version   string   `json:"version" pb:"4"`
	Token     string   `json:"token,omitempty" pb:"5"` // the variable MGMT_PLUGIN_TOKEN of the environment
}

// HandshakeReply says who answers.
type HandshakeReply struct {
	Protocol   int      `json:"protocol" pb:"1"` // the version that both speak from now on
	Name       string   `json:"name" pb:"2"`
	Version    string   `json:"version" pb:"3"`
	Features   []string `json:"features,omitempty" pb:"4"`
	SchemaHash string   `json:"schema_hash" pb:"5"` // HashOf the text of its schema
}

// SchemaRequest asks for the schema.
type SchemaRequest struct{}

// SchemaReply has the schema as text, whose hash is that of the handshake.
type SchemaReply struct {
	Schema string `json:"schema" pb:"1"`
}

// ConfigureRequest hands over the settings of the descriptor.
type ConfigureRequest struct {
	Config Bag `json:"config" pb:"1"`
}

// Subject says which resource a call is about. Every call about one has it.
type Subject struct {
	Token   string `json:"token" pb:"1"`             // of its type
	Name    string `json:"name" pb:"2"`              // of the resource in the graph
	ID      string `json:"id,omitempty" pb:"3"`      // that the provider has given it; empty where none is known
	Key     string `json:"key,omitempty" pb:"4"`     // the idempotency key of its creation
	Private string `json:"private,omitempty" pb:"5"` // a text that the provider has asked mgmt to keep
}

// CheckRequest asks for the faults of the inputs of a resource. It has nothing to do with the world outside.
type CheckRequest struct {
	Subject    `pb:"1"`
	Properties Bag      `json:"properties" pb:"2"`
	Pending    []string `json:"pending,omitempty" pb:"3"` // keys whose values are not known yet
}

// CheckReply has the inputs with the defaults of the provider. Without properties they stay as they were.
type CheckReply struct {
	Properties Bag       `json:"properties,omitempty" pb:"1"`
	Failures   []Failure `json:"failures,omitempty" pb:"2"`
}

// Failure is a fault of one property.
type Failure struct {
	Path    string `json:"path,omitempty" pb:"1"` // as a.b[0].c; empty for the whole resource
	Message string `json:"message" pb:"2"`
}

// DiffRequest asks for the meaning of a change of inputs. Old is the result of Get.
type DiffRequest struct {
	Subject `pb:"1"`
	Old     Bag      `json:"old" pb:"2"`
	New     Bag      `json:"new" pb:"3"`
	Changed []string `json:"changed" pb:"4"` // the keys in which the two differ
}

// DiffReply alters the meaning of a difference. The zero reply leaves all to the schema.
type DiffReply struct {
	Replaces []string `json:"replaces,omitempty" pb:"1"` // keys that need a replacement, besides those of the schema
	Ignore   []string `json:"ignore,omitempty" pb:"2"`   // keys whose two values mean the same
}

// GetRequest asks how a resource is now. Without an ID the provider looks for the thing that was made with the Key, else for
// the thing that the properties name.
type GetRequest struct {
	Subject    `pb:"1"`
	Properties Bag `json:"properties,omitempty" pb:"2"` // the inputs; empty for mgmt resource
}

// GetReply has it.
type GetReply struct {
	Found      bool   `json:"found" pb:"1"`
	ID         string `json:"id,omitempty" pb:"2"`
	Properties Bag    `json:"properties,omitempty" pb:"3"` // inputs and outputs
	Private    string `json:"private,omitempty" pb:"4"`
}

// CreateRequest asks for a new thing. The same Key again means the same thing: a provider that has made it already
// returns it, and makes no second one.
type CreateRequest struct {
	Subject    `pb:"1"`
	Properties Bag `json:"properties" pb:"2"`
}

// CreateReply has the made thing.
type CreateReply struct {
	ID         string `json:"id" pb:"1"`
	Properties Bag    `json:"properties,omitempty" pb:"2"` // inputs and outputs
	Private    string `json:"private,omitempty" pb:"3"`
}

// UpdateRequest asks for a change of an existing thing.
type UpdateRequest struct {
	Subject `pb:"1"`
	Old     Bag  `json:"old" pb:"2"`
	New     Bag  `json:"new" pb:"3"`
	Refresh bool `json:"refresh,omitempty" pb:"4"` // another resource has notified this one; old and new may be the same
}

// UpdateReply has the changed thing.
type UpdateReply struct {
	Properties Bag    `json:"properties,omitempty" pb:"1"` // inputs and outputs
	Private    string `json:"private,omitempty" pb:"2"`
}

// DeleteRequest asks for the end of a thing. It is no error where there is none.
type DeleteRequest struct {
	Subject    `pb:"1"`
	Properties Bag `json:"properties" pb:"2"` // as Get has returned them
}

// ListRequest asks for all things of a type.
type ListRequest struct {
	Token string `json:"token" pb:"1"`
	Page  string `json:"page,omitempty" pb:"2"` // Next of the reply before
}

// ListReply has some of them.
type ListReply struct {
	Items []ListItem `json:"items" pb:"1"`
	Next  string     `json:"next,omitempty" pb:"2"` // empty where these are the last
}

// ListItem is one thing of a list.
type ListItem struct {
	Name       string `json:"name" pb:"1"`
	ID         string `json:"id" pb:"2"`
	Properties Bag    `json:"properties" pb:"3"`
}

// WatchRequest asks for an event whenever the thing may have changed, until it is canceled.
type WatchRequest struct {
	Subject    `pb:"1"`
	Properties Bag `json:"properties" pb:"2"`
}

// WatchEvent is the news of a watch.
type WatchEvent struct {
	Type string `json:"type" pb:"1"` // EventRunning or EventChanged
}

// The types of a WatchEvent. Running comes first, once: from then on no change goes unseen.
const (
	EventRunning = "running"
	EventChanged = "changed"
)

// BatchRequest has several calls about resources of one type. None of them needs another one's result.
type BatchRequest struct {
	Token string `json:"token" pb:"1"`
	Calls []Call `json:"calls" pb:"2"`
}

// Call is one call of a batch: get, create, update or delete.
type Call struct {
	Method string          `json:"method" pb:"1"`
	Params json.RawMessage `json:"params" pb:"2"`
}

// BatchReply has one outcome for each call, in their order.
type BatchReply struct {
	Outcomes []Outcome `json:"outcomes" pb:"1"`
}

// Outcome is the reply of one call, or its error.
type Outcome struct {
	Result json.RawMessage `json:"result,omitempty" pb:"1"`
	Error  *Error          `json:"error,omitempty" pb:"2"`
}

// LogsRequest asks for the lines of the log, which come until mgmt ends the call. Only gRPC needs it: JSON lines have a message for
// each line of the log.
type LogsRequest struct{}

// ShutdownRequest says that the end of standard input is near.
type ShutdownRequest struct{}

// Empty is the reply of a method that has nothing to say.
type Empty struct{}

// LogLine is a line for the log of mgmt.
type LogLine struct {
	Level   string `json:"level" pb:"1"` // debug, info, warn or error
	Message string `json:"message" pb:"2"`
	Subject string `json:"subject,omitempty" pb:"3"` // kind[name]; empty for the provider itself
}
