package provider_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// handy is a clerk with all optional methods, of which a test says what they do.
type handy struct {
	clerk
	canon  func([]provider.Record) []provider.Record
	insync func(is, should provider.Record) provider.Answer
	find   func(provider.Name) (provider.Record, bool, error)
}

func (h handy) Canonicalize(_ context.Context, _ *provider.Runtime, records []provider.Record) ([]provider.Record, error) {
	return h.canon(records), nil
}

func (h handy) InSync(_ context.Context, _ *provider.Runtime, _ provider.Name, _ string, is, should provider.Record) (provider.Answer, string, error) {
	return h.insync(is, should), "", nil
}

func (h handy) Find(_ context.Context, _ *provider.Runtime, n provider.Name) (provider.Record, bool, error) {
	return h.find(n)
}

func (h handy) Refresh(context.Context, *provider.Runtime, []provider.Change) error {
	h.put("x", "refreshed")
	return nil
}

// TestSendsBeforeItIsRead: what is not managed is sent as it was, though it is read again
// only at the end of the transaction; of what is gone nothing is.
func TestSendsBeforeItIsRead(t *testing.T) {
	s := newStock("x", "y")
	s.things["x"]["secret"] = "psst"
	c := newCrew(t, simple(0), s.clerk, "x=2", "-y")
	defer c.end()
	c.sh.Begin()
	wantOuts(t, c.check(true, c.res...), "changed", "changed")
	m, err := schema.Encode(c.fakes[0].Sent())
	must(t, err)
	if v := m.(map[string]any); v["a"] != "2" || !schema.Equal(v["secret"], schema.NewSecret("psst")) {
		t.Errorf("%v", v)
	}
	m, err = schema.Encode(c.fakes[1].Sent())
	must(t, err)
	if v := m.(map[string]any); v["name"] != nil || v["ensure"] != nil {
		t.Errorf("%v", v)
	}
	c.sh.End()
}

// TestOnlyNoopIsRehearsed: a look at a resource that will be applied does not call the
// noop handler.
func TestOnlyNoopIsRehearsed(t *testing.T) {
	s := newStock("x")
	c := newCrew(t, simple(provider.NoopHandler), s.clerk, "x=2")
	defer c.end()
	wantOuts(t, c.run(false), "changed")
	wantLog(t, s, "get")
	c.fakes[0].Init().Noop = true
	wantOuts(t, c.run(false), "changed")
	wantLog(t, s, "get", "set x")
}

// TestRefreshIsRead: what Refresh has done is not known before it is read.
func TestRefreshIsRead(t *testing.T) {
	s := newStock("x")
	c := newCrew(t, simple(provider.Refreshable), func() provider.Provider { return s.hire(handy{clerk: clerk{s}}) }, "x=1")
	defer c.end()
	c.fakes[0].SetRefresh(true)
	c.sh.Begin()
	wantOuts(t, c.check(true, c.res[0]), "changed")
	c.fakes[0].SetRefresh(false)
	wantOuts(t, c.check(true, c.res[0]), "changed") // from refreshed to 1
	c.sh.End()
}

// TestCanonicalizeKeepsNames: a namevar that it loses, and what it alters of a list that
// was read, are errors, and reach nobody.
func TestCanonicalizeKeepsNames(t *testing.T) {
	s := newStock("x")
	lose := func(rs []provider.Record) []provider.Record { delete(rs[0], "name"); return rs }
	c := newCrew(t, simple(provider.Canonicalize), func() provider.Provider { return s.hire(handy{clerk: clerk{s}, canon: lose}) }, "x=1")
	wantOuts(t, c.run(true), "canonicalize has lost name")
	c.end()
	alter := func(rs []provider.Record) []provider.Record {
		out := slices.Clone(rs)
		for i := range rs {
			out[i] = rs[i].Clone()
			clear(rs[i])
		}
		return out
	}
	c = newCrew(t, simple(provider.Canonicalize), func() provider.Provider { return s.hire(handy{clerk: clerk{s}, canon: alter}) }, "x=1")
	defer c.end()
	wantOuts(t, c.run(true), "ok")
}

