package hold

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pause is the word of an operator that a vertex, or every one, is left alone
// for a while.
type Pause struct {
	Resource string    // kind[name]; empty for all
	Until    time.Time // by the wall clock; zero for until it is resumed
	Reason   string
}

// String says until when, and why.
func (p *Pause) String() string {
	s := "until it is resumed"
	if !p.Until.IsZero() {
		s = "until " + p.Until.Format(time.RFC3339)
	}
	if p.Reason != "" {
		s += ": " + p.Reason
	}
	return s
}

// Pauses are what operators have said to leave alone. The zero value has none. They are used by
// the loop only.
type Pauses struct {
	list map[string]*Pause // by resource; by the empty name for everything
}

// Set puts a pause in the place of an earlier one of the same resource.
func (p *Pauses) Set(pause *Pause) {
	if p.list == nil {
		p.list = map[string]*Pause{}
	}
	p.list[pause.Resource] = pause
}

// End ends the pause of a resource and returns it, nil for none.
func (p *Pauses) End(resource string) *Pause {
	pause := p.list[resource]
	delete(p.list, resource)
	return pause
}

// Has reports whether this pause is in effect, and no later one in its place.
func (p *Pauses) Has(pause *Pause) bool { return p.list[pause.Resource] == pause }

// Own returns the pause of that name alone, nil for none. The empty name is for everything.
func (p *Pauses) Own(resource string) *Pause { return p.list[resource] }

// Of returns what pauses a resource, nil for nothing.
func (p *Pauses) Of(resource string) *Pause {
	if own := p.list[resource]; own != nil {
		return own
	}
	return p.list[""]
}

// Names returns the names for which there are pauses, in order.
func (p *Pauses) Names() []string { return slices.Sorted(maps.Keys(p.list)) }

// Any reports whether there is a pause.
func (p *Pauses) Any() bool { return len(p.list) > 0 }

// pauseAll is the key of the pause of everything.
const pauseAll = "*"

// PauseKey is the key of the record of a resource's pause.
func PauseKey(resource string) string {
	if resource == "" {
		return pauseAll
	}
	return resource
}

// pauseRecord is a Pause in the store. It ends by the wall clock, and not later
// than For after the start of the process that reads it: the clock may have been
// set back.
type pauseRecord struct {
	Until  time.Time     `json:"until,omitzero"`
	For    time.Duration `json:"for"`
	Reason string        `json:"reason"`
}

// Record is the value of the record of a pause that is left for a time, or with 0 until it is
// resumed.
func (p *Pause) Record(left time.Duration) ([]byte, error) {
	return json.Marshal(pauseRecord{p.Until, left, p.Reason})
}

// PauseOf reads a record, at a time of the wall clock. It returns how long the pause is left, 0
// for until it is resumed. A pause that is over is nil, with past; a record that can't be read is
// nil.
func PauseOf(key string, value []byte, wall time.Time) (pause *Pause, left time.Duration, past bool) {
	rec, ok := readPause(string(value))
	if !ok {
		return nil, 0, false
	}
	left = min(rec.Until.Sub(wall), rec.For)
	if !rec.Until.IsZero() && left <= 0 {
		return nil, 0, true
	}
	p := &Pause{Resource: key, Until: rec.Until, Reason: rec.Reason}
	if key == pauseAll {
		p.Resource = ""
	}
	return p, max(left, 0), false
}

// readPause reads what Record writes, and nothing else. The reader of encoding/json would come with its code for all
// types, and an engine that was never paused needs none of it.
func readPause(text string) (rec pauseRecord, ok bool) {
	r := recordReader{rest: text}
	r.skip("{")
	if strings.HasPrefix(r.rest, `"until":`) {
		r.skip(`"until":`)
		when, err := time.Parse(time.RFC3339Nano, r.quoted())
		rec.Until, r.bad = when, r.bad || err != nil
		r.skip(",")
	}
	r.skip(`"for":`)
	rec.For = time.Duration(r.number())
	r.skip(`,"reason":`)
	rec.Reason = r.quoted()
	r.skip("}")
	return rec, !r.bad && r.rest == ""
}

// recordReader reads the parts of a record from its begin on. After a part that is not there it is bad.
type recordReader struct {
	rest string
	bad  bool
}

// skip goes behind a text.
func (r *recordReader) skip(text string) {
	rest, ok := strings.CutPrefix(r.rest, text)
	r.rest, r.bad = rest, r.bad || !ok
}

// number reads a whole number.
func (r *recordReader) number() int64 {
	digits, _, _ := strings.Cut(r.rest, ",")
	n, err := strconv.ParseInt(digits, 10, 64)
	r.rest, r.bad = r.rest[len(digits):], r.bad || err != nil
	return n
}

// quoted reads a string of JSON. The strings that Go writes in JSON are strings of Go, too.
func (r *recordReader) quoted() string {
	text, err := strconv.QuotedPrefix(r.rest)
	if err != nil || text[0] != '"' {
		r.bad = true
		return ""
	}
	value, err := strconv.Unquote(text)
	r.rest, r.bad = r.rest[len(text):], r.bad || err != nil
	return value
}
