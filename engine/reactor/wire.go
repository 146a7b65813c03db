package reactor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// value is a value on its way, a deep copy of its own.
type value struct {
	v      any
	secret bool
}

// wire is one field that a vertex receives.
type wire struct {
	engine.Wire
	noWatch bool

	have    bool // a value has been assigned
	value   value
	waiting bool // another one is to be assigned
	next    value
}

// target is one wire of a receiver.
type target struct {
	v *vertex
	i int
}

// missing returns a wire that has no value yet.
func (v *vertex) missing() *wire {
	for i := range v.recv {
		if !v.recv[i].have {
			return &v.recv[i]
		}
	}
	return nil
}

// send implements Init.Send.
func (v *vertex) send(x any) error {
	want := v.abil.Sends
	if want == nil {
		return fmt.Errorf("%s sends nothing: it has no Sends that returns a struct", v.id)
	}
	if t, rv, err := schema.Side(x); err != nil || !rv.IsValid() || t.Go != want.Go {
		return fmt.Errorf("%s sends a %T where Sends says %s", v.id, x, nameOf(want))
	}
	sent := make(map[string]value, len(want.Fields))
	for _, f := range want.Fields {
		x, err := schema.Get(x, f.Key)
		if err != nil {
			return fmt.Errorf("%s sends %s: %w", v.id, f.Key, err)
		}
		sent[f.Key] = value{v: schema.Clone(x), secret: v.tainted || f.Type.Secret || hasSecret(x)}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sent = sent
	return nil
}

// nameOf returns the name of the Go type that t was read from, or of t itself.
func nameOf(t *schema.Type) string {
	if t.Go.Name() == "" {
		return t.Name
	}
	return t.Go.String()
}

// hasSecret reports whether there is a secret in a plain value.
func hasSecret(x any) bool {
	found := false
	eachText(x, func(_ string, secret bool) { found = found || secret })
	return found
}

// eachText calls do for every text in a plain value.
func eachText(x any, do func(s string, secret bool)) {
	switch x := x.(type) {
	case string:
		do(x, false)
	case schema.Secret:
		do(x.Reveal(), true)
	case []any:
		for _, e := range x {
			eachText(e, do)
		}
	case map[string]any:
		for _, e := range x {
			eachText(e, do)
		}
	}
}

// propagate offers what v has sent to its receivers.
func (r *Reactor) propagate(v *vertex, sent map[string]value) {
	if sent == nil {
		return
	}
	v.lastSent = sent
	for _, t := range v.sendsTo {
		t.v.offer(t.i, sent)
		r.tryAssign(t.v)
	}
}

// offer notes the value for a wire, if it is another one.
func (v *vertex) offer(i int, sent map[string]value) {
	w := &v.recv[i]
	val, ok := sent[w.key(sent)]
	if !ok || !w.waiting && w.have && schema.Equal(w.value.v, val.v) {
		return
	}
	w.waiting, w.next = true, val
	v.assign = true
}

// key returns the sender's key; a Go field name is an alias of it, which the
// builder has resolved where it could.
func (w *wire) key(sent map[string]value) string {
	if _, ok := sent[w.From.Key]; ok {
		return w.From.Key
	}
	for k := range sent {
		if strings.EqualFold(k, w.From.Key) {
			return k
		}
	}
	return w.From.Key
}

// tryAssign assigns the values that wait, if neither Watch nor CheckApply runs.
// Else it sees to it that it is called again when they have ended.
func (r *Reactor) tryAssign(v *vertex) {
	if !v.assign || v.inRun || v.gone || v.suspended || v.before != nil {
		return // the end of the run, or the start of v, comes back
	}
	if v.watching && v.assignEndsWatch() {
		if v.watchState != watchEnding {
			r.endWatch(v, watchEnding)
		}
		return // the end of the Watch comes back
	}
	v.assign = false
	for i := range v.recv {
		if w := &v.recv[i]; w.waiting {
			r.because(v, Trigger{Cause: CauseValue, From: w.From.ID(), Run: r.lastRunOf(w.From.ID()), Field: w.Field})
		}
	}
	err := r.assignAll(v)
	switch {
	case err != nil:
		v.refused = err
		r.fail(v, fmt.Errorf("a received value was refused: %w", err), false, 0)
	case v.watchState == watchRunning:
		r.ready(v)
	case !v.watching:
		r.open(v)
	}
}

func (r *Reactor) lastRunOf(id string) uint64 {
	if v := r.named(id); v != nil {
		return v.lastRun
	}
	return 0
}

func (v *vertex) assignEndsWatch() bool {
	for i := range v.recv {
		if v.recv[i].waiting && !v.recv[i].noWatch {
			return true
		}
	}
	return false
}

// assignAll assigns and validates. If it fails, the old values are back.
func (r *Reactor) assignAll(v *vertex) error {
	r.values.Lock()
	defer r.values.Unlock()
	v.refused = nil
	olds := slices.Clone(v.recv)
	v.taintBy(olds)
	var restore []func()
	var err error
	for i := range v.recv {
		if w := &v.recv[i]; w.waiting && err == nil {
			var undo func()
			undo, err = v.assignOne(w)
			restore = append(restore, undo)
		}
	}
	if err == nil {
		err = r.read("Validate", guarded("Validate", v.res.Validate))
	}
	if err == nil {
		v.publish(olds)
		return nil
	}
	for _, undo := range slices.Backward(restore) {
		undo()
	}
	for i := range olds {
		olds[i].waiting = false
	}
	v.recv = olds
	return v.cleanError(err)
}

// assignOne assigns what waits for a wire; undo brings back what was there.
func (v *vertex) assignOne(w *wire) (undo func(), err error) {
	undo, err = schema.Save(v.res, w.Field)
	if err == nil {
		err = schema.Set(v.res, w.Field, schema.Clone(w.next.v))
	}
	switch {
	case err != nil && w.next.secret: // the reason may quote a part of it
		return func() {}, fmt.Errorf("%s: the secret from %s does not fit", w.Field, w.From.ID())
	case err != nil:
		return func() {}, fmt.Errorf("%s: %w", w.Field, err)
	}
	w.have, w.waiting, w.value = true, false, w.next
	return undo, nil
}

// publish makes what was received visible to Init.Recv; before tells which wires
// had a value waiting. Changed stays up until seen is called.
func (v *vertex) publish(before []wire) {
	old := v.recvMap()
	m := make(map[string]*engine.Send, 2*len(v.recv))
	for i := range v.recv {
		w := &v.recv[i]
		if !w.have {
			continue
		}
		s := &engine.Send{Res: refID(w.From.ID()), Key: w.From.Key, Secret: w.value.secret, Changed: before[i].waiting}
		if o := old[w.Field]; o != nil {
			s.Changed = s.Changed || o.Changed
		} else if s.Changed && v.wasSeen(w) {
			s.Changed = false // the process before has acted on it
		}
		m[w.Field] = s
		if f := v.abil.recvType.Field(w.Field); f != nil {
			m[f.GoName] = s
		}
	}
	v.mark(m)
	v.received.Store(&m)
}

// seen takes Changed back after a run that succeeded. It reports whether there was
// one.
func (v *vertex) seen() bool {
	old := v.recvMap()
	any := false
	for _, s := range old {
		any = any || s.Changed
	}
	if !any {
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

type refID string

func (r refID) String() string { return string(r) }

// taintBy notes which values of some wires are secret.
func (v *vertex) taintBy(ws []wire) {
	var secret []value
	for i := range ws {
		for _, val := range []value{ws[i].value, ws[i].next} {
			if val.secret {
				v.tainted = true
				secret = append(secret, val)
			}
		}
	}
	v.guardList(secret)
}
