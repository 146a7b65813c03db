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
// same other value Times times Within a time, whatever it was corrected against in
// between. It is then left alone for Pause, and for twice as long each time that it goes on as before, up to
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

// Validate says what is wrong with it.
func (f Fight) Validate() error {
	if f.Times != 0 && (f.Times < 2 || f.Within <= 0 || f.Pause <= 0 || f.PauseMax < f.Pause) {
		return errors.New("a fight needs at least 2 times, and times above 0")
	}
	return nil
}

// fight is what is known of the corrections of one vertex.
type fight struct {
	recent  []correction // the last ones, the oldest first; at most fightMemory for each of Times
	against uint64       // the print of what it was left alone for
	pauses  int          // how often it was left alone since
	until   int64        // while it is left alone
}

// correction is one of a vertex.
type correction struct {
	print uint64 // of what it was corrected from
	at    int64
}

// fightMemory bounds how many corrections from other values may lie between those
// that are counted: who writes a file in two steps is seen half way, too.
const fightMemory = 4

// corrected looks whether v is fought over, after a run that has corrected it.
func (r *Reactor) corrected(v *vertex, run *Run) {
	o := r.opt.Fight
	if o.Times == 0 || !run.Changed || run.Class != Corrective || !corrects(run.Changes) {
		return
	}
	f := v.fight
	if f == nil {
		f = &fight{}
		v.fight = f
	}
	last := correction{r.fingerprint(run.Changes), r.now()}
	f.note(last, o)
	// After a pause the first correction tells that the other side has not given up.
	if f.pauses > 0 && f.against == last.print || f.times(last.print) >= o.Times {
		f.against = last.print
		r.breakOff(v, run)
	}
}

// note adds a correction, and forgets those that are too old, or too many.
func (f *fight) note(c correction, o Fight) {
	if f.pauses > 0 && c.at-f.until > int64(o.Within) {
		f.pauses = 0
	}
	f.recent = append(slices.DeleteFunc(f.recent, func(e correction) bool { return c.at-e.at > int64(o.Within) }), c)
	if extra := len(f.recent) - fightMemory*o.Times; extra > 0 {
		f.recent = slices.Delete(f.recent, 0, extra)
	}
}

// times is how often it was corrected from the same values.
func (f *fight) times(print uint64) (n int) {
	for _, e := range f.recent {
		if e.print == print {
			n++
		}
	}
	return n
}

// corrects reports whether there was another value in the place of the right one.
func corrects(cs []engine.Change) bool {
	return slices.ContainsFunc(cs, func(c engine.Change) bool {
		return c.Verb != engine.Ran && c.Verb != engine.Refreshed
	})
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
		slog.String("seen", reason), slog.Int("corrections", f.times(f.against)), slog.Duration("for", d))
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
