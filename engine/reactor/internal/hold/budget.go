package hold

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Budget bounds how much a run of the engine may alter: at most Most changes, or Share of the
// vertices of the graph if that is set, within a time. A vertex that wants to change something
// after that is held until Resume. The zero value sets no bound.
type Budget struct {
	Most   int
	Share  float64 // of the vertices, from above 0 to 1; at least one change
	Within time.Duration
}

// ParseBudget reads a Budget: a number of changes, or a share of the graph, and a time, as in 20/5m
// or 10%/1h. The empty text sets no bound.
func ParseBudget(s string) (Budget, error) {
	if s == "" {
		return Budget{}, nil
	}
	many, within, ok := strings.Cut(s, "/")
	if !ok {
		return Budget{}, fmt.Errorf("%q is no budget of changes: write how many in which time, as in 20/5m or 10%%/1h", s)
	}
	b := Budget{}
	var err error
	if share, isShare := strings.CutSuffix(many, "%"); isShare {
		b.Share, err = strconv.ParseFloat(share, 64)
		b.Share /= 100
		if err != nil || !(b.Share > 0 && b.Share <= 1) {
			return Budget{}, fmt.Errorf("%q is no budget of changes: %q must be above 0%% and at most 100%%", s, many)
		}
	} else if b.Most, err = strconv.Atoi(many); err != nil || b.Most < 1 {
		return Budget{}, fmt.Errorf("%q is no budget of changes: %q must be a whole number above 0, or a share such as 10%%", s, many)
	}
	if b.Within, err = time.ParseDuration(within); err != nil || b.Within <= 0 {
		return Budget{}, fmt.Errorf("%q is no budget of changes: %q must be a time above 0, such as 5m", s, within)
	}
	return b, nil
}

// String writes the budget as ParseBudget reads it. 15 digits are as many as a share keeps: with
// more of them 7% would be 7.000000000000001%, since the share is the quotient.
func (b Budget) String() string {
	switch {
	case b.Share > 0:
		return strconv.FormatFloat(b.Share*100, 'g', 15, 64) + "%/" + short(b.Within)
	case b.Most > 0:
		return strconv.Itoa(b.Most) + "/" + short(b.Within)
	default:
		return ""
	}
}

// short writes a duration without the units that are zero at its end.
func short(d time.Duration) string {
	s := d.String()
	if t, ok := strings.CutSuffix(s, "m0s"); ok {
		s = t + "m"
	}
	if t, ok := strings.CutSuffix(s, "h0m"); ok {
		s = t + "h"
	}
	return s
}

// On reports whether there is a bound.
func (b Budget) On() bool { return b.Most > 0 || b.Share > 0 }

// Validate returns an error for numbers that make no sense.
func (b Budget) Validate() error {
	switch {
	case b.Most < 0 || b.Share < 0 || b.Share > 1:
		return errors.New("a change budget is a number of changes above 0, or a share from 0 to 1")
	case b.On() && b.Within <= 0:
		return errors.New("a change budget needs a time within which it counts")
	default:
		return nil
	}
}

// ErrUsedUp ends a run that wants to change something although the budget is used up.
var ErrUsedUp = errors.New("the change budget is used up")
