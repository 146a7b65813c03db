package values

import (
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Value is a value on its way, a deep copy of its own.
type Value struct {
	V      any
	Secret bool
	Proofs []world.Proof // the leases that it needs; never written
}

// same reports whether a receiver need not be told of the other value.
func (a Value) same(b Value) bool {
	return schema.Equal(a.V, b.V) && (a.Secret || !b.Secret) && slices.Equal(a.Proofs, b.Proofs)
}

// with returns proofs with one more. It does not alter them.
func with(proofs []world.Proof, p world.Proof) []world.Proof {
	if slices.Contains(proofs, p) {
		return proofs
	}
	return append(slices.Clip(proofs), p)
}

// Sent are the values of one Send, by the keys of the sender.
type Sent map[string]Value

// Vertex is what one vertex sends and receives.
type Vertex struct {
	recv     []wire
	last     Sent // the values that it has sent
	received atomic.Pointer[map[string]*engine.Send]
	proofs   atomic.Pointer[[]world.Proof] // of the assigned values; nil for none
	refused  error                         // why received values were refused
	marked   []string                      // parameters that are shown as little as a secret that was received
	assign   bool                          // values wait to be assigned
	tainted  bool                          // it receives a secret
	feeds    atomic.Bool
}

// New returns a vertex that receives over wires. noWatch says of a field whether an assignment
// leaves the Watch alone.
func New(wires []resgraph.Wire, noWatch func(field string) bool) *Vertex {
	v := &Vertex{}
	if len(wires) > 0 {
		v.recv = make([]wire, len(wires))
	}
	for i, w := range wires {
		v.recv[i] = wire{Wire: w, noWatch: noWatch(w.Field)}
	}
	return v
}

// Mark hides parameters of the resource with an id, as if they had been received from a secret.
func (v *Vertex) Mark(id string, fields []string) {
	v.tainted, v.marked = true, fields
	m := make(map[string]*engine.Send, len(fields))
	v.mark(id, m)
	v.received.Store(&m)
}

// mark adds the marked parameters to what Recv says, unless they are received.
func (v *Vertex) mark(id string, m map[string]*engine.Send) {
	for _, f := range v.marked {
		if m[f] == nil {
			m[f] = &engine.Send{Res: refID(id), Key: f, Secret: true}
		}
	}
}

// Wires returns the wires, in the order of the graph.
func (v *Vertex) Wires() iter.Seq2[int, resgraph.Wire] {
	return func(yield func(int, resgraph.Wire) bool) {
		if v == nil {
			return
		}
		for i := range v.recv {
			if !yield(i, v.recv[i].Wire) {
				return
			}
		}
	}
}

// Missing returns the first wire that has no value yet, nil for none.
func (v *Vertex) Missing() *resgraph.Wire {
	if v == nil {
		return nil
	}
	for i := range v.recv {
		if !v.recv[i].have {
			return &v.recv[i].Wire
		}
	}
	return nil
}

// Unknown returns the changes of a receiver that can't be told yet: one for each missing value.
func (v *Vertex) Unknown() (cs []engine.Change) {
	if v == nil {
		return nil
	}
	for i := range v.recv {
		if n := len(cs); !v.recv[i].have && (n == 0 || cs[n-1].Field != v.recv[i].Field) {
			cs = append(cs, engine.Change{Field: v.recv[i].Field, To: engine.Unknown})
		}
	}
	return cs
}

// HasReceived reports whether a value has been assigned or carried.
func (v *Vertex) HasReceived() bool {
	return v != nil && slices.ContainsFunc(v.recv, func(w wire) bool { return w.have })
}

// Refused returns why received values were refused, nil if they were not.
func (v *Vertex) Refused() error {
	if v == nil {
		return nil
	}
	return v.refused
}

// Refuse notes why the values that a new vertex has been carried are refused, nil if they are not.
func (v *Vertex) Refuse(err error) { v.refused = err }

// IsTainted reports whether the vertex receives a secret.
func (v *Vertex) IsTainted() bool { return v != nil && v.tainted }

// Feeds reports whether another vertex receives values of this one.
func (v *Vertex) Feeds() bool { return v != nil && v.feeds.Load() }

// SetFeeds says whether another vertex receives values of this one.
func (v *Vertex) SetFeeds(yes bool) {
	if v != nil && v.feeds.Load() != yes {
		v.feeds.Store(yes)
	}
}

// Sends keeps the values that the vertex has sent last, for receivers of a later graph.
func (v *Vertex) Sends(sent Sent) { v.last = sent }

// Last returns what the vertex has sent last, nil for nothing.
func (v *Vertex) Last() Sent {
	if v == nil {
		return nil
	}
	return v.last
}

// Offer notes the value for a wire, if it is another one, or has become a secret.
func (v *Vertex) Offer(i int, sent Sent) {
	w := &v.recv[i]
	val, ok := sent[w.key(sent)]
	if !ok || !w.waiting && w.have && w.value.same(val) {
		return
	}
	w.waiting, w.next = true, val
	v.assign = true
}

// OfferFirst does that for a wire that has neither a value nor a waiting one.
func (v *Vertex) OfferFirst(i int, sent Sent) {
	if w := &v.recv[i]; !w.have && !w.waiting && sent != nil {
		v.Offer(i, sent)
	}
}

// Waits reports whether values wait to be assigned.
func (v *Vertex) Waits() bool { return v != nil && v.assign }

// EndsWatch reports whether the Watch has to end before the values that wait are assigned.
func (v *Vertex) EndsWatch() bool {
	return slices.ContainsFunc(v.recv, func(w wire) bool { return w.waiting && !w.noWatch })
}

// Waiting returns the wires over which a value waits.
func (v *Vertex) Waiting() iter.Seq[resgraph.Wire] {
	return func(yield func(resgraph.Wire) bool) {
		for i := range v.recv {
			if v.recv[i].waiting && !yield(v.recv[i].Wire) {
				return
			}
		}
	}
}

// Taint notes which values are secret, assigned and waiting ones, and returns them.
func (v *Vertex) Taint() (secret []Value) {
	v.compute()
	for i := range v.recv {
		w := &v.recv[i]
		for _, val := range []Value{w.value, w.next, w.made, w.making} {
			if val.Secret {
				v.tainted = true
				secret = append(secret, val)
			}
		}
	}
	return secret
}

// A Receiver is the resource that Assign writes to.
type Receiver struct {
	ID       string
	Res      engine.Res
	Type     *schema.Type // of the resource
	Seen     *Seen        // what an earlier process has acted on
	Validate func() error // called when all values are assigned
}

// Assign assigns all that waits, and validates. If it fails, the old values are back, and Refused
// returns the error.
func (v *Vertex) Assign(to Receiver) error {
	v.compute()
	v.assign, v.refused = false, nil
	olds := slices.Clone(v.recv)
	var restore []func()
	var err error
	for i := range v.recv {
		if w := &v.recv[i]; w.waiting && err == nil {
			var undo func()
			undo, err = w.assign(to.Res)
			restore = append(restore, undo)
		}
	}
	if err == nil {
		var undo []func()
		undo, err = v.assignMade(to.Res)
		restore = append(restore, undo...)
	}
	if err == nil {
		err = to.Validate()
	}
	if err == nil {
		v.publish(to, olds)
		return nil
	}
	for _, undo := range slices.Backward(restore) {
		undo()
	}
	for i := range olds {
		olds[i].waiting, olds[i].whole, olds[i].making, olds[i].wrong = false, false, Value{}, nil
	}
	v.recv, v.refused = olds, err
	return err
}

// Publish makes the carried values visible to Recv.
func (v *Vertex) Publish(to Receiver) { v.publish(to, v.recv) }

// publish makes the received values visible to Recv; before tells which wires had a value waiting.
// Changed stays up until Acted is called.
func (v *Vertex) publish(to Receiver, before []wire) {
	old := v.Recv()
	m := make(map[string]*engine.Send, 2*len(v.recv))
	for i := range v.recv {
		w := &v.recv[i]
		if !w.have {
			continue
		}
		changed := before[i].waiting && !(before[i].have && schema.Equal(before[i].value.V, w.value.V))
		s := &engine.Send{Res: refID(w.From.ID()), Key: w.From.Key, Secret: w.effective().Secret, Changed: changed}
		if i > 0 && w.Formula != nil && v.recv[i-1].Formula == w.Formula && m[w.Field] != nil {
			s.Changed = s.Changed || m[w.Field].Changed // one parameter of two values
		}
		if o := old[w.Field]; o != nil {
			s.Changed = s.Changed || o.Changed
		} else if s.Changed && to.Seen.was(to.ID, w) {
			s.Changed = false // the process before has acted on it
		}
		m[w.Field] = s
		if f := to.Type.Field(w.Field); f != nil {
			m[f.GoName] = s
		}
	}
	v.mark(to.ID, m)
	v.received.Store(&m)
	v.prove()
}

// prove notes the proofs of the assigned values.
func (v *Vertex) prove() {
	var all []world.Proof
	for i := range v.recv {
		if v.recv[i].have {
			for _, p := range v.recv[i].value.Proofs {
				all = with(all, p)
			}
		}
	}
	if v.proofs.Store(nil); len(all) > 0 {
		v.proofs.Store(&all)
	}
}

// Proofs returns the leases that the received values need.
func (v *Vertex) Proofs() []world.Proof {
	if v == nil {
		return nil
	}
	if p := v.proofs.Load(); p != nil {
		return *p
	}
	return nil
}

type refID string

func (r refID) String() string { return string(r) }

// Recv is Init.Recv.
func (v *Vertex) Recv() map[string]*engine.Send {
	if m := v.Received(); m != nil {
		return *m
	}
	return nil
}

// Received returns what Recv says, as a pointer that is another one when it says something else.
func (v *Vertex) Received() *map[string]*engine.Send {
	if v == nil {
		return nil
	}
	return v.received.Load()
}

// Acted takes Changed back after a run that succeeded. It reports whether there was
// one.
func (v *Vertex) Acted() bool {
	old := v.Recv()
	changed := false
	for _, s := range old {
		changed = changed || s.Changed
	}
	if !changed {
		return false
	}
	m := make(map[string]*engine.Send, len(old))
	for k, s := range old {
		c := *s
		c.Changed = false
		m[k] = &c
	}
	v.received.Store(&m)
	return true
}

// Same reports whether the vertex receives over the same wires, in any order.
func (v *Vertex) Same(wires []resgraph.Wire) bool {
	if v == nil {
		return len(wires) == 0
	}
	return len(v.recv) == len(wires) && !slices.ContainsFunc(wires, func(w resgraph.Wire) bool { return v.like(w) == nil })
}

// Has reports whether the vertex receives over a wire like this one.
func (v *Vertex) Has(w resgraph.Wire) bool { return v.like(w) != nil }

// like returns the wire from the same sender to the same field.
func (v *Vertex) like(w resgraph.Wire) *wire {
	if v == nil {
		return nil
	}
	for i := range v.recv {
		if v.recv[i].Field == w.Field && v.recv[i].From == w.From && v.recv[i].Formula.Same(w.Formula) {
			return &v.recv[i]
		}
	}
	return nil
}

// Carry gives the resource of a new vertex the values that an old one has received over the same
// wires.
func (v *Vertex) Carry(old *Vertex, res engine.Res) {
	for i := range v.recv {
		w := &v.recv[i]
		o := old.like(w.Wire)
		if o == nil || !o.have || w.Formula == nil && schema.Set(res, w.Field, schema.Clone(o.value.V)) != nil {
			continue
		}
		w.have, w.value = true, o.value
	}
	v.carryMade(res)
}

// Inherit has values wait that came for an old vertex while the new one was made.
func (v *Vertex) Inherit(old *Vertex) {
	if v == nil {
		return
	}
	for i := range v.recv {
		w := &v.recv[i]
		o := old.like(w.Wire)
		if o == nil {
			continue
		}
		switch {
		case o.waiting:
			w.waiting, w.next, v.assign = true, o.next, true
		case o.have && !(w.have && w.value.same(o.value)):
			w.waiting, w.next, v.assign = true, o.value, true
		}
	}
}

// HasSecret reports whether a parameter was received from a secret, or is marked.
func (v *Vertex) HasSecret() bool {
	return v != nil && (len(v.marked) > 0 || slices.ContainsFunc(v.recv, func(w wire) bool { return w.value.Secret || w.made.Secret }))
}

// IsSecret reports whether the value that was received in a field, in one above or in
// one below it is secret, or is marked as one.
func (v *Vertex) IsSecret(path string) bool {
	if v == nil {
		return false
	}
	about := func(field string) bool { return within(path, field) || within(field, path) }
	return slices.ContainsFunc(v.marked, about) ||
		slices.ContainsFunc(v.recv, func(w wire) bool { return (w.value.Secret || w.made.Secret) && about(w.Field) })
}

func within(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
