package hold

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/internal/plain"
)

// Flapping says when a resource flaps: its correction against the
// same other value Times times Within a time, whatever it was corrected against in
// between. A value counts when its writer has finished it: see engine/host. It is then left alone for Pause, and for twice as long each time that it goes on as before, up to
// PauseMax. A command that ran, or a refresh, does not count. The zero value is never.
type Flapping struct {
	Times    int
	Within   time.Duration
	Pause    time.Duration
	PauseMax time.Duration
}

// DefaultFlapping returns when a resource flaps where the options of the front door do not
// say so.
func DefaultFlapping() Flapping {
	return Flapping{Times: 25, Within: time.Minute, Pause: 30 * time.Second, PauseMax: time.Hour}
}

// ParseFlapping reads how often in which time a resource flaps, as in 25/1m; off for
// never. The pauses are those of DefaultFlapping.
func ParseFlapping(s string) (Flapping, error) {
	if s == "off" {
		return Flapping{}, nil
	}
	f := DefaultFlapping()
	times, within, ok := strings.Cut(s, "/")
	var errTimes, errWithin error
	f.Times, errTimes = strconv.Atoi(times)
	f.Within, errWithin = time.ParseDuration(within)
	if !ok || errTimes != nil || errWithin != nil || f.Times < 2 || f.Within <= 0 {
		return Flapping{}, fmt.Errorf("%q does not say when a resource is flapping: write how often in which time, at least 2, as in 25/1m, or off", s)
	}
	return f, nil
}

// String writes what ParseFlapping reads.
func (f Flapping) String() string {
	if f.Times == 0 {
		return "off"
	}
	return strconv.Itoa(f.Times) + "/" + short(f.Within)
}

// Validate returns an error for numbers that make no sense.
func (f Flapping) Validate() error {
	if f.Times != 0 && (f.Times < 2 || f.Within <= 0 || f.Pause <= 0 || f.PauseMax < f.Pause) {
		return errors.New("flapping needs at least 2 times, and times above 0")
	}
	return nil
}

// rest is how long to leave a vertex alone for the nth time, from 0.
func (f Flapping) rest(n int) time.Duration {
	d := f.Pause
	for i := 0; i < n && d < f.PauseMax; i++ {
		d *= 2
	}
	return min(d, f.PauseMax)
}

// flaps are the corrections of one vertex.
type flaps struct {
	recent  []correction // the last ones, the oldest first; at most flapMemory for each of Times
	against uint64       // the print of the values against which it flapped last
	pauses  int          // how often it was left alone since
	until   int64        // while it is left alone
}

// correction is one of a vertex.
type correction struct {
	print uint64 // of the values that it was corrected from
	at    int64
}

// flapMemory bounds how many corrections from other values may lie between the counted ones: a file
// that is written in two steps is seen half way, too.
const flapMemory = 4

// A Rest is how long a vertex that flaps is left alone.
type Rest struct {
	For         time.Duration
	Until       int64 // by the reactor's clock
	Corrections int   // from the same values, within the time
}

// Corrected takes a correction of the vertex, from values with a print. It reports whether the
// vertex flaps, and for how long it is left alone then.
func (v *Vertex) Corrected(print uint64, now int64, o Flapping) (rest Rest, yes bool) {
	mine := v.own()
	if mine.flaps == nil {
		mine.flaps = &flaps{}
	}
	f := mine.flaps
	f.note(correction{print, now}, o)
	// After a pause the first correction tells that the other side has not given up.
	if (f.pauses == 0 || f.against != print) && f.times(print) < o.Times {
		return rest, false
	}
	f.against = print
	d := o.rest(f.pauses)
	f.pauses++
	f.until = now + int64(d)
	return Rest{For: d, Until: f.until, Corrections: f.times(print)}, true
}

// Rested reports whether a vertex that was left alone until a time waits for that time still:
// it was not resumed meanwhile, and did not flap again.
func (v *Vertex) Rested(until int64) bool {
	return v.past != nil && v.flaps != nil && v.flaps.until == until
}

// note adds a correction, and forgets old and surplus corrections.
func (f *flaps) note(c correction, o Flapping) {
	if f.pauses > 0 && c.at-f.until > int64(o.Within) {
		f.pauses = 0
	}
	f.recent = append(slices.DeleteFunc(f.recent, func(e correction) bool { return c.at-e.at > int64(o.Within) }), c)
	if extra := len(f.recent) - flapMemory*o.Times; extra > 0 {
		f.recent = slices.Delete(f.recent, 0, extra)
	}
}

// times is how often it was corrected from the same values.
func (f *flaps) times(print uint64) (n int) {
	for _, e := range f.recent {
		if e.print == print {
			n++
		}
	}
	return n
}

// Corrects reports whether there was another value in the place of the right one: a command
// that ran, or a refresh, corrects nothing.
func Corrects(cs []engine.Change) bool { return slices.ContainsFunc(cs, corrects) }

func corrects(c engine.Change) bool { return c.Verb != engine.Ran && c.Verb != engine.Refreshed }

// Seen tells in words which value was found instead of the wanted one. There must be a correction
// among the changes.
func Seen(cs []engine.Change) string {
	switch c := cs[slices.IndexFunc(cs, corrects)]; {
	case c.Verb == engine.Created:
		return "gone again and again"
	case c.Verb != engine.Updated:
		return "back again and again"
	default:
		return fmt.Sprintf("found with %s", engine.Change{Field: c.Field, From: c.From, To: c.To})
	}
}

// Print tells whether changes corrected the same other values, secrets among them. It does not give them away: the seed is chance.
func Print(seed maphash.Seed, cs []engine.Change) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, c := range cs {
		from, err := plain.Marshal(c.From)
		if err != nil {
			from = fmt.Append(nil, c.From)
		}
		_, _ = fmt.Fprintf(&h, "%s\x00%s\x00%d\x00%s", c.Field, c.Verb, len(from), from)
	}
	_, _ = fmt.Fprint(&h, len(cs))
	return h.Sum64()
}
