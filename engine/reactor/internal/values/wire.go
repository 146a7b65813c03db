package values

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// wire is one field that a vertex receives.
type wire struct {
	resgraph.Wire
	noWatch bool // an assignment does not end the Watch

	have    bool // a value has been assigned
	value   Value
	waiting bool // another one is to be assigned
	next    Value

	// Of a formula. All its wires have the same of these.
	made   Value // what was assigned
	making Value // the value to be assigned
	wrong  error // why there is nothing to assign
	whole  bool  // making or wrong is there
}

// key returns the sender's key; a Go field name is an alias of it, which the
// builder has resolved where it could.
func (w *wire) key(sent Sent) string {
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

// effective is the value that a wire gives to its parameter.
func (w *wire) effective() Value {
	if w.Formula != nil {
		return w.made
	}
	return w.value
}

// assign assigns the value that waits; undo brings back the old value. A value of a formula is only taken: assignMade assigns the value of the formula.
func (w *wire) assign(res engine.Res) (undo func(), err error) {
	undo = func() {}
	if w.Formula == nil {
		undo, err = w.put(res, w.next)
	}
	if err == nil {
		w.have, w.waiting, w.value = true, false, w.next
	}
	return undo, err
}

// put sets the parameter of a wire; undo brings back the old value.
func (w *wire) put(res engine.Res, val Value) (undo func(), err error) {
	undo, err = schema.Save(res, w.Field)
	switch {
	case err != nil:
	case w.Formula != nil:
		err = schema.SetWritten(res, w.Field, val.V)
	default:
		err = schema.Set(res, w.Field, schema.Clone(val.V))
	}
	switch {
	case err != nil && val.Secret: // the reason may quote a part of it
		return func() {}, fmt.Errorf("%s: the secret from %s does not fit", w.Field, w.From.ID())
	case err != nil:
		return func() {}, fmt.Errorf("%s: %w", w.Field, err)
	}
	return undo, nil
}
