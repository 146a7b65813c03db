package provider

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/provider/protocol"
)

// Typed returns a Resource that gives an Ops its properties as structs. It is a BagWatcher, a BagLister or a
// BagBatcher where the Ops is a Watcher, a Lister or a Batcher.
func Typed[T any](ops Ops[T]) Resource {
	t := &typed[T]{ops}
	if b, ok := ops.(Batcher[T]); ok {
		return &batching[T]{t, b}
	}
	return t
}

type typed[T any] struct{ ops Ops[T] }

// callOf returns the subject of a request for an Ops.
func callOf(s protocol.Subject) *Call {
	return &Call{Token: s.Token, Name: s.Name, ID: s.ID, Key: s.Key, Private: s.Private}
}

// structOf returns a bag as a struct.
func structOf[T any](b Bag) (*T, error) {
	v := new(T)
	if err := b.To(v); err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalid, "the properties do not fit %T: %v", v, err)
	}
	return v, nil
}

// made returns the result of an Ops as a bag.
func made[T any](v *T, what string) (Bag, error) {
	if v == nil {
		return nil, fmt.Errorf("%s has returned nothing", what)
	}
	return protocol.BagOf(v)
}

func (t *typed[T]) Check(ctx context.Context, r *protocol.CheckRequest) (*protocol.CheckReply, error) {
	in, err := structOf[T](r.Properties)
	if err != nil {
		return nil, err
	}
	c := callOf(r.Subject)
	c.Pending = r.Pending
	failures, err := t.ops.Check(ctx, c, in)
	if err != nil || len(failures) > 0 {
		return &protocol.CheckReply{Failures: failures}, err
	}
	out, err := made(in, "Check")
	return &protocol.CheckReply{Properties: out}, err
}

func (t *typed[T]) Diff(ctx context.Context, r *protocol.DiffRequest) (*protocol.DiffReply, error) {
	old, err := structOf[T](r.Old)
	if err != nil {
		return nil, err
	}
	wanted, err := structOf[T](r.New)
	if err != nil {
		return nil, err
	}
	d, err := t.ops.Diff(ctx, callOf(r.Subject), old, wanted)
	if d == nil {
		d = &Difference{}
	}
	return d, err
}

func (t *typed[T]) Create(ctx context.Context, r *protocol.CreateRequest) (*protocol.CreateReply, error) {
	in, err := structOf[T](r.Properties)
	if err != nil {
		return nil, err
	}
	c := callOf(r.Subject)
	out, err := t.ops.Create(ctx, c, in)
	if err != nil {
		return nil, err
	}
	return created(c, out)
}

// created is the answer of a creation.
func created[T any](c *Call, out *T) (*protocol.CreateReply, error) {
	props, err := made(out, "Create")
	return &protocol.CreateReply{ID: c.ID, Properties: props, Private: c.Private}, err
}

func (t *typed[T]) Get(ctx context.Context, r *protocol.GetRequest) (*protocol.GetReply, error) {
	in, err := structOf[T](r.Properties)
	if err != nil {
		return nil, err
	}
	c := callOf(r.Subject)
	out, err := t.ops.Get(ctx, c, in)
	if err != nil {
		return &protocol.GetReply{}, err
	}
	return found(c, out)
}

// found is the answer of a get; nil is that of a thing that is not there.
func found[T any](c *Call, out *T) (*protocol.GetReply, error) {
	if out == nil {
		return &protocol.GetReply{}, nil
	}
	props, err := protocol.BagOf(out)
	return &protocol.GetReply{Found: true, ID: c.ID, Properties: props, Private: c.Private}, err
}

func (t *typed[T]) Update(ctx context.Context, r *protocol.UpdateRequest) (*protocol.UpdateReply, error) {
	old, err := structOf[T](r.Old)
	if err != nil {
		return nil, err
	}
	wanted, err := structOf[T](r.New)
	if err != nil {
		return nil, err
	}
	c := callOf(r.Subject)
	c.Refresh = r.Refresh
	out, err := t.ops.Update(ctx, c, old, wanted)
	if err != nil {
		return nil, err
	}
	return updated(c, out)
}

// updated is the answer of an update.
func updated[T any](c *Call, out *T) (*protocol.UpdateReply, error) {
	props, err := made(out, "Update")
	return &protocol.UpdateReply{Properties: props, Private: c.Private}, err
}

func (t *typed[T]) Delete(ctx context.Context, r *protocol.DeleteRequest) error {
	old, err := structOf[T](r.Properties)
	if err != nil {
		return err
	}
	return t.ops.Delete(ctx, callOf(r.Subject), old)
}

// Watch makes it a BagWatcher.
func (t *typed[T]) Watch(ctx context.Context, r *protocol.WatchRequest, running, changed func()) error {
	w, ok := t.ops.(Watcher[T])
	if !ok {
		return protocol.Errorf(protocol.CodeUnimplemented, "a %s cannot be watched", r.Token)
	}
	in, err := structOf[T](r.Properties)
	if err != nil {
		return err
	}
	return w.Watch(ctx, callOf(r.Subject), in, running, changed)
}

// List makes it a BagLister.
func (t *typed[T]) List(ctx context.Context, r *protocol.ListRequest) (*protocol.ListReply, error) {
	l, ok := t.ops.(Lister[T])
	if !ok {
		return nil, protocol.Errorf(protocol.CodeUnimplemented, "%s cannot be listed", r.Token)
	}
	reply := &protocol.ListReply{Items: []protocol.ListItem{}}
	for item, err := range l.List(ctx) {
		if err != nil {
			return nil, err
		}
		props, err := made(item.Properties, "List")
		if err != nil {
			return nil, err
		}
		reply.Items = append(reply.Items, protocol.ListItem{Name: item.Name, ID: item.ID, Properties: props})
	}
	return reply, nil
}
