package reactor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Approval says which changes wait for the word of a person; see ParseApproval. Those of resources with drift: ask wait besides. The zero
// value is for none.
type Approval = hold.Approval

// Windows are the times in which something may be changed; see ParseWindows. With none, that is always.
type Windows = hold.Windows

// ParseApproval reads changes, removals and kinds, separated by commas; off for none.
func ParseApproval(s string) (Approval, error) { return hold.ParseApproval(s) }

// ParseWindows reads windows, separated by semicolons, each of days, times and a place, as in "mon-fri 08:00-17:00 Europe/Berlin". Days
// may be listed (sat,sun) or left out, and so may the place, for the time of this machine; off for none.
func ParseWindows(s string) (Windows, error) { return hold.ParseWindows(s) }

// guards are what has to allow each change.
type guards struct {
	approve Approval
	windows Windows
	policy  Policy // nil for none
	expiry  time.Duration
}

func (g *guards) on() bool { return g.approve.On() || len(g.windows) > 0 || g.policy != nil }

// allowed returns why a run that wants to change v may not, as an *AskError or a *ShutError of package hold, or a *DeniedError.
func (x *runner) allowed(v *vertex) error {
	g, j := x.guards.Load(), v.run.job
	v.run.mu.Lock()
	cs := v.run.said.changes
	v.run.mu.Unlock()
	rulings := x.judge(g.policy, v, cs)
	if err := Denied(rulings); err != nil {
		return err
	}
	if left, shut := g.windows.Shut(x.opt.Wall()); shut && !j.resumed {
		return &hold.ShutError{Windows: g.windows, For: left}
	}
	persons, why := Persons(rulings)
	if g.approve.Asks(v.Res.Kind(), cs) || v.meta.Drift == engine.DriftAsk && x.corrects(v, cs) {
		persons = max(persons, 1)
	}
	if persons > 0 {
		digest := hold.Digest(x.salt(), v.ID, declared(v), cs)
		if !j.approved.Covers(digest, persons, x.opt.Wall()) {
			return &hold.AskError{Digest: digest, Persons: persons, Why: why, Expired: j.approved != nil && j.approved.Digest == digest && j.approved.Persons >= persons}
		}
	}
	x.warned(v, rulings)
	return nil
}

// declared returns the parameters of v, with what it has received and without what it only tells.
func declared(v *vertex) any {
	encoded, _ := schema.Encode(v.Res) // without it, the changes alone name what is approved
	if params, ok := encoded.(map[string]any); ok {
		for _, f := range v.abil.recvType.Fields {
			if f.Role == schema.RoleReadOnly {
				delete(params, f.Key)
			}
		}
	}
	return encoded
}

// withWhatRuns adds the parameters of v to changes one of which only runs something: it does not say what.
func withWhatRuns(v *vertex, cs []engine.Change) []engine.Change {
	params, ok := declared(v).(map[string]any)
	if !ok || !slices.ContainsFunc(cs, func(c engine.Change) bool { return c.Verb == engine.Ran }) {
		return cs
	}
	cs = slices.Clone(cs)
	for _, f := range v.abil.recvType.Fields {
		switch x := params[f.Key].(type) {
		case string, []any, map[string]any: // numbers, such as times, say nothing of what runs
			if !reflect.ValueOf(x).IsZero() {
				cs = append(cs, engine.Change{Field: f.Key, To: x})
			}
		}
	}
	return cs
}

// corrects reports whether changes of a run of v put right what somebody else has altered, maybe together with another cause.
func (x *runner) corrects(v *vertex, cs []engine.Change) bool {
	j := v.run.job
	switch {
	case !slices.ContainsFunc(cs, corrective):
		return false
	case j.class == Corrective:
		return true
	case j.class == Cascade:
		return j.fromOutside()
	case x.opt.Declared == nil || v.membership.placed:
		return false
	}
	print, was := x.opt.Declared.print(v), x.opt.Declared.of(v.ID)
	return print == "" || was != nil && was.Print == print // declared as before, as far as is known: the engine has only been started
}

func corrective(c engine.Change) bool { return hold.Corrects([]engine.Change{c}) }

// salt is that of the digests of changes. With a state folder a digest is the same after a restart.
func (x *runner) salt() []byte {
	if x.opt.Declared != nil {
		return x.opt.Declared.salt
	}
	return x.ownSalt[:]
}

// disallowed takes the end of a run that was not allowed to change what it wanted to, and reports whether it was such a run.
func (l *loop) disallowed(v *vertex, err error) bool {
	if err == nil {
		return false
	}
	ask, asks := errors.AsType[*hold.AskError](err)
	shut, isShut := errors.AsType[*hold.ShutError](err)
	switch {
	case asks:
		l.askFor(v, ask)
	case isShut:
		l.awaitWindow(v, shut)
	}
	return asks || isShut
}

