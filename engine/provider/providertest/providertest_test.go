package providertest

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func withStamp(p *toy) provider.Provider { return stamping{p} }
func withFind(p *toy) provider.Provider  { return finding{p} }

// TestGood: a provider that keeps the laws passes, with a Watch, a stamp, without either,
// or by name.
func TestGood(t *testing.T) {
	t.Run("watch", func(t *testing.T) { Run(t, toySuite("", plain, features)) })
	t.Run("stamp", func(t *testing.T) { Run(t, toySuite("", withStamp, provider.Canonicalize)) })
	t.Run("poll", func(t *testing.T) {
		s := toySuite("", func(p *toy) provider.Provider { return polled{p} }, 0)
		s.Thing = func(string) Thing { return Thing{"milk", Values{"a": "two bottles"}} }
		Run(t, s)
	})
	t.Run("find", func(t *testing.T) { Run(t, toySuite("", withFind, provider.Find|provider.Canonicalize)) })
}

// TestUnknownAttribute: an attribute that the type does not have may be among the invalid values.
func TestUnknownAttribute(t *testing.T) {
	s := toySuite("", plain, features)
	s.Invalid["unknown"] = Values{"mood": "good"}
	for _, name := range []string{"invalid", "partial", "secret"} {
		if err := lawNamed(t, name).run(t, s); err != nil {
			t.Errorf("the law %s: %v", name, err)
		}
	}
}

// TestLeast: a suite with nothing that may be left out passes too.
func TestLeast(t *testing.T) {
	s := toySuite("", plain, 0)
	Run(t, Suite{Definition: s.Definition, New: s.New, Thing: func(string) Thing { return Thing{"milk", Values{"a": "x"}} }})
}

// TestBroken: a provider that breaks a law fails it, and with these words.
func TestBroken(t *testing.T) {
	for _, c := range []struct {
		bug  bug
		law  string
		want string
	}{
		{"get writes", "empty", "it altered"},
		{"absent is an error", "empty", "no such note"},
		{"wrong type", "records", "note.n expects"},
		{"unknown attribute", "records", "mood"},
		{"no name", "records", "no name, which is a namevar"},
		{"not canonical", "records", "not canonical"},
		{"random", "records", "born of milk is another one"},
		{"twice", "records", "has returned milk twice"},
		{"does not stop", "stops", "panicked"},
		{"filter is altered", "filter", "altered the names"},
		{"filter finds no second", "filter", "is missing"},
		{"filter says less", "filter", "born of milk is another one than without a filter"},
		{"finds everything", "find", "Find has returned z for Milk"},
		{"finds nothing", "find", "not as wanted"},
		{"finds the absent", "find", "before it was made: its Find finds it"},
		{"never canonical", "canonicalize", "makes another value of name each time"},
		{"canonical by place", "canonicalize", "has another a in place"},
		{"canonicalize reverses", "canonicalize", "in place"},
		{"canonicalize writes", "canonicalize", "it altered"},
		{"set fails", "create", "by Set: Milk: no"},
		{"forgets to write", "create", "after Set: Milk: ensure is not as wanted"},
		{"forgets a", "create", "a is not as wanted: <nil>"},
		{"logs of others", "create", "stranger"},
		{"never updates", "update", `a is not as wanted`},
		{"n stays", "update", `update "more": after Set: Milk: n is not as wanted: 2`},
		{"does not delete", "delete", "ensure is not as wanted: present"},
		{"deletes once", "delete", "a second time: by Set"},
		{"calls it created", "delete", "has called Milk created, which it is not"},
		{"believes what is unknown", "unknown", "without what is: by Set: Milk: what is it?"},
		{"deletes all", "foreign", "is gone"},
		{"sets the first", "batch", "bread: ensure is not as wanted"},
		{"all fail", "partial", "Milk has not failed"},
		{"stops at the first", "partial", "called done: bread: ensure is not as wanted"},
		{"takes the invalid", "invalid", `invalid "bad": it was taken`},
		{"half", "invalid", "it altered"},
		{"alters its input", "input", "was altered: what should be"},
		{"noop writes", "noop", "it altered"},
		{"noop fails", "noop", "not now"},
		{"writes when closed", "second", "another provider object: Milk"},
		{"get hangs", "cancelled", "Get did not return within"},
		{"set hangs", "cancelled", "Set did not return within"},
		{"success when cancelled", "cancelled", "has reported success"},
		{"says the secret", "secret", "a value of secret, which is sensitive"},
		{"runs the secret", "secret", "a value of secret, which is sensitive"},
		{"refresh fails", "refresh", "no"},
		{"refresh removes", "refresh", "ensure is not as wanted"},
		{"never armed", "watch", "did not call armed"},
		{"armed twice", "watch", "armed 2 times"},
		{"watch ends", "watch", "ended before its context did"},
		{"watch hangs", "watch", "did not end with its context"},
		{"watch is deaf", "watch", `drift "deleted": its Watch did not tell of it`},
		{"watch names another", "watch", "did not tell of it"},
		{"stamp is always the same", "stamp", "after a Set the stamp is the one of at the start"},
		{"stamp is always new", "stamp", "and nothing else"},
		{"closes once", "close", "closed already"},
	} {
		t.Run(string(c.bug), func(t *testing.T) {
			wrap, f := plain, features
			switch {
			case strings.HasPrefix(string(c.bug), "stamp"):
				wrap = withStamp
			case strings.HasPrefix(string(c.bug), "finds "):
				wrap, f = withFind, provider.Find
			}
			seen(t, c.law, c.want, toySuite(c.bug, wrap, f))
		})
	}
}

// seen fails if a law does not see what is broken in a suite, or not with these words. What
// hangs is not waited for long; where that is too short for all else, on a machine that is
// busy, it is tried again with more time.
func seen(t *testing.T, name, want string, s Suite) {
	t.Helper()
	var err error
	for i := range 8 {
		t.Run("", func(t *testing.T) {
			s.Timeout = []time.Duration{200 * time.Millisecond, 5 * time.Second}[i%2]
			err = lawNamed(t, name).run(t, s)
		})
		if err != nil && strings.Contains(err.Error(), want) {
			return
		}
	}
	t.Errorf("the law %s: %v\n-- does not say %q", name, err, want)
}

// TestIncomplete: a suite without what it needs says so.
func TestIncomplete(t *testing.T) {
	s := toySuite("", plain, features)
	s.Thing = nil
	if err := lawNamed(t, "suite").run(t, s); err == nil || !strings.Contains(err.Error(), "needs Definition, New and Thing") {
		t.Error(err)
	}
	s = toySuite("", plain, features)
	s.Definition.Attributes[2].Type = "Strin"
	if err := lawNamed(t, "suite").run(t, s); err == nil || !strings.Contains(err.Error(), "Strin") {
		t.Error(err)
	}
}

func lawNamed(t *testing.T, name string) law {
	for _, l := range laws {
		if l.name == name {
			return l
		}
	}
	t.Fatalf("no law %q", name)
	return law{}
}
