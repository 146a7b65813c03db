package values

import (
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// eachFormula calls do for the wires of each formula, as indices. They stand one after the other, as all wires of a field do.
func (v *Vertex) eachFormula(do func(first, end int)) {
	for first, end := 0, 0; first < len(v.recv); first = end {
		f := v.recv[first].Formula
		for end = first + 1; end < len(v.recv) && v.recv[end].Formula == f; end++ {
		}
		if f != nil {
			do(first, end)
		}
	}
}

// compute makes the values of the formulas for which a value waits, once all their values are there or wait.
func (v *Vertex) compute() {
	v.eachFormula(func(first, end int) {
		group := v.recv[first:end]
		waits := false
		for i := range group {
			if !group[i].have && !group[i].waiting {
				return
			}
			waits = waits || group[i].waiting
		}
		if waits {
			made, err := makeOf(group)
			for i := range group {
				group[i].making, group[i].wrong, group[i].whole = made, err, true
			}
		}
	})
}

// makeOf makes the value of a formula from the values of its wires. Some of these may wait. Its error has no part of a secret.
func makeOf(group []wire) (Value, error) {
	sent := make(map[string]any, len(group))
	hidden := false
	for i := range group {
		val := group[i].value
		if group[i].waiting {
			val = group[i].next
		}
		sent[group[i].From.String()] = revealed(val.V)
		hidden = hidden || val.Secret
	}
	made, secret, err := call(group[0].Formula, sent)
	switch {
	case err != nil && (hidden || secret):
		return Value{}, errors.New("the value can't be computed from the secret")
	case err != nil:
		return Value{}, err
	}
	return Value{V: made, Secret: hidden || secret}, nil
}

// call calls a formula, whose panic is an error: the loop of the reactor must go on.
func call(f *resgraph.Formula, sent map[string]any) (v any, secret bool, err error) {
	defer callsafe.Recover("the expression", &err)
	return f.Make(sent)
}

// revealed returns a copy of a plain value in which secrets are texts.
func revealed(x any) any {
	switch x := x.(type) {
	case schema.Secret:
		return x.Reveal()
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = revealed(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			out[k] = revealed(x[k])
		}
		return out
	}
	return x
}

// assignMade assigns the values that compute has made. undo brings the old ones back.
func (v *Vertex) assignMade(res engine.Res) (undo []func(), err error) {
	v.eachFormula(func(first, end int) {
		w := &v.recv[first]
		if err != nil || !w.whole {
			return
		}
		made, wrong := w.making, w.wrong
		for i := first; i < end; i++ {
			v.recv[i].whole, v.recv[i].made, v.recv[i].making = false, made, Value{}
		}
		if wrong != nil {
			err = fmt.Errorf("%s: %w", w.Field, wrong)
			return
		}
		back, bad := w.put(res, made)
		undo, err = append(undo, back), bad
	})
	return undo, err
}

// carryMade gives a resource the value of a formula, whose values an old vertex has received. Where they do not give one, they count as not received.
func (v *Vertex) carryMade(res engine.Res) {
	v.eachFormula(func(first, end int) {
		group := v.recv[first:end]
		all := true
		for i := range group {
			all = all && group[i].have
		}
		var made Value
		var err error
		if all {
			if made, err = makeOf(group); err == nil {
				err = schema.SetWritten(res, group[0].Field, made.V)
			}
		}
		for i := range group {
			group[i].have, group[i].made = all && err == nil, made
		}
	})
}