// askFor holds v until a person has approved its change, or an event has it looked at again.
func (l *loop) askFor(v *vertex, e *hold.AskError) {
	h := Held{Limit: LimitApproval, Digest: e.Digest, Why: strings.Join(e.Why, "; ")}
	lacks := "a person has to approve it (mgmt approve)"
	if e.Expired {
		lacks = "its approval has expired, and " + lacks
		l.log.Warn("an approval has expired before it was used", slog.String("resource", v.ID), slog.String("digest", e.Digest))
	}
	if e.Persons > 1 {
		lacks = l.asksPersons(v, e.Digest, e.Persons)
	} else {
		l.unapprove(v.ID)
	}
	h.Waits(lacks)
	if no := l.holds.rejected[v.ID]; no != nil && no.Digest == e.Digest {
		h.Reason, h.Rejected = no.text(), true
	} else if no != nil {
		l.unreject(v.ID)
	}
	v.run.mu.Lock()
	h.Changes = shortened(v.clean(withWhatRuns(v, v.run.said.changes)))
	v.run.mu.Unlock()
	if v.hold.Approved().Covers(e.Digest, e.Persons, l.opt.Wall()) { // while it was looked at
		l.redo(v)
		return
	}
	anew := v.hold.Ask(h, e.Persons, l.now())
	l.updateHold(v)
	if !anew {
		l.redo(v)
		return
	}
	l.log.Info("a change waits for an approval", slog.String("resource", v.ID), slog.String("digest", h.Digest))
	l.opt.Listener.held(v.ID, &h)
	l.endHeld(v)
}

// Bounds of what is kept of a change that waits.
const (
	maxAskedText = 16 << 10 // bytes of a text
	maxAsked     = 100      // changes of a resource
)

// shortened returns what is shown of changes, which are those of a vertex that may wait for long.
func shortened(cs []engine.Change) []engine.Change {
	short := func(x any) any {
		if s, ok := x.(string); ok && len(s) > maxAskedText {
			return fmt.Sprintf("%s ... (%d bytes)", strings.ToValidUTF8(s[:maxAskedText], ""), len(s))
		}
		return x
	}
	var out []engine.Change
	for _, c := range cs[:min(len(cs), maxAsked)] {
		c.From, c.To = short(c.From), short(c.To)
		out = append(out, c)
	}
	if more := len(cs) - maxAsked; more > 0 {
		out = append(out, engine.Change{Field: fmt.Sprintf("and %d more", more)})
	}
	return out
}

// awaitWindow holds v until a window begins.
func (l *loop) awaitWindow(v *vertex, e *hold.ShutError) {
	v.hold.TakeBack(false, v.run.job.approved)
	l.hold(v, &Held{Limit: LimitWindow, Reason: "it may be changed only " + e.Windows.String(), For: e.For})
	l.untilWindow(v, e.For)
	l.endHeld(v)
}

// windowLook is how often the clock of the machine is asked whether a window has begun: it may be set.
const windowLook = time.Minute

// untilWindow lets v go when a window begins.
func (l *loop) untilWindow(v *vertex, left time.Duration) {
	l.after(min(left, windowLook), nil, func() {
		if v.membership.gone || !v.hold.HeldBy(LimitWindow) {
			return
		}
		if left, shut := l.guards.Load().windows.Shut(l.opt.Wall()); shut {
			l.untilWindow(v, left)
		} else {
			l.letGo(v)
		}
	})
}

// askedNoMore takes that v wants no more to change what it had asked for.
func (l *loop) askedNoMore(v *vertex) {
	l.unapprove(v.ID)
	if v.hold.EndAsk() {
		l.unreject(v.ID)
		l.opt.Listener.held(v.ID, nil)
	}
}

// Proposal names a change that waits for an approval.
type Proposal struct {
	Resource string `json:"resource"` // kind[name]
	Digest   string `json:"digest"`   // Held.Digest, of the change that the person has seen
}

// Decision is the word of a person on changes that wait for an approval.
type Decision struct {
	Approve   bool // false rejects them
	Proposals []Proposal
	By        string // who says so; text for people
	Reason    string // the same
}

// Of reports whether it is about a resource.
func (d *Decision) Of(resource string) bool {
	return slices.ContainsFunc(d.Proposals, func(p Proposal) bool { return p.Resource == resource })
}

// UnapprovedError is the error of Resume for a resource that waits for an approval, which is asked for by Decide.
type UnapprovedError struct{ Resource string }

