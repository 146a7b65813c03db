package provider

import (
	"context"
	"iter"

	"github.com/reactivegraph/mgmt/provider/protocol"
)

// Provider is a program's resource types. It is not altered after Serve was called.
type Provider struct {
	Name    string // as the descriptor has it
	Version string // of the program, such as 1.2.0; that of the schema when empty
	Schema  []byte // the text of the schema file; see protocol.Schema

	// Configure is called once, before any call about a resource, with the settings of the descriptor; nil for none.
	Configure func(ctx context.Context, config Bag) error

	// Resources serve the types by their tokens.
	Resources map[string]Resource
}

// Bag is the properties of a resource by their keys; see protocol.Bag.
type Bag = protocol.Bag

// Failure is a fault of one property.
type Failure = protocol.Failure

// Resource serves one type, with bags. Typed makes one of an Ops; so is a generated TProvider. A Resource may also be
// a BagWatcher, a BagLister or a BagBatcher.
type Resource interface {
	Check(ctx context.Context, r *protocol.CheckRequest) (*protocol.CheckReply, error)
	Diff(ctx context.Context, r *protocol.DiffRequest) (*protocol.DiffReply, error)
	Create(ctx context.Context, r *protocol.CreateRequest) (*protocol.CreateReply, error)
	Get(ctx context.Context, r *protocol.GetRequest) (*protocol.GetReply, error)
	Update(ctx context.Context, r *protocol.UpdateRequest) (*protocol.UpdateReply, error)
	Delete(ctx context.Context, r *protocol.DeleteRequest) error
}

// BagWatcher is a Resource that tells of changes.
type BagWatcher interface {
	// Watch calls running once, when no later change goes unseen, and changed whenever the thing may have changed.
	// It returns when the context ends.
	Watch(ctx context.Context, r *protocol.WatchRequest, running, changed func()) error
}

// BagLister is a Resource that finds all things of its type.
type BagLister interface {
	List(ctx context.Context, r *protocol.ListRequest) (*protocol.ListReply, error)
}

// BagBatcher is a Resource that does many calls as one. Without it, Serve does the calls of a batch one by one.
type BagBatcher interface {
	Batch(ctx context.Context, calls []protocol.Call) []protocol.Outcome
}

// Call says which resource a call is about. Create and Get set ID, and every method may set Private.
type Call struct {
	Token   string
	Name    string   // of the resource in the graph
	ID      string   // the provider's own name of the thing; empty where none is known
	Key     string   // the idempotency key of its creation; the same for each try
	Private string   // text that mgmt keeps for the provider, and does not show
	Refresh bool     // in Update: another resource has notified this one
	Pending []string // in Check: keys whose values are not known yet
}

// Ops is the work on one type, whose properties are the struct T. The JSON names of the fields of T are the keys of
// the properties. A field of an optional property is a pointer, a list or a map; so is one of an output.
type Ops[T any] interface {
	// Check finds faults in inputs that fit the schema, and may fill in defaults. It looks at nothing outside.
	Check(ctx context.Context, c *Call, in *T) ([]Failure, error)
	// Diff gives the difference between the two its meaning; nil leaves that to the schema.
	Diff(ctx context.Context, c *Call, old, new *T) (*Difference, error)
	// Create makes the thing, sets c.ID, and returns inputs and outputs.
	Create(ctx context.Context, c *Call, in *T) (*T, error)
	// Get returns the thing as it is, and nil where there is none. Without c.ID it looks for the thing that was made with
	// c.Key, else for the thing that in names. It sets c.ID.
	Get(ctx context.Context, c *Call, in *T) (*T, error)
	// Update changes the thing, and returns inputs and outputs.
	Update(ctx context.Context, c *Call, old, new *T) (*T, error)
	// Delete removes the thing. It is no error where there is none.
	Delete(ctx context.Context, c *Call, old *T) error
}

// Watcher is an Ops that tells of changes.
type Watcher[T any] interface {
	// Watch calls running once, when no later change goes unseen, and changed whenever the thing may have changed.
	// It returns when the context ends. Neither function blocks.
	Watch(ctx context.Context, c *Call, in *T, running, changed func()) error
}

// Lister is an Ops that finds all things of its type.
type Lister[T any] interface {
	List(ctx context.Context) iter.Seq2[Item[T], error]
}

// Item is one thing of a list.
type Item[T any] struct {
	Name       string // the name that a resource about it would have
	ID         string
	Properties *T
}

// Difference alters the meaning of a difference.
type Difference = protocol.DiffReply

// Defaults is for an Ops to embed: its inputs need no further check, and its differences are judged by the schema.
type Defaults[T any] struct{}

// Check finds nothing wrong.
func (Defaults[T]) Check(context.Context, *Call, *T) ([]Failure, error) { return nil, nil }

// Diff leaves all to the schema.
func (Defaults[T]) Diff(context.Context, *Call, *T, *T) (*Difference, error) { return nil, nil }
