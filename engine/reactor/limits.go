package reactor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

// Budget bounds how much a run of the engine may alter: at most Most changes, or Share (0 to 1) of the
// vertices of the graph if that is set, within the time Within. A vertex that wants to change something
// after that is held until Resume. The zero value sets no bound.
type Budget = hold.Budget

// Flapping says when a resource flaps: Times equal corrections Within a time. It is then left alone for
// Pause, and for twice as long each time that it goes on as before, up to PauseMax. The zero value is never.
type Flapping = hold.Flapping

// Storm says when a resource runs too often: more than Runs times Within a time. A run that changed
// something counts four times, and not at all where somebody outside had altered that, a failed run ten times. A run that an event from outside
// has asked for, and that finds nothing, counts by its time: once for 5 ms, and less for less. The resource then waits before each run. The zero
// value slows nothing.
type Storm = hold.Storm

// Pause is the word of an operator to leave a resource alone. Resource is its kind[name], or empty for
// all. Until is the end by the wall clock, or zero for a pause that lasts until Resume. Reason is text for people.
type Pause = hold.Pause

// Which names resources. The zero value names none.
type Which struct {
	All   bool     // whatever else is named
	Named []string // each kind[name]: what is asked of one that it does not fit is an error
	Among []string // those of them that it fits
}

// Named is Which for one resource.
func Named(resource string) Which { return Which{Named: []string{resource}} }

// Held says which limit keeps a vertex from being altered. Limit is one of those below, Reason says it
// in words, and For is the time until it goes on by itself, 0 where it waits for Resume, or with LimitApproval for Decide.
type Held = hold.Held

// The limits, as Held names them.
const (
	LimitBudget   = hold.LimitBudget   // too many changes
	LimitFlapping = hold.LimitFlapping // corrected again and again
	LimitApproval = hold.LimitApproval // a person has to approve the change
	LimitWindow   = hold.LimitWindow   // nothing is changed at this time
)

// ParseBudget reads a Budget: a number of changes, or a share of the graph, and a time, as in 20/5m
// or 10%/1h. The empty text sets no bound.
func ParseBudget(s string) (Budget, error) { return hold.ParseBudget(s) }

// ParseFlapping reads how often in which time a resource flaps, as in 25/1m; off for never.
func ParseFlapping(s string) (Flapping, error) { return hold.ParseFlapping(s) }

// DefaultFlapping returns when a resource flaps where the options of the front door do not say so.
func DefaultFlapping() Flapping { return hold.DefaultFlapping() }

// DefaultStorm returns the Storm of a daemon whose options give none.
func DefaultStorm() Storm { return hold.DefaultStorm() }

// Removals bounds how many resources a new graph may remove without being told to: a graph that
// removes more than Most, and more than Share of the vertices, is held. Only fields above zero
// count; the zero value sets no bound.
type Removals struct {
	Most  int
	Share float64 // from above 0 to 1
}

// DefaultRemovals is met only by a mass deletion.
var DefaultRemovals = Removals{Most: 10, Share: 0.33}

// ParseRemovals reads a number, a share as in 20%, both as in 10,20%, or off.
func ParseRemovals(s string) (r Removals, err error) {
	if s == "off" {
		return r, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		share, ok := strings.CutSuffix(part, "%")
		if ok && r.Share > 0 || !ok && r.Most > 0 {
			return Removals{}, fmt.Errorf("%q has two bounds of one sort: write a number as 10, a share as 20%%, both as 10,20%%, or off", s)
		}
		if ok {
			r.Share, err = strconv.ParseFloat(share, 64)
			r.Share /= 100
			if err != nil || !(r.Share > 0 && r.Share <= 1) {
				return Removals{}, fmt.Errorf("%q must be above 0%% and at most 100%%", part)
			}
		} else if r.Most, err = strconv.Atoi(part); err != nil || r.Most < 1 {
			return Removals{}, fmt.Errorf("%q is no bound of removals: write a number as 10, a share as 20%%, both as 10,20%%, or off", s)
		}
	}
	return r, nil
}

// String writes the bound as ParseRemovals reads it.
func (r Removals) String() string {
	var parts []string
	if r.Most > 0 {
		parts = append(parts, strconv.Itoa(r.Most))
	}
	if r.Share > 0 {
		parts = append(parts, strconv.FormatFloat(r.Share*100, 'f', -1, 32)+"%")
	}
	if len(parts) == 0 {
		return "off"
	}
	return strings.Join(parts, ",")
}

// meets reports whether n removals out of so many are too many.
func (r Removals) meets(n, of int) bool {
	return (r.Most > 0 || r.Share > 0) && n > r.Most && float64(n) > r.Share*float64(of)
}

// RemovalsError is the error of a Swap that would remove too many vertices. The old graph
// goes on, until AcceptRemovals was called and the new one is swapped in again.
type RemovalsError struct {
	Removed []string // in the order of the old graph
	Of      int      // vertices of the old graph
	Start   bool     // the old graph is that of an earlier process: nothing runs meanwhile
	Asked   string   // a vertex that leaves only when somebody agrees (leaving: ask); empty where there are too many alone
}

func (e *RemovalsError) Error() string {
	const most = 5
	names := strings.Join(e.Removed[:min(most, len(e.Removed))], ", ")
	if more := len(e.Removed) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if e.Asked != "" && e.Start {
		return fmt.Sprintf("held: it lacks %d of the %d resources that were in effect before this start (%s), and %s had leaving: ask; nothing runs meanwhile; mgmt resume accepts that, and an edit of the graph takes it back", len(e.Removed), e.Of, names, e.Asked)
	}
	if e.Asked != "" {
		return fmt.Sprintf("held: it removes %d of %d resources (%s), and %s has leaving: ask; mgmt resume accepts that, and an edit of the graph takes it back", len(e.Removed), e.Of, names, e.Asked)
	}
	if e.Start {
		return fmt.Sprintf("held: it lacks %d of the %d resources that were in effect before this start (%s), more than --max-removals allows; nothing runs meanwhile; mgmt resume accepts that, and an edit of the graph takes it back", len(e.Removed), e.Of, names)
	}
	return fmt.Sprintf("held: it removes %d of %d resources (%s), more than --max-removals allows; mgmt resume accepts that, and an edit of the graph takes it back", len(e.Removed), e.Of, names)
}
