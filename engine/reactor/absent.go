package reactor

import (
	"context"
	"errors"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// errUnchecked is the outcome of a run of a vertex without all of its parameters.
var errUnchecked = errors.New("it is not checked: a part of its parameters is not there yet")

// unchecked returns errUnchecked if the vertex of the job is not to be checked.
func (j *job) unchecked() error {
	if j.unread == "" {
		return nil
	}
	return errUnchecked
}

// mayBeAbsent reports whether a look at the thing of v can tell that it will be made, though values are missing: none of them
// says which thing it is, or whether it is to be there.
func (v *vertex) mayBeAbsent() bool {
	if !v.noop || !v.abil.Readable {
		return false
	}
	missing := v.wired().Unknown()
	if len(missing) == 0 {
		return true
	}
	t, err := schema.TypeOf(v.Res)
	if err != nil {
		return false
	}
	for _, c := range missing {
		key := c.Field
		if i := strings.IndexAny(key, ".["); i >= 0 {
			key = key[:i]
		}
		f := t.Field(key)
		if f == nil || f.Role != schema.RoleState || f.Key == "state" {
			return false
		}
	}
	return true
}

// lookAtFailed looks at the things of vertices under noop that could not be checked, and notes which of them are to be made. A
// vertex above may bring what the check needs; see judgeNoop.
func lookAtFailed(ctx context.Context, vs []*vertex, outs []engine.Outcome) {
	for i, v := range vs {
		if outs[i].Err != nil && v.noop && v.abil.Readable && ctx.Err() == nil {
			v.run.job.absent = absent(ctx, v.Res)
			if v.place(ctx) != nil {
				v.run.job.placeless = true
			}
		}
	}
}

// place asks the resource of v, whose thing is to be made and could not be checked, whether there is a place for it.
func (v *vertex) place(ctx context.Context) error {
	p, ok := engine.As[engine.PlacedRes](v.Res)
	if !ok || !v.run.job.absent {
		return nil
	}
	return lifecycle.Call("Place", func() error { return p.Place(ctx) })
}

// absent reports whether the thing of a resource is surely not there, and is to be.
func absent(ctx context.Context, r engine.Res) bool {
	if leaves(r) {
		return false
	}
	is, err := lifecycle.Read(ctx, r)
	return err == nil && (is == nil || leaves(is))
}

// leaves reports whether a resource says that its thing is to go, or is not there. A panic counts as yes.
func leaves(r engine.Res) (yes bool) {
	l, ok := engine.As[engine.LeavingRes](r)
	if !ok {
		return false
	}
	yes = true
	_ = lifecycle.Call("Leaving", func() error { yes = l.Leaving(); return nil })
	return yes
}