func (e *UnapprovedError) Error() string {
	return fmt.Sprintf("a change of %s waits for an approval: see it, and approve or reject it (mgmt approve)", e.Resource)
}

// NotAskedError is the error of Decide for a resource of which no change waits for an approval.
type NotAskedError struct {
	Resource string
	State    resgraph.State
}

func (e *NotAskedError) Error() string {
	return fmt.Sprintf("no change of %s waits for an approval: it is %s", e.Resource, e.State)
}

// OtherChangeError is the error of Decide for another change than the one that waits by now.
type OtherChangeError struct {
	Resource, Digest, Now string
}

func (e *OtherChangeError) Error() string {
	return fmt.Sprintf("another change of %s waits by now, %s and not %s: look at it again", e.Resource, e.Now, e.Digest)
}

// Decide approves changes that wait for that, or rejects them: all at one moment, or with an error none. What is approved is made once,
// if it is still the same change when it is looked at again, and the approval has not expired. Where a Policy asks for several persons, each
// of them decides. What is rejected stays held until another change is wanted, or somebody
// approves it, also over a restart if the Store survives that. The errors are an *UnknownResourceError, a *NotAskedError, an
// *OtherChangeError or a *PersonError. It returns when that is in effect; callable from any goroutine.
func (r *Reactor) Decide(ctx context.Context, d Decision) error {
	if err := r.lockHolds(ctx); err != nil {
		return err
	}
	defer func() { <-r.holding }()
	var wrong error
	if err := r.do(ctx, func() { wrong = r.loop.asking(d.Proposals) }); err != nil || wrong != nil {
		return errors.Join(err, wrong)
	}
	if d.Approve {
		var writes []records.Write
		err := r.do(ctx, func() {
			if wrong = r.loop.entitled(&d); wrong == nil {
				writes = r.loop.keep(&d)
			}
		})
		if err != nil || wrong != nil {
			return errors.Join(err, wrong)
		}
		if len(writes) > 0 {
			if err := r.memory.recorder.Commit(ctx, writes); err != nil {
				return fmt.Errorf("the approval cannot be recorded: %w", err)
			}
		}
	} else if err := r.keepRejected(ctx, &d); err != nil {
		return err
	}
	if err := r.do(context.WithoutCancel(ctx), func() { wrong = r.loop.decide(&d) }); err != nil {
		return err
	}
	return wrong
}

// keepRejected records what is rejected in one step.
func (r *Reactor) keepRejected(ctx context.Context, d *Decision) error {
	writes := make([]records.Write, 0, len(d.Proposals))
	for _, p := range d.Proposals {
		text, err := json.Marshal(rejection{p.Digest, d.By, d.Reason})
		if err != nil {
			return fmt.Errorf("the rejection cannot be recorded: %w", err)
		}
		writes = append(writes, records.Write{Table: tableRejected, Key: p.Resource, Value: text})
	}
	if err := r.memory.recorder.Commit(ctx, writes); err != nil {
		return fmt.Errorf("the rejection cannot be recorded: %w", err)
	}
	return nil
}

// asking returns which of the changes do not wait for an approval.
func (l *loop) asking(list []Proposal) error {
	var errs []error
	for _, p := range list {
		switch v := l.named(p.Resource); {
		case v == nil:
			errs = append(errs, &UnknownResourceError{p.Resource})
		case v.hold.Asked() == "":
			errs = append(errs, &NotAskedError{p.Resource, l.m.State(v.slot)})
		case v.hold.Asked() != p.Digest:
			errs = append(errs, &OtherChangeError{p.Resource, p.Digest, v.hold.Asked()})
		}
	}
	return errors.Join(errs...)
}

// entitled returns which of the changes the person may not approve.
func (l *loop) entitled(d *Decision) error {
	err := l.asking(d.Proposals)
	for _, p := range d.Proposals {
		if v := l.named(p.Resource); err == nil && d.Approve && v != nil {
			err = l.mayApprove(v, d.By)
		}
	}
	return err
}

// decide puts a decision into effect.
func (l *loop) decide(d *Decision) error {
	if err := l.entitled(d); err != nil {
		return err
	}
	for _, p := range d.Proposals {
		v := l.named(p.Resource)
		if d.Approve {
			l.approve(v, d.By)
			continue
		}
		no := &rejection{p.Digest, d.By, d.Reason}
		l.holds.reject(v.ID, no)
		if h := v.hold.HeldNow(l.now()); h != nil {
			h.Reason, h.Rejected = no.text(), true
			v.hold.Hold(*h, l.now())
			l.opt.Listener.held(v.ID, h)
		}
	}
	l.stir()
	return nil
}
