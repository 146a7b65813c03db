package reactor

import (
	"hash/maphash"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
)

// complete makes the handle of the vertex's resource lead to the loop. A function without a use for the kind leads nowhere:
// any other function takes memory of its own.
func (v *vertex) complete(h *engine.Init) {
	h.Noop = v.noop
	h.Busy, h.Change, h.Host = v.core.saysBusy, v.change, (*vertexHost)(v)
	if !v.abil.Unwatched {
		h.Running, h.Event = v.sayRunning, v.sayEvent
	}
	if v.abil.Refreshable {
		h.Refresh = v.run.refresh.Load
	}
	h.Send = sendNothing
	if v.abil.Sends != nil {
		h.Send, h.Receives = v.send, v.receives
	}
	if v.wired() != nil {
		h.Recv = v.recvMap
	}
	if v.noop {
		h.VarDir = v.VarPath
	}
}

func (v *vertex) sayRunning() {
	if v.watch.SayRunning() {
		v.core.mail.post(v, mailRunning)
	}
}

func (v *vertex) sayEvent() {
	if v.watch.HasSaid() {
		v.core.mail.post(v, mailEvent)
	}
}

// usualChanges are those of most runs that make something: that it is there, and its content.
const usualChanges = 2

// change implements Init.Change, without secrets. The first change of a run that applies tells the loop that something is about to be
// altered: from then on the graph has not converged.
func (v *vertex) change(c engine.Change) {
	c.From, c.To = v.core.env.Shown(c.From), v.core.env.Shown(c.To)
	v.run.mu.Lock()
	said := v.run.says()
	if c.Print != "" {
		said.print = said.print*31 + maphash.String(v.core.seed, c.Print)
		c.Print = ""
	}
	if said.changes == nil {
		said.changes = make([]engine.Change, 0, usualChanges)
	}
	said.changes = append(said.changes, c)
	first := v.run.applied && len(said.changes) == 1
	v.run.mu.Unlock()
	if first {
		v.applies()
		if v.run.job.readable {
			v.picture(v.run.job.during)
		}
	}
}

// applies notes, at the first change that a run is about to make, that the graph is not at rest any
// more. A failed vertex stays failed through its retries. It is called by the run.
func (v *vertex) applies() {
	v.run.altered.Store(true)
	if v.core.resting.Load() {
		v.core.mail.post(v, mailAlters)
	}
}

// send implements Init.Send.
func (v *vertex) send(x any) error {
	sent, err := values.Send(v.abil.Sends, x, v.wired().IsTainted(), v.proofs())
	if err != nil {
		return err
	}
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	v.run.says().sent = sent
	return nil
}

// sendNothing implements Init.Send of a kind that sends nothing.
func sendNothing(x any) error {
	_, err := values.Send(nil, x, false, nil)
	return err
}

// receives implements Init.Receives, and recvMap implements Init.Recv.
func (v *vertex) receives() bool { return v.wired().Feeds() }

// receiver is v as package values sees it.
func (v *vertex) receiver() values.Receiver {
	return values.Receiver{ID: v.ID, Res: v.Res, Type: v.abil.recvType, Seen: &v.core.memory.seen}
}

// led takes what the subscriptions of v were told. A run that goes on may be about to put that right: see catchUp.
func (v *vertex) led() events.Cause {
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	c := v.watch.Subs().Led()
	if v.run.inRun && c.Merged > 0 {
		said := v.run.says()
		said.later = merged(said.later, c)
	}
	return c
}

// merged joins a later cause to one that may be nil.
func merged(c *events.Cause, later events.Cause) *events.Cause {
	if c == nil {
		c = new(events.Cause)
	}
	c.Merge(later)
	return c
}

// catchUp takes into the run what the subscriptions of v have been told since it was asked for. The run is about to put right what
// they tell of.
func (v *vertex) catchUp() {
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	c := v.watch.Subs().Led()
	if said := v.run.said; said.later != nil {
		said.later.Merge(c)
		c, said.later = *said.later, nil
	}
	if c.Merged > 0 {
		said := v.run.says()
		said.led = merged(said.led, c)
	}
}
