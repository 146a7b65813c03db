package msgbus

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"

	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/host"
)

// A rules holds the match rules that the bus has for this process, each once however many
// subscriptions need it. A signal only sets bits: nothing of it is kept, nothing queues, and no
// goroutine is started.
//
// A bus allows a connection only so many rules (512 is common). So where many rules differ by their
// path alone, the bus is asked for some of them, and for the rest at once, by one rule without a
// path: then it sends more than is needed, and the surplus wakes no subscription.
type rules struct {
	mu     sync.Mutex
	byPath map[string]*rule       // the first of those with that path; "" for those of any path
	alike  map[bus.Match]*matches // by a match without its path
}

// maxPaths is how many rules that differ by their path alone the bus is asked for.
const maxPaths = 200

// rule is one match of signals, and the subscriptions that it wakes.
type rule struct {
	match bus.Match
	subs  []*host.Wakeups
	asked *asked
	next  *rule // with the same path
}

// asked is a rule that the bus has, for one of ours or for many.
type asked struct {
	match bus.Match
	users int
	ready chan struct{} // closed when the bus knows it
	err   error         // why it does not; after ready
}

// matches are what the bus was asked for, for rules that differ by their path alone.
type matches struct {
	any   *asked // of any path; nil for nothing
	paths int    // how many with a path
}

// add notes that s needs the rule, and returns it; made reports whether the bus has to be told of
// the rule.
func (rs *rules) add(m bus.Match, s *host.Wakeups) (r *rule, made bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.byPath == nil {
		rs.byPath = make(map[string]*rule)
		rs.alike = make(map[bus.Match]*matches)
	}
	first := rs.byPath[m.Path]
	for r = first; r != nil && r.match != m; r = r.next {
	}
	if r == nil {
		r = &rule{match: m, next: first}
		r.asked, made = rs.ask(m)
		rs.byPath[m.Path] = r
	}
	r.subs = append(r.subs, s)
	return r, made
}

// ask returns the match rule of the bus for a new rule, and whether the bus has to be told.
func (rs *rules) ask(m bus.Match) (a *asked, made bool) {
	wide := pathless(m)
	all := rs.alike[wide]
	if all == nil {
		all = &matches{}
		rs.alike[wide] = all
	}
	switch {
	case all.any != nil:
		all.any.users++
		return all.any, false
	case m.Path != "" && all.paths < maxPaths:
		all.paths++
		return newAsked(m), true
	}
	all.any = newAsked(wide)
	return all.any, true
}

// newAsked is a rule that the bus is about to be told of, for one user.
func newAsked(m bus.Match) *asked {
	return &asked{match: m, users: 1, ready: make(chan struct{})}
}

// pathless is the rule of all that differ by their path alone.
func pathless(m bus.Match) bus.Match {
	m.Path = ""
	return m
}

// remove notes that s needs the rule no more. It returns the match rule that the bus has to forget,
// nil for none.
func (rs *rules) remove(r *rule, s *host.Wakeups) (unasked *asked) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	at := slices.Index(r.subs, s)
	if at < 0 {
		return nil
	}
	if r.subs = slices.Delete(r.subs, at, at+1); len(r.subs) > 0 {
		return nil
	}
	rs.forget(r)
	return rs.unask(r.asked)
}

// forget takes out a rule.
func (rs *rules) forget(r *rule) {
	first := rs.byPath[r.match.Path]
	switch {
	case first != r:
		for first.next != r {
			first = first.next
		}
		first.next = r.next
	case r.next != nil:
		rs.byPath[r.match.Path] = r.next
	default:
		delete(rs.byPath, r.match.Path)
	}
}

// unask gives back what ask has returned; nil if others need it.
func (rs *rules) unask(a *asked) *asked {
	if a.users--; a.users > 0 {
		return nil
	}
	wide := pathless(a.match)
	all := rs.alike[wide]
	if a == all.any {
		all.any = nil
	} else {
		all.paths--
	}
	if *all == (matches{}) {
		delete(rs.alike, wide)
	}
	return a
}

