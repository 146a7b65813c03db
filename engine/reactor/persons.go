package reactor

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/records"
)

// DefaultApproveExpiry is how long an approval that was not used counts.
const DefaultApproveExpiry = 24 * time.Hour

const tableApprovals = "approvals" // key: the resource; value: approvals

// approvals are those of a change that several persons have to approve.
type approvals struct {
	Digest string  `json:"digest"`
	Author string  `json:"author,omitempty"` // who has had it declared
	Given  []given `json:"given,omitempty"`

	timed time.Time // the end that a timer waits for; zero for none
}

// given is the approval of one person.
type given struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// fresh returns the approvals that count still.
func (a *approvals) fresh(now time.Time, expiry time.Duration) []given {
	return slices.DeleteFunc(slices.Clone(a.Given), func(g given) bool { return !now.Before(g.At.Add(expiry)) })
}

// text says what is lacking.
func (a *approvals) text(persons int) string {
	if len(a.Given) == 0 {
		return fmt.Sprintf("%d persons have to approve it (mgmt approve)", persons)
	}
	var by []string
	for _, g := range a.Given {
		by = append(by, g.By)
	}
	return fmt.Sprintf("%d of %d persons have approved it: %s", len(a.Given), persons, strings.Join(by, "; "))
}

// PersonError is the error of Decide for somebody who may not approve a change.
type PersonError struct{ Resource, Why string }

func (e *PersonError) Error() string {
	return fmt.Sprintf("you can't approve the change of %s: %s", e.Resource, e.Why)
}

// mayApprove says why somebody may not approve a change of v that several persons have to approve.
func (l *loop) mayApprove(v *vertex, by string) error {
	if v.hold.Persons() < 2 {
		return nil
	}
	a, who := l.approvalsOf(v, v.hold.Asked()), provenance.PersonOf(by)
	switch {
	case !who.Known():
		return &PersonError{v.ID, "it takes two persons, and it is not known who you are"}
	case a.Author != "" && who.Same(provenance.PersonOf(a.Author)):
		return &PersonError{v.ID, "you have had it declared, and others have to approve it"}
	}
	for _, g := range a.fresh(l.opt.Wall(), l.guards.Load().expiry) {
		if who.Same(provenance.PersonOf(g.By)) {
			return &PersonError{v.ID, "you have approved it, and another person has to"}
		}
	}
	return nil
}

// approvalsOf returns the approvals of a change of v.
func (l *loop) approvalsOf(v *vertex, digest string) *approvals {
	if a := l.holds.approvals[v.ID]; a != nil && a.Digest == digest {
		return a
	}
	return &approvals{Digest: digest, Author: v.hold.Author()}
}

// approvedBy returns the approvals of a change of v with that of a person, and whether they are enough.
func (l *loop) approvedBy(v *vertex, by string) (a approvals, enough bool) {
	now := l.opt.Wall()
	a = *l.approvalsOf(v, v.hold.Asked())
	a.Given = append(a.fresh(now, l.guards.Load().expiry), given{by, now})
	return a, len(a.Given) >= v.hold.Persons()
}

// keep returns what records the approvals of a Decision. Those that are enough count for this process alone, since they are used once.
func (l *loop) keep(d *Decision) (writes []records.Write) {
	for _, p := range d.Proposals {
		v := l.named(p.Resource)
		if v.hold.Persons() < 2 {
			continue
		}
		w := records.Write{Table: tableApprovals, Key: v.ID}
		if a, enough := l.approvedBy(v, d.By); !enough {
			w.Value, _ = json.Marshal(a) // text and times alone
		}
		writes = append(writes, w)
	}
	return writes
}

// approve records the approval of the change of v by a person, and releases the change once there are enough.
func (l *loop) approve(v *vertex, by string) {
	digest, persons := v.hold.Asked(), v.hold.Persons()
	a, enough := l.approvedBy(v, by)
	until := a.Given[0].At.Add(l.guards.Load().expiry)
	if !enough {
		l.holds.setApprovals(v.ID, &a)
		if h := v.hold.HeldNow(l.now()); h != nil {
			h.Waits(a.text(persons))
			v.hold.Hold(*h, l.now())
			l.opt.Listener.held(v.ID, h)
		}
		l.unreject(v.ID)
		l.time(v)
		return
	}
	l.unreject(v.ID)
	delete(l.holds.approvals, v.ID) // the record has gone before
	v.hold.EndAsk()
	v.hold.Approve(&hold.Approved{Digest: digest, Persons: persons, Until: until})
	l.letGo(v)
	l.expires(v, until)
}

// time has the first approval of some end in time.
func (l *loop) time(v *vertex) {
	a := l.holds.approvals[v.ID]
	if a == nil || len(a.Given) == 0 {
		return
	}
	if until := a.Given[0].At.Add(l.guards.Load().expiry); !until.Equal(a.timed) {
		a.timed = until
		l.expires(v, until)
	}
}

// expires has v looked at again when an approval is over that was not used.
func (l *loop) expires(v *vertex, until time.Time) {
	wait := until.Sub(l.opt.Wall())
	l.after(min(wait, windowLook), nil, func() {
		now := l.opt.Wall()
		a := v.hold.Approved()
		partly := l.holds.approvals[v.ID]
		switch {
		case v.membership.gone || a == nil && (partly == nil || len(partly.Given) == 0):
		case now.Before(until):
			l.expires(v, until)
		case a != nil && a.Until.Equal(until):
			v.hold.TakeApproved()
			l.log.Warn("an approval has expired before it was used", slog.String("resource", v.ID), slog.String("digest", a.Digest))
			l.event(v)
		case partly != nil && len(partly.Given) > 0 && partly.Given[0].At.Add(l.guards.Load().expiry).Equal(until):
			l.log.Warn("an approval has expired before others have approved the change, too", slog.String("resource", v.ID), slog.String("digest", partly.Digest))
			l.event(v)
		}
	})
}

// asksPersons returns what is said of a change of v that waits for several persons, and notes who has had it declared.
func (l *loop) asksPersons(v *vertex, digest string, persons int) string {
	a := *l.approvalsOf(v, digest)
	was := len(a.Given)
	a.Given = a.fresh(l.opt.Wall(), l.guards.Load().expiry)
	if l.holds.approvals[v.ID] == nil || l.holds.approvals[v.ID].Digest != digest || was != len(a.Given) {
		l.holds.setApprovals(v.ID, &a)
		text, _ := json.Marshal(a)
		l.memory.recorder.Note(tableApprovals, v.ID, text)
	}
	l.time(v)
	return a.text(persons)
}

func (b *holds) setApprovals(resource string, a *approvals) {
	if b.approvals == nil {
		b.approvals = map[string]*approvals{}
	}
	b.approvals[resource] = a
}

// unapprove forgets the approvals of a change that is wanted no more.
func (l *loop) unapprove(resource string) {
	if l.holds.approvals[resource] != nil {
		delete(l.holds.approvals, resource)
		l.memory.recorder.Note(tableApprovals, resource, nil)
	}
}

// recallApprovals takes over the approvals of an earlier process.
func (l *loop) recallApprovals(ctx context.Context) error {
	for rec, err := range l.opt.Store.Records(ctx, tableApprovals) {
		if err != nil {
			return fmt.Errorf("the approvals: %w", err)
		}
		var a approvals
		if json.Unmarshal(rec.Value, &a) == nil {
			l.holds.setApprovals(rec.Key, &a)
		}
	}
	return nil
}
