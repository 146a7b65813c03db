package reactor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// Fight says when a resource counts as fought over: its correction against the
// same other value Times times in a row, all Within a time. It is then left alone
// for Pause, and for twice as long each time that it goes on as before, up to
// PauseMax. What ran or was refreshed is no correction. The zero value is never.
type Fight struct {
	Times    int
	Within   time.Duration
	Pause    time.Duration
	PauseMax time.Duration
}

// DefaultFight returns when a resource counts as fought over in the front door,
// if nobody says otherwise.
func DefaultFight() Fight {
	return Fight{Times: 25, Within: time.Minute, Pause: 30 * time.Second, PauseMax: time.Hour}
}

// ParseFight reads how often in which time makes a fight, as in 25/1m; off for
// never. The pauses are those of DefaultFight.
func ParseFight(s string) (Fight, error) {
	if s == "off" {
		return Fight{}, nil
	}
	f := DefaultFight()
	times, within, ok := strings.Cut(s, "/")
	var errTimes, errWithin error
	f.Times, errTimes = strconv.Atoi(times)
	f.Within, errWithin = time.ParseDuration(within)
	if !ok || errTimes != nil || errWithin != nil || f.Times < 2 || f.Within <= 0 {
		return Fight{}, fmt.Errorf("%q does not say what a fight is: write how often in which time, at least 2, as in 25/1m, or off", s)
	}
	return f, nil
}

// String writes what ParseFight reads.
func (f Fight) String() string {
	if f.Times == 0 {
		return "off"
	}
	return strconv.Itoa(f.Times) + "/" + short(f.Within)
}

func (f Fight) validate() error {
	if f.Times != 0 && (f.Times < 2 || f.Within <= 0 || f.Pause <= 0 || f.PauseMax < f.Pause) {
		return errors.New("reactor: a fight needs at least 2 times, and times above 0")
	}
	return nil
}

// fight is what is known of the corrections of one vertex.
type fight struct {
	print  uint64  // of what it was corrected from
	at     []int64 // of the last corrections, the oldest first; at most Times
	pauses int     // how often it was left alone since
	until  int64   // while it is left alone
}

// corrected looks whether v is fought over, after a run that has corrected it.
func (r *Reactor) corrected(v *vertex, run *Run) {
	o := r.opt.Fight
	if o.Times == 0 || !run.Changed || run.Class != Corrective || !corrects(run.Changes) {
		return
	}
	now, print := r.now(), r.fingerprint(run.Changes)
	f := v.fight
	if f == nil || f.print != print || now-f.at[len(f.at)-1] > int64(o.Within)+f.rest(o) {
		v.fight = &fight{print: print, at: []int64{now}}
		return
	}
	f.at = append(f.at, now)
	if extra := len(f.at) - o.Times; extra > 0 {
		f.at = f.at[extra:]
	}
	// After a pause the first correction tells that the other side has not given up.
	if f.pauses > 0 || len(f.at) == o.Times && now-f.at[0] <= int64(o.Within) {
		r.breakOff(v, run)
	}
}

// corrects reports whether there was another value in the place of the right one.
func corrects(cs []engine.Change) bool {
	return slices.ContainsFunc(cs, func(c engine.Change) bool {
		return c.Verb != engine.Ran && c.Verb != engine.Refreshed
	})
}

// rest is how long it was left alone the last time.
func (f *fight) rest(o Fight) int64 {
	if f.pauses == 0 {
		return 0
	}
	return int64(o.pause(f.pauses - 1))
}

// pause is how long to leave a vertex alone for the nth time, from 0.
func (f Fight) pause(n int) time.Duration {
	d := f.Pause
	for i := 0; i < n && d < f.PauseMax; i++ {
		d *= 2
	}
	return min(d, f.PauseMax)
}

// breakOff leaves v alone for a while.
func (r *Reactor) breakOff(v *vertex, run *Run) {
	f := v.fight
	d := r.opt.Fight.pause(f.pauses)
	f.pauses++
	f.until = r.now() + int64(d)
	reason := "something else keeps undoing it: it is " + seen(run.Changes)
	r.log.Warn("fought over, left alone for a while", slog.String("resource", v.id),
		slog.String("seen", reason), slog.Int("corrections", len(f.at)), slog.Duration("for", d))
	r.hold(v, &Held{Brake: BrakeFight, Reason: reason, For: d})
	until := f.until
	r.after(d, nil, func() {
		if v.fight == f && f.until == until && !v.gone {
			r.letGo(v)
		}
	})
}

// seen tells in words what was found instead of what is wanted.
func seen(cs []engine.Change) string {
	i := slices.IndexFunc(cs, func(c engine.Change) bool { return corrects([]engine.Change{c}) })
	switch c := cs[i]; {
	case c.Verb == engine.Created:
		return "gone again and again"
	case c.Verb != engine.Updated:
		return "back again and again"
	default:
		return fmt.Sprintf("found with %s", engine.Change{Field: c.Field, From: c.From, To: c.To})
	}
}

// fingerprint tells whether changes corrected the same other values.
func (r *Reactor) fingerprint(cs []engine.Change) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, c := range cs {
		_, _ = fmt.Fprintf(&h, "%s\x00%s\x00%v\x00", c.Field, c.Verb, c.From)
	}
	_ = binary.Write(&h, binary.LittleEndian, int64(len(cs)))
	return h.Sum64()
}