// deliver wakes the subscriptions that a signal fits.
func (rs *rules) deliver(iface, name string, s *dbus.Signal) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, path := range []string{string(s.Path), ""} {
		for r := rs.byPath[path]; r != nil; r = r.next {
			if fits(r.match, iface, name, s) {
				wakeAll(r.subs, string(s.Path), r.match.Resync)
			}
		}
	}
}

// resync wakes all subscriptions: signals may have been lost.
func (rs *rules) resync() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for r := range rs.each {
		wakeAll(r.subs, r.match.Path, true)
	}
}

// each yields all rules. The lock is held.
func (rs *rules) each(yield func(*rule) bool) {
	for _, r := range rs.byPath {
		for ; r != nil; r = r.next {
			if !yield(r) {
				return
			}
		}
	}
}

// wakeAll tells each subscriber of a path, or that signals may have been lost.
func wakeAll(subs []*host.Wakeups, path string, lost bool) {
	for _, s := range subs {
		s.Wake("dbus", path, lost)
	}
}

// restore makes all rules known to a new connection, one by one.
func (rs *rules) restore(add func(bus.Match) error) error {
	rs.mu.Lock()
	matches := make(map[bus.Match]struct{})
	for r := range rs.each {
		matches[r.asked.match] = struct{}{}
	}
	rs.mu.Unlock()
	for m := range matches {
		if err := add(m); err != nil {
			return err
		}
	}
	return nil
}

// addMatch asks the bus for the signals of a match, and waits for its answer.
func (b *shared) addMatch(conn *dbus.Conn, m bus.Match) error {
	ctx, cancel := clock.WithTimeout(b.ctx, b.clock, dialPatience, nil)
	defer cancel()
	return conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.AddMatch", 0, ruleOf(m)).Err
}

// removeMatch does not wait for the answer, which only confirms the removal.
func removeMatch(conn *dbus.Conn, m bus.Match) {
	conn.BusObject().Go("org.freedesktop.DBus.RemoveMatch", dbus.FlagNoReplyExpected, nil, ruleOf(m))
}

// fits reports whether a signal on the path of the rule fits it.
func fits(m bus.Match, iface, name string, s *dbus.Signal) bool {
	unique := strings.HasPrefix(m.Sender, ":") || m.Sender == "org.freedesktop.DBus"
	return (m.Interface == "" || m.Interface == iface) &&
		(m.Member == "" || m.Member == name) &&
		(!unique || m.Sender == s.Sender) &&
		(m.Arg0 == "" || arg0(s) == m.Arg0)
}

// arg0 returns the first argument of a signal, if it is text.
func arg0(s *dbus.Signal) string {
	if len(s.Body) == 0 {
		return ""
	}
	text, _ := s.Body[0].(string)
	return text
}

// ruleOf writes the rule for the bus.
func ruleOf(m bus.Match) string {
	var rule strings.Builder
	rule.WriteString("type='signal'")
	for _, f := range fieldsOf(m) {
		if f.value != "" {
			rule.WriteString("," + f.key + "='" + f.value + "'")
		}
	}
	return rule.String()
}

// field is one condition of a rule, in the notation of the bus.
type field struct{ key, value string }

// fieldsOf are the parts of a match, as the bus names them.
func fieldsOf(m bus.Match) []field {
	return []field{{"sender", m.Sender}, {"path", m.Path}, {"interface", m.Interface}, {"member", m.Member}, {"arg0", m.Arg0}}
}

// checkMatch refuses what would be another rule than it says.
func checkMatch(m bus.Match) error {
	for _, f := range fieldsOf(m) {
		if strings.ContainsAny(f.value, "',\\") {
			return fmt.Errorf("%q is no %s", f.value, f.key)
		}
	}
	return nil
}
