package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/traits"
)

func init() { engine.RegisterResource("kv", func() engine.Res { return &Res{} }) }

var (
	_ engine.Res            = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ declaration.Stated    = (*Res)(nil)
	_ engine.SendableRes    = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.CollectableRes = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// The values of Res.State.
const (
	exists = "exists"
	absent = "absent"
)

// Res is a value that hosts share.
type Res struct {
	traits.Base
	traits.Recvable
	traits.Sendable
	traits.Overlapping
	traits.Collectable

	init *engine.Init
	seen *last

	Key   string  `yaml:"key" lang:"key" mgmt:"identity" doc:"The key; the name if absent."`
	Topic string  `yaml:"topic" lang:"topic" mgmt:"identity" doc:"The hosts that share it: all, group:ROLE or host:NAME; all if absent."`
	State string  `yaml:"state" lang:"state" mgmt:"enum=exists|absent,lend" doc:"Whether the key is in the store; exists if nothing is said."`
	Value *string `yaml:"value" lang:"value" mgmt:"nosecret,lend" doc:"The value. Without it nothing is written, and the value of the store is sent."`
}

// Sends are the values that a kv sends.
type Sends struct {
	Value string `yaml:"value" lang:"value" doc:"The value in the store."`
}

// last is the value that was read last. It is sent while the store is out of reach.
type last struct {
	mu    sync.Mutex
	value *string
}

// Default returns an empty resource.
func (x *Res) Default() engine.Res { return &Res{} }

// Validate refuses topics that no host has, and a value that is to be absent.
func (x *Res) Validate() error {
	errs := []error{hosts.CheckTopic(x.Topic)}
	if x.State != "" && x.State != exists && x.State != absent {
		errs = append(errs, fmt.Errorf("state is %q, it must be exists or absent", x.State))
	}
	if x.State == absent && x.Value != nil {
		errs = append(errs, errors.New("value is set, though state is absent: leave one of them out"))
	}
	return errors.Join(errs...)
}

// DropForState takes out the value of a key that is to be absent.
func (x *Res) DropForState() {
	if x.State == absent {
		x.Value = nil
	}
}

// Init keeps the handle.
func (x *Res) Init(init *engine.Init) error {
	x.init, x.seen = init, &last{}
	return nil
}

// Cleanup has nothing to release; the value stays in the store.
func (x *Res) Cleanup() error { return nil }

// key is that of the store.
func (x *Res) key() string {
	return hosts.KVKey(cmp.Or(x.Topic, hosts.All), cmp.Or(x.Key, x.Name()))
}

// Watch gives an event with each change of the key. It outlives a loss of the store, and gives an event when the
// store is back.
func (x *Res) Watch(ctx context.Context) error {
	key, running := x.key(), sync.OnceFunc(x.init.Running)
	s := hosts.Store{World: x.init.World, Clock: engine.ClockOf(x.init.Host), Tell: func(err error) {
		running()
		if err != nil {
			hosts.WarnLost(x.init.Log, err, "the last known value goes on to count")
		}
		x.init.Event()
	}}
	for c := range s.Follow(ctx, key) {
		running()
		if c.Whole || slices.ContainsFunc(c.Updates, func(u world.Update) bool { return u.Key == key }) {
			x.init.Event()
		}
	}
	return nil
}

// CheckApply brings the store to the value, or sends that of the store.
func (x *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	is, err := x.read(ctx)
	if err != nil {
		return false, err
	}
	switch {
	case x.State == absent:
		return x.remove(ctx, is != nil, apply)
	case x.Value == nil && is == nil:
		return false, fmt.Errorf("the store has no value under the key %q yet: this waits until a host writes it", cmp.Or(x.Key, x.Name()))
	case x.Value == nil, is != nil && *is == *x.Value:
		return true, x.init.Send(&Sends{Value: *is})
	case is == nil:
		x.init.Change(engine.Change{Verb: engine.Created})
		x.init.Change(engine.Change{Field: "value", To: *x.Value})
	default:
		x.init.Change(engine.Change{Field: "value", From: *is, To: *x.Value})
	}
	if err := x.write(ctx, apply, world.Op{Key: x.key(), Value: []byte(*x.Value)}); err != nil {
		return false, err
	}
	return false, x.init.Send(&Sends{Value: *x.Value})
}

// remove takes the key out of the store. Receivers get an empty text.
func (x *Res) remove(ctx context.Context, there, apply bool) (bool, error) {
	if there {
		x.init.Change(engine.Change{Verb: engine.Deleted})
		if err := x.write(ctx, apply, world.Op{Key: x.key(), Delete: true}); err != nil {
			return false, err
		}
	}
	return !there, x.init.Send(&Sends{})
}

// read returns the value of the store, nil for none. Where only the value is asked for, the last one does while
// the store is out of reach.
func (x *Res) read(ctx context.Context) (*string, error) {
	kv, err := x.init.World.Get(ctx, x.key())
	x.seen.mu.Lock()
	defer x.seen.mu.Unlock()
	switch {
	case err == nil:
		x.seen.value = new(string(kv.Value))
	case errors.Is(err, world.ErrNotFound):
		x.seen.value = nil
	case x.State != absent && x.Value == nil && x.seen.value != nil && errors.Is(err, world.ErrUnavailable):
	default:
		return nil, err
	}
	return x.seen.value, nil
}

// write does one operation, where that is allowed.
func (x *Res) write(ctx context.Context, apply bool, op world.Op) error {
	if !apply {
		return nil
	}
	_, _, err := x.init.World.Txn(ctx, nil, []world.Op{op})
	return err
}

// Read returns the value of the store.
func (x *Res) Read(ctx context.Context) (engine.Res, error) {
	is, err := x.read(ctx)
	if err != nil {
		return nil, err
	}
	r := &Res{Key: x.Key, Topic: x.Topic, State: exists, Value: is}
	if is == nil {
		r.State = absent
	}
	r.SetKind(x.Kind())
	r.SetName(x.Name())
	return r, nil
}

// Sends returns the type of the sent values.
func (x *Res) Sends() any { return &Sends{} }

// Cmp compares the parameters.
func (x *Res) Cmp(r engine.Res) error { return engine.CmpFields(x, r) }

// Doc describes the kind.
func (x *Res) Doc() string {
	return `Keeps a value in the store that hosts share, or sends the value that another host keeps there.

With a ` + "`value`" + ` this host writes it, and writes it again whenever it is altered in the store. Without one this host
writes nothing: it sends the value, and sends it anew with every change. Until some host has written the key, such a resource
fails and waits, and so do the resources that receive from it.

While the store is out of reach, the value that was read last goes on to be sent. When the store is back, this catches up.
Two hosts that write different values under one key undo each other; give each its own key, or write from one host.

The value is plain text that every host of the ` + "`topic`" + ` can read. Secrets do not belong there. When the resource leaves the
graph, the key stays; ` + "`state: absent`" + ` removes it.`
}
