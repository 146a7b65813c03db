package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
	"github.com/reactivegraph/mgmt/engine"
)

// A rules is what the bus is asked to send us, each once however many
// subscriptions need it. A signal only sets bits: nothing of it is kept, nothing
// queues, and no goroutine is started.
//
// A bus allows a connection only so many rules (512 is common). So where many rules differ
// by their path alone, the bus is asked for some of them, and for the rest at once, by one rule
// without a path: then it sends more than is needed, which here wakes nobody.
type rules struct {
	mu     sync.Mutex
	all    map[engine.BusMatch]*rule
	byPath map[string][]*rule         // "" for those of any path
	asked  map[engine.BusMatch]*asked // what the bus was asked for
	paths  map[engine.BusMatch]int    // of asked those with a path, by what they are without it
}

// maxPaths is how many rules that differ by their path alone the bus is asked for.
const maxPaths = 200

type rule struct {
	match engine.BusMatch
	subs  map[*sub]struct{}
	asked *asked
}

// asked is a rule that the bus has, for one of ours or for many.
type asked struct {
	match engine.BusMatch
	users int
	ready chan struct{} // closed when the bus knows it
	err   error         // why it does not; after ready
}

// add notes that s needs the rule, and returns it; made reports whether the bus does not
// know yet what it has to know for it, and has to be told.
func (rs *rules) add(m engine.BusMatch, s *sub) (r *rule, made bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r = rs.all[m]; r == nil {
		if rs.all == nil {
			rs.all = make(map[engine.BusMatch]*rule)
			rs.byPath = make(map[string][]*rule)
			rs.asked = make(map[engine.BusMatch]*asked)
			rs.paths = make(map[engine.BusMatch]int)
		}
		r = &rule{match: m, subs: make(map[*sub]struct{})}
		r.asked, made = rs.ask(m)
		rs.all[m] = r
		rs.byPath[m.Path] = append(rs.byPath[m.Path], r)
	}
	r.subs[s] = struct{}{}
	return r, made
}

// ask returns what the bus is asked for a rule, and whether that is new.
func (rs *rules) ask(m engine.BusMatch) (a *asked, made bool) {
	wide := m
	wide.Path = ""
	if m.Path != "" && (rs.asked[wide] != nil || rs.paths[wide] >= maxPaths) {
		m = wide
	}
	if a = rs.asked[m]; a == nil {
		a, made = &asked{match: m, ready: make(chan struct{})}, true
		rs.asked[m] = a
		if m.Path != "" {
			rs.paths[wide]++
		}
	}
	a.users++
	return a, made
}

// remove notes that s needs the rule no more. It returns what the bus has to be told
// to forget, nil for nothing.
func (rs *rules) remove(r *rule, s *sub) (unasked *asked) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if _, needed := r.subs[s]; !needed {
		return nil
	}
	if delete(r.subs, s); len(r.subs) > 0 {
		return nil
	}
	path := r.match.Path
	delete(rs.all, r.match)
	rest := slices.DeleteFunc(rs.byPath[path], func(o *rule) bool { return o == r })
	if rs.byPath[path] = rest; len(rest) == 0 {
		delete(rs.byPath, path)
	}
	return rs.unask(r.asked)
}

// unask gives back what ask has returned; nil if others need it.
func (rs *rules) unask(a *asked) *asked {
	if a.users--; a.users > 0 {
		return nil
	}
	delete(rs.asked, a.match)
	if a.match.Path != "" {
		wide := a.match
		wide.Path = ""
		if rs.paths[wide]--; rs.paths[wide] == 0 {
			delete(rs.paths, wide)
		}
	}
	return a
}

// deliver wakes the subscriptions that a signal fits.
func (rs *rules) deliver(iface, name string, s *dbus.Signal) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	c := change{source: "dbus", path: string(s.Path)}
	for _, path := range []string{c.path, ""} {
		for _, r := range rs.byPath[path] {
			if fits(r.match, iface, name, s) {
				c.lost = r.match.Resync
				wakeAll(r.subs, c)
			}
		}
	}
}

// resync wakes all subscriptions: signals may have been lost.
func (rs *rules) resync() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.all {
		wakeAll(r.subs, change{source: "dbus", path: r.match.Path, lost: true})
	}
}

func wakeAll(subs map[*sub]struct{}, c change) {
	for s := range subs {
		s.wake(c)
	}
}

// restore makes all rules known to a new connection.
func (rs *rules) restore(ctx context.Context, conn *dbus.Conn) error {
	rs.mu.Lock()
	matches := make([]engine.BusMatch, 0, len(rs.asked))
	for m := range rs.asked {
		matches = append(matches, m)
	}
	rs.mu.Unlock()
	for _, m := range matches {
		if err := addMatch(ctx, conn, m); err != nil {
			return err
		}
	}
	return nil
}

func addMatch(ctx context.Context, conn *dbus.Conn, m engine.BusMatch) error {
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	return conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.AddMatch", 0, ruleOf(m)).Err
}

// removeMatch does not wait for the answer, which only says that it is so.
func removeMatch(conn *dbus.Conn, m engine.BusMatch) {
	conn.BusObject().Go("org.freedesktop.DBus.RemoveMatch", dbus.FlagNoReplyExpected, nil, ruleOf(m))
}

// fits reports whether a signal on the path of the rule fits it.
func fits(m engine.BusMatch, iface, name string, s *dbus.Signal) bool {
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
func ruleOf(m engine.BusMatch) string {
	var rule strings.Builder
	rule.WriteString("type='signal'")
	for _, f := range fieldsOf(m) {
		if f.value != "" {
			rule.WriteString("," + f.key + "='" + f.value + "'")
		}
	}
	return rule.String()
}

type field struct{ key, value string }

func fieldsOf(m engine.BusMatch) []field {
	return []field{{"sender", m.Sender}, {"path", m.Path}, {"interface", m.Interface}, {"member", m.Member}, {"arg0", m.Arg0}}
}

// checkMatch refuses what would be another rule than it says.
func checkMatch(m engine.BusMatch) error {
	for _, f := range fieldsOf(m) {
		if strings.ContainsAny(f.value, "',\\") {
			return fmt.Errorf("%q is no %s", f.value, f.key)
		}
	}
	return nil
}