// TestInSyncIsGivenCopies: what it alters nobody sees.
func TestInSyncIsGivenCopies(t *testing.T) {
	s := newStock("x")
	spoil := func(is, should provider.Record) provider.Answer {
		if is == nil {
			t.Error("it was asked about a thing that is absent")
		}
		is["a"], should["a"] = "spoilt", "spoilt"
		return provider.Default
	}
	c := newCrew(t, simple(provider.CustomInSync|provider.SimpleGetFilter), func() provider.Provider { return s.hire(handy{clerk: clerk{s}, insync: spoil}) }, "x=2", "new=1")
	defer c.end()
	wantOuts(t, c.run(true), "changed", "changed")
	if a := s.things["x"]["a"]; a != "2" {
		t.Errorf("a is %v", a)
	}
}

// TestFindsAnother: a Find that finds something else is wrong.
func TestFindsAnother(t *testing.T) {
	s := newStock()
	find := func(provider.Name) (provider.Record, bool, error) { return provider.Record{"name": "other"}, true, nil }
	c := newCrew(t, simple(provider.Find), func() provider.Provider { return s.hire(handy{clerk: clerk{s}, find: find}) }, "x=1")
	defer c.end()
	wantOuts(t, c.run(true), "Find has returned other for x")
}

// TestRecordsAreCopied: what a provider alters of a record later nobody sees.
func TestRecordsAreCopied(t *testing.T) {
	s := newStock("x")
	c := newCrew(t, simple(0), s.clerk, "x=1")
	defer c.end()
	c.sh.Begin()
	wantOuts(t, c.check(true, c.res[0]), "ok")
	s.things["x"]["a"] = "2"
	wantOuts(t, c.check(true, c.res[0]), "ok")
	c.sh.End()
	wantOuts(t, c.run(false), "changed")
}

// TestListsTheOthers: what can't be shown is an error in its place, and all else is listed.
func TestListsTheOthers(t *testing.T) {
	s := newStock("a", "c", "e")
	s.things["b"] = provider.Record{"ensure": "present", "name": "b", "a": int64(5)}
	s.things["e"]["name"] = "c"
	c := newCrew(t, simple(0), func() provider.Provider { return s.hire(blamer{clerk{s}, "d"}) }, "a=1")
	defer c.end()
	var got []string
	for r, err := range c.res[0].(engine.Listable).List(t.Context()) {
		if err != nil {
			got = append(got, err.Error())
		} else {
			got = append(got, r.Name())
		}
	}
	want := []string{"a", "rec[b]: Get has returned a value", "rec[c]: Get has returned c twice", "rec[d]: nobody knows"}
	for i, w := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], w) {
			t.Fatalf("%q", got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%q", got)
	}
}

// blamer is a clerk that can't read one of the things.
type blamer struct {
	clerk
	name string
}

func (b blamer) Get(ctx context.Context, rt *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		for rec, err := range b.clerk.Get(ctx, rt, f) {
			if !yield(rec, err) {
				return
			}
		}
		yield(provider.Record{"name": b.name}, errors.New("nobody knows"))
	}
}

// TestAbsentByWord: a record that says that it is absent is of a thing that is.
func TestAbsentByWord(t *testing.T) {
	s := newStock()
	s.things["x"] = provider.Record{"ensure": "absent", "name": "x"}
	c := newCrew(t, simple(0), s.clerk, "-x")
	defer c.end()
	wantOuts(t, c.run(true), "ok")
}

