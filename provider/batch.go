package provider

import (
	"context"
	"encoding/json"

	"github.com/reactivegraph/mgmt/provider/protocol"
)

// Batcher is an Ops that does several calls as one. The IDL asks for it with batch=N at the marker of the type.
type Batcher[T any] interface {
	// Batch does calls about things of the type. No call needs the result of another one. Batch sets the outcome of
	// each: Result or Err. It does not block longer than its context allows.
	Batch(ctx context.Context, calls []*BatchCall[T])
}

// BatchCall is one call of a batch. Batch owns it until it returns.
type BatchCall[T any] struct {
	*Call
	Method string // protocol.MethodGet, MethodCreate, MethodUpdate or MethodDelete
	Old    *T     // of an update and a deletion: the thing as it was
	New    *T     // of the others: the inputs

	// Result is what the method of the name would return; nil for a deletion, and for a get of a thing that is not there.
	Result *T
	// Err fails this call alone.
	Err error
	// Alone says that Batch has left the call: the method of its name does it, after Batch.
	Alone bool
}

// batching is what Typed makes of a Batcher.
type batching[T any] struct {
	*typed[T]
	ops Batcher[T]
}

// Batch makes it a BagBatcher. A call that can't be read has an error of its own, and keeps no other call back. A panic is
// the error of the whole batch.
func (t *batching[T]) Batch(ctx context.Context, calls []protocol.Call) []protocol.Outcome {
	out := make([]protocol.Outcome, len(calls))
	var places []int
	var list []*BatchCall[T]
	for i, c := range calls {
		read, err := batchCall[T](c)
		if err != nil {
			out[i] = outcomeOf(ctx, nil, err)
			continue
		}
		places, list = append(places, i), append(list, read)
	}
	if len(list) > 0 {
		t.ops.Batch(ctx, list)
	}
	for n, c := range list {
		reply := c.reply
		if c.Alone {
			reply = func() (any, error) { return t.alone(ctx, calls[places[n]]) }
		}
		out[places[n]] = outcomeOf(ctx, reply, c.Err)
	}
	return out
}

// batchCall reads one call of a batch.
func batchCall[T any](c protocol.Call) (*BatchCall[T], error) {
	request := protocol.Request(c.Method)
	if err := readParams(c.Params, request); err != nil {
		return nil, err
	}
	var old, wanted Bag
	b := &BatchCall[T]{Method: c.Method}
	switch r := request.(type) {
	case *protocol.GetRequest:
		b.Call, wanted = callOf(r.Subject), r.Properties
	case *protocol.CreateRequest:
		b.Call, wanted = callOf(r.Subject), r.Properties
	case *protocol.UpdateRequest:
		b.Call, old, wanted = callOf(r.Subject), r.Old, r.New
		b.Refresh = r.Refresh
	case *protocol.DeleteRequest:
		b.Call, old = callOf(r.Subject), r.Properties
	default:
		return nil, protocol.Errorf(protocol.CodeUnimplemented, "a batch has no calls of the method %q", c.Method)
	}
	var err error
	if c.Method != protocol.MethodDelete {
		b.New, err = structOf[T](wanted)
	}
	if err == nil && (c.Method == protocol.MethodUpdate || c.Method == protocol.MethodDelete) {
		b.Old, err = structOf[T](old)
	}
	return b, err
}

// reply returns the answer that the method of the name would have given.
func (c *BatchCall[T]) reply() (any, error) {
	switch c.Method {
	case protocol.MethodGet:
		return found(c.Call, c.Result)
	case protocol.MethodCreate:
		return created(c.Call, c.Result)
	case protocol.MethodUpdate:
		return updated(c.Call, c.Result)
	}
	return &protocol.Empty{}, nil
}

// alone does one call of a batch by the method of its name. batchCall has read its parameters before.
func (t *typed[T]) alone(ctx context.Context, c protocol.Call) (any, error) {
	request := protocol.Request(c.Method)
	if err := readParams(c.Params, request); err != nil {
		return nil, err
	}
	switch r := request.(type) {
	case *protocol.GetRequest:
		return t.Get(ctx, r)
	case *protocol.CreateRequest:
		return t.Create(ctx, r)
	case *protocol.UpdateRequest:
		return t.Update(ctx, r)
	}
	return &protocol.Empty{}, t.Delete(ctx, request.(*protocol.DeleteRequest))
}

// outcomeOf returns an error as the outcome of a call, else a reply.
func outcomeOf(ctx context.Context, reply func() (any, error), err error) protocol.Outcome {
	var text json.RawMessage
	if err == nil {
		var v any
		if v, err = reply(); err == nil {
			text, err = json.Marshal(v)
		}
	}
	if err != nil {
		return protocol.Outcome{Error: errorOf(ctx, err)}
	}
	return protocol.Outcome{Result: text}
}
