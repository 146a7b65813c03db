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
	Min int `json:"min" yaml:"min"`
	Max int `json:"max" yaml:"max"`
}

// HandshakeRequest begins a connection.
type HandshakeRequest struct {
	Protocols Range    `json:"protocols"` // that mgmt speaks
	Features  []string `json:"features,omitempty"`
	Program   string   `json:"program"` // mgmt
	Version   string   `json:"version"`
	Token     string   `json:"token,omitempty"` // the variable MGMT_PLUGIN_TOKEN of the environment
}

// HandshakeReply says who answers.
type HandshakeReply struct {
	Protocol   int      `json:"protocol"` // the version that both speak from now on
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Features   []string `json:"features,omitempty"`
	SchemaHash string   `json:"schema_hash"` // HashOf the text of its schema
}

// SchemaRequest asks for the schema.
type SchemaRequest struct{}

// SchemaReply has the schema as text, whose hash is that of the handshake.
type SchemaReply struct {
	Schema string `json:"schema"`
}

// ConfigureRequest hands over the settings of the descriptor.
type ConfigureRequest struct {
	Config Bag `json:"config"`
}

// Subject says which resource a call is about. Every call about one has it.
type Subject struct {
	Token   string `json:"token"`             // of its type
	Name    string `json:"name"`              // of the resource in the graph
	ID      string `json:"id,omitempty"`      // that the provider has given it; empty where none is known
	Key     string `json:"key,omitempty"`     // the idempotency key of its creation
	Private string `json:"private,omitempty"` // a text that the provider has asked mgmt to keep
}

// CheckRequest asks for the faults of the inputs of a resource. It has nothing to do with the world outside.
type CheckRequest struct {
	Subject
	Properties Bag      `json:"properties"`
	Pending    []string `json:"pending,omitempty"` // keys whose values are not known yet
}

// CheckReply has the inputs with the defaults of the provider. Without properties they stay as they were.
type CheckReply struct {
	Properties Bag       `json:"properties,omitempty"`
	Failures   []Failure `json:"failures,omitempty"`
}

// Failure is a fault of one property.
type Failure struct {
	Path    string `json:"path,omitempty"` // as a.b[0].c; empty for the whole resource
	Message string `json:"message"`
}

// DiffRequest asks for the meaning of a change of inputs. Old is the result of Get.
type DiffRequest struct {
	Subject
	Old     Bag      `json:"old"`
	New     Bag      `json:"new"`
	Changed []string `json:"changed"` // the keys in which the two differ
}

// DiffReply alters the meaning of a difference. The zero reply leaves all to the schema.
type DiffReply struct {
	Replaces []string `json:"replaces,omitempty"` // keys that need a replacement, besides those of the schema
	Ignore   []string `json:"ignore,omitempty"`   // keys whose two values mean the same
}

// GetRequest asks how a resource is now. Without an ID the provider looks for the thing that was made with the Key, else for
// the thing that the properties name.
type GetRequest struct {
	Subject
	Properties Bag `json:"properties,omitempty"` // the inputs; empty for mgmt resource
}

// GetReply has it.
type GetReply struct {
	Found      bool   `json:"found"`
	ID         string `json:"id,omitempty"`
	Properties Bag    `json:"properties,omitempty"` // inputs and outputs
	Private    string `json:"private,omitempty"`
}

// CreateRequest asks for a new thing. The same Key again means the same thing: a provider that has made it already
// returns it, and makes no second one.
type CreateRequest struct {
	Subject
	Properties Bag `json:"properties"`
}

// CreateReply has the made thing.
type CreateReply struct {
	ID         string `json:"id"`
	Properties Bag    `json:"properties,omitempty"` // inputs and outputs
	Private    string `json:"private,omitempty"`
}

// UpdateRequest asks for a change of an existing thing.
type UpdateRequest struct {
	Subject
	Old     Bag  `json:"old"`
	New     Bag  `json:"new"`
	Refresh bool `json:"refresh,omitempty"` // another resource has notified this one; old and new may be the same
}

// UpdateReply has the changed thing.
type UpdateReply struct {
	Properties Bag    `json:"properties,omitempty"` // inputs and outputs
	Private    string `json:"private,omitempty"`
}

// DeleteRequest asks for the end of a thing. It is no error where there is none.
type DeleteRequest struct {
	Subject
	Properties Bag `json:"properties"` // as Get has returned them
}

// ListRequest asks for all things of a type.
type ListRequest struct {
	Token string `json:"token"`
	Page  string `json:"page,omitempty"` // Next of the reply before
}

// ListReply has some of them.
type ListReply struct {
	Items []ListItem `json:"items"`
	Next  string     `json:"next,omitempty"` // empty where these are the last
}

// ListItem is one thing of a list.
type ListItem struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	Properties Bag    `json:"properties"`
}

// WatchRequest asks for an event whenever the thing may have changed, until it is canceled.
type WatchRequest struct {
	Subject
	Properties Bag `json:"properties"`
}

// WatchEvent is the news of a watch.
type WatchEvent struct {
	Type string `json:"type"` // EventRunning or EventChanged
}

// The types of a WatchEvent. Running comes first, once: from then on no change goes unseen.
const (
	EventRunning = "running"
	EventChanged = "changed"
)

// BatchRequest has several calls about resources of one type. None of them needs another one's result.
type BatchRequest struct {
	Token string `json:"token"`
	Calls []Call `json:"calls"`
}

// Call is one call of a batch: get, create, update or delete.
type Call struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// BatchReply has one outcome for each call, in their order.
type BatchReply struct {
	Outcomes []Outcome `json:"outcomes"`
}

// Outcome is the reply of one call, or its error.
type Outcome struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// ShutdownRequest says that the end of standard input is near.
type ShutdownRequest struct{}

// Empty is the reply of a method that has nothing to say.
type Empty struct{}

// LogLine is a line for the log of mgmt.
type LogLine struct {
	Level   string `json:"level"` // debug, info, warn or error
	Message string `json:"message"`
	Subject string `json:"subject,omitempty"` // kind[name]; empty for the provider itself
}