// TestMoreWrongRecords: a parameter, and a missing title, are errors of a record; a look
// and a list say so too.
func TestMoreWrongRecords(t *testing.T) {
	s := newStock("x")
	s.things["x"]["force"] = "yes"
	d := simple(0)
	d.Attributes = append(d.Attributes, provider.Attribute{Name: "force", Type: "Optional[String]", Doc: "A word.", Role: provider.Parameter})
	c := newCrew(t, d, s.clerk, "x=1")
	defer c.end()
	const want = "Get has returned force, which is a parameter"
	wantOuts(t, c.run(true), want)
	if _, err := c.res[0].(engine.Readable).Read(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Read says %v", err)
	}
	var errs []error
	for _, err := range c.res[0].(engine.Listable).List(t.Context()) {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("List says %v", err)
	}
}

// TestTheLongestPause: the pause of a type that is unavailable ends at five minutes.
func TestTheLongestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x")
		s.get = func() error { return errors.New("locked") }
		c := newCrew(t, simple(provider.SimpleGetFilter), s.clerk, "x=1")
		defer c.end()
		for range 20 {
			wantOuts(t, c.run(true), "locked")
			time.Sleep(5 * time.Minute)
		}
		if n := len(s.took()); n != 20 {
			t.Errorf("it was asked %d times", n)
		}
	})
}

// TestAWatchThatReturns: a Watch that ends by itself, without an error, is one.
func TestAWatchThatReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x")
		s.watch = func(_ context.Context, armed func(), _ func(...provider.Name)) error { armed(); return nil }
		c := newCrew(t, simple(0), func() provider.Provider { return s.hire(spy{clerk{s}}) }, "x=1")
		defer c.end()
		stop := c.watch()
		time.Sleep(2 * time.Minute)
		stop()
		if err := c.ended[0]; err == nil || !strings.Contains(err.Error(), "ended by itself") {
			t.Errorf("Watch returned %v", err)
		}
	})
}

// TestCreatedWithWhatStays: what can be set at creation only is set then.
func TestCreatedWithWhatStays(t *testing.T) {
	s := newStock()
	d := simple(provider.SimpleGetFilter)
	d.Attributes[0] = provider.Attribute{Name: "b", Type: "Optional[String]", Doc: "Some text."} // no ensure
	d.Attributes[2].Role = provider.InitOnly
	c := newCrew(t, d, s.clerk, "x=1")
	defer c.end()
	wantOuts(t, c.run(true), "changed")
	wantOuts(t, c.run(true), "ok")
}

// TestFromText: what is typed is read as Puppet does, and else as in a graph; a secret is
// not typed.
func TestFromText(t *testing.T) {
	for _, c := range []struct{ typ, text, want string }{
		{"Integer", "0x10", "16"},
		{"Optional[Timespan]", "1h30m", "1h30m0s"},
		{"Timespan", "90", "1m30s"},
		{"Timespan", "soon", "v expects a Timespan value, got String"},
		{"Timestamp", "2020-01-02T03:04:05Z", "2020-01-02T03:04:05.000000000 UTC"},
		{"SemVer", "1.2.3-rc1", "1.2.3-rc1"},
		{"Binary", "AAEC", "AAEC"},
		{"Binary", "?", "v expects a Binary value, got String"},
		{"Variant[Integer, SemVer]", "1.2.3", "1.2.3"},
		{"Float", "1", "v expects a Float value, got Integer"},
		{"Boolean", "yes", "v expects a Boolean value, got String"},
		{"Array[String]", "a", "v expects an Array value, got String"},
		{"Sensitive[String]", "a", "v expects a Sensitive[String] value, got String"},
	} {
		d := simple(0)
		d.Attributes = append(d.Attributes, provider.Attribute{Name: "v", Type: c.typ, Doc: "A value."})
		k, err := provider.New(d, newStock().clerk)
		must(t, err)
		v, err := k.New().(interface {
			FromText(key, text string) (any, error)
		}).FromText("v", c.text)
		got := fmt.Sprint(v)
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "rec.")
		}
		if got != c.want {
			t.Errorf("%s of %q: %s, want %s", c.typ, c.text, got, c.want)
		}
	}
}
