package control

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

// params reads the parameters of a query, and keeps the first error.
// Methods go on after an error with the absent value, so a handler looks at err once at
// the end.
type params struct {
	url.Values
	err error
}

func (p *params) refuse(err error) {
	if p.err == nil {
		p.err = err
	}
}

// number returns a whole number within bounds.
func (p *params) number(key string, absent, least, most uint64) uint64 {
	text := p.Get(key)
	if text == "" {
		return absent
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < least || n > most {
		p.refuse(bad("", "%s is %q, it must be a whole number from %d to %d", key, text, least, most))
	}
	return n
}

// seconds returns a time span.
// Fractions are allowed: 0.5 is half a second.
func (p *params) seconds(key string, absent, most time.Duration) time.Duration {
	text := p.Get(key)
	if text == "" {
		return absent
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= most.Seconds()) {
		p.refuse(bad("", "%s is %q, it must be a number of seconds from 0 to %.0f", key, text, most.Seconds()))
		return absent
	}
	return time.Duration(f * float64(time.Second))
}

// time returns a moment.
// The zero time stands for no parameter.
func (p *params) time(key string) time.Time {
	text := p.Get(key)
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		p.refuse(bad("write it as RFC 3339 does: 2026-01-02T15:04:05Z", "%s is %q, which is no time", key, text))
	}
	return at
}

// yes returns a truth.
// It takes the words of strconv.ParseBool, such as 1, t and true.
func (p *params) yes(key string) bool {
	text := p.Get(key)
	if text == "" {
		return false
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		p.refuse(bad("", "%s is %q, it must be true or false", key, text))
	}
	return b
}

// words returns a list of words, separated by commas, each out of some.
func (p *params) words(key string, allowed []string) []string {
	text := p.Get(key)
	if text == "" {
		return nil
	}
	list := strings.Split(text, ",")
	for _, w := range list {
		if !slices.Contains(allowed, w) {
			p.refuse(bad(cmp.Or(httpd.DidYouMean(w, allowed), "write "+strings.Join(allowed, ", ")), "%s has no %q", key, w))
		}
	}
	return list
}

// outcomes returns the words for events that are wanted; nil for all.
func (p *params) outcomes(key string) []Outcome {
	var among []string
	for _, o := range outcomes {
		among = append(among, string(o))
	}
	var list []Outcome
	for _, w := range p.words(key, among) {
		list = append(list, Outcome(w))
	}
	return list
}
