package provider_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/await"
)

// picky is a clerk with a canonical form: upper case. It refuses what is called bad,
// and says why, and may be told to do more.
type picky struct {
	clerk
	also func(records []provider.Record) error
}

func (p picky) Canonicalize(_ context.Context, _ *provider.Runtime, records []provider.Record) ([]provider.Record, error) {
	for _, r := range records {
		if r["a"] == "bad" {
			return nil, fmt.Errorf("%v is bad", r["name"])
		}
		r["name"] = strings.ToUpper(r["name"].(string))
	}
	if p.also != nil {
		return records, p.also(records)
	}
	return records, nil
}

func (s *stock) picky() provider.Provider { return s.hire(picky{clerk: clerk{s}}) }

// want has a resource want another text, as a received value does.
func (c *crew) want(i int, a string) {
	c.t.Helper()
	must(c.t, schema.Set(c.res[i].(schema.Typed), "a", a))
	must(c.t, c.res[i].Validate())
}

// join adds a resource while others are there.
func (c *crew) join(k *provider.Kind, name, a string) engine.Res {
	c.t.Helper()
	r := k.New()
	r.SetKind("rec")
	r.SetName(name)
	must(c.t, schema.Set(r.(schema.Typed), "a", a))
	must(c.t, r.Validate())
	f := enginetest.NewInit(c.t, enginetest.WithShared(c.sh))
	must(c.t, r.Init(f.Init()))
	c.res, c.fakes = append(c.res, r), append(c.fakes, f)
	return r
}

// drop lets a resource go.
func (c *crew) drop(i int) {
	must(c.t, c.res[i].Cleanup())
	c.res, c.fakes = slices.Delete(c.res, i, i+1), slices.Delete(c.fakes, i, i+1)
}

// newsstand is a spy whose news a test makes up.
func (s *stock) newsstand() (news chan []provider.Name, mk func() provider.Provider) {
	news = make(chan []provider.Name)
	s.watch = func(ctx context.Context, armed func(), changed func(...provider.Name)) error {
		armed()
		for {
			select {
			case n := <-news:
				changed(n...)
			case <-ctx.Done():
				return nil
			}
		}
	}
	return news, func() provider.Provider { return s.hire(spy{clerk{s}}) }
}

// TestWhatAppearsWakes: a thing that was absent, and is not to be there, wakes its
// resource when it appears.
func TestWhatAppearsWakes(t *testing.T) {
	for _, features := range []provider.Features{0, provider.SimpleGetFilter} {
		synctest.Test(t, func(t *testing.T) {
			s := newStock("x")
			d := simple(features)
			d.Poll = 10 * time.Second
			c := newCrew(t, d, s.clerk, "x=1", "-gone")
			defer c.end()
			defer c.watch()()
			wantOuts(t, c.run(true), "ok", "ok")
			s.put("gone", "1")
			time.Sleep(11 * time.Second)
			synctest.Wait()
			if got := c.woken(); !slices.Equal(got, []string{"gone"}) {
				t.Errorf("woken: %v", got)
			}
		})
	}
}

// TestAnotherWishAfterSet: a resource of which something was set, and which then
// receives what has no canonical form, fails by itself, and holds nothing up.
func TestAnotherWishAfterSet(t *testing.T) {
	s := newStock("X")
	c := newCrew(t, simple(provider.Canonicalize), s.picky, "x=2", "y=1")
	defer c.end()
	c.sh.Begin()
	wantOuts(t, c.check(true, c.res[0]), "changed")
	c.want(0, "bad")
	wantOuts(t, c.check(true, c.res...), "x is bad", "changed")
	c.sh.End()
	wantOuts(t, c.run(true), "x is bad", "ok")
	if s.open != 0 {
		t.Errorf("%d providers were not closed", s.open)
	}
}

// TestAnotherWishIsNoLie: what was set, and is wanted no more, is not held against it.
func TestAnotherWishIsNoLie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x")
		c := newCrew(t, simple(0), s.clerk, "x=2")
		defer c.end()
		defer c.watch()()
		c.sh.Begin()
		wantOuts(t, c.check(true, c.res[0]), "changed")
		s.put("x", "3")
		c.want(0, "3")
		wantOuts(t, c.check(true, c.res[0]), "changed")
		c.sh.End()
		synctest.Wait()
		wantOuts(t, c.run(true), "ok")
	})
}

// TestAnotherWishWhileUnavailable: the same before anything could be read.
func TestAnotherWishWhileUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("X")
		s.get = func() error { return errors.New("locked") }
		c := newCrew(t, simple(provider.Canonicalize|provider.SimpleGetFilter), s.picky, "x=1", "y=1")
		defer c.end()
		wantOuts(t, c.run(true), "locked", "locked")
		c.want(0, "bad")
		s.get = nil
		time.Sleep(2 * time.Second)
		wantOuts(t, c.run(true), "x is bad", "changed")
	})
}

// TestUnavailableForNobody: a type that is unavailable, and of which nobody can be
// asked for any more, is not asked for all the time.
func TestUnavailableForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("X")
		s.get = func() error { return errors.New("locked") }
		c := newCrew(t, simple(provider.Canonicalize), s.picky, "x=1")
		defer c.end()
		defer c.watch()()
		wantOuts(t, c.run(true), "locked")
		c.want(0, "bad")
		wantOuts(t, c.run(true), "x is bad")
		time.Sleep(10 * time.Second) // does not return where somebody asks without a pause
		c.want(0, "1")
		s.get = nil
		wantOuts(t, c.run(true), "ok")
	})
}

// TestNewsOfANewcomer: a change of a thing whose resource was not looked at yet is not
// lost in the transaction in which all was read before.
func TestNewsOfANewcomer(t *testing.T) {
	for _, all := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newStock("x", "y")
			news, mk := s.newsstand()
			k, err := provider.New(simple(0), mk)
			must(t, err)
			c := crewOf(t, k, "x=1")
			defer c.end()
			defer c.watch()()
			synctest.Wait()
			c.sh.Begin()
			wantOuts(t, c.check(true, c.res[0]), "ok")
			y := c.join(k, "y", "1")
			s.put("y", "2")
			if all {
				news <- nil
			} else {
				news <- []provider.Name{provider.NameOf("y")}
			}
			synctest.Wait()
			wantOuts(t, c.check(true, y), "changed")
			c.sh.End()
		})
	}
}

// TestNewsOfASuccessor: the same, of a thing that another resource had before.
func TestNewsOfASuccessor(t *testing.T) {
	for _, all := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newStock("x", "y")
			news, mk := s.newsstand()
			k, err := provider.New(simple(provider.SimpleGetFilter), mk)
			must(t, err)
			c := crewOf(t, k, "x=1", "y=1")
			defer c.end()
			defer c.watch()()
			synctest.Wait()
			c.sh.Begin()
			wantOuts(t, c.check(true, c.res...), "ok", "ok")
			c.drop(1)
			y := c.join(k, "y", "1")
			s.put("y", "2")
			if all {
				news <- nil
			} else {
				news <- []provider.Name{provider.NameOf("y")}
			}
			synctest.Wait()
			wantOuts(t, c.check(true, y), "changed")
			c.sh.End()
		})
	}
}

// TestNothingIsLeftToASuccessor: a record that was read to wake a resource is that
// one's, and not for another one of its name that comes later.
func TestNothingIsLeftToASuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x", "y")
		news, mk := s.newsstand()
		k, err := provider.New(simple(provider.SimpleGetFilter), mk)
		must(t, err)
		c := crewOf(t, k, "x=1", "y=1")
		defer c.end()
		defer c.watch()()
		synctest.Wait()
		wantOuts(t, c.run(true), "ok", "ok")
		s.put("y", "2")
		news <- []provider.Name{provider.NameOf("y")}
		synctest.Wait()
		c.drop(1)
		s.put("y", "1")
		y := c.join(k, "y", "1")
		c.sh.Begin()
		wantOuts(t, c.check(true, y), "ok")
		c.sh.End()
	})
}

// TestALookIsANewOne: who looks at a thing sees it as it is, and not as it was when its
// resource was woken.
func TestALookIsANewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x")
		news, mk := s.newsstand()
		c := newCrew(t, simple(provider.SimpleGetFilter), mk, "x=1")
		defer c.end()
		defer c.watch()()
		synctest.Wait()
		wantOuts(t, c.run(true), "ok")
		s.put("x", "2")
		news <- nil
		synctest.Wait()
		s.put("x", "3")
		r, err := c.res[0].(engine.Readable).Read(t.Context())
		must(t, err)
		if a, _ := schema.Get(r, "a"); a != "3" {
			t.Errorf("a is %v", a)
		}
	})
}

// TestAWatchThatEnded: what it has read for those that it woke is not good any more when
// another one begins: what has happened between them nobody has seen.
func TestAWatchThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x", "y")
		news, mk := s.newsstand()
		c := newCrew(t, simple(provider.SimpleGetFilter), mk, "x=1", "y=1")
		defer c.end()
		stop := c.watch()
		synctest.Wait()
		wantOuts(t, c.run(true), "ok", "ok")
		s.put("x", "2")
		news <- nil
		synctest.Wait()
		stop()
		s.put("x", "1")
		wantOuts(t, c.run(false)[:1], "ok")
		s.put("x", "2")
		defer c.watch()()
		synctest.Wait()
		news <- nil
		synctest.Wait()
		s.took()
		wantOuts(t, c.run(false)[:1], "changed")
		wantLog(t, s, "get y") // and not x, which was read for it
	})
}

// TestNewsThatWereReadAlready: a change that was read with others, for whoever, wakes its
// own resource, though it is no news any more when the news of it come.
func TestNewsThatWereReadAlready(t *testing.T) {
	for _, how := range []string{"for the watch", "for another resource", "for a look"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStock("x", "y")
				news, mk := s.newsstand()
				c := newCrew(t, simple(0), mk, "x=1", "y=1")
				defer c.end()
				defer c.watch()()
				synctest.Wait()
				wantOuts(t, c.run(true), "ok", "ok")
				s.put("y", "2")
				switch how {
				case "for the watch":
					news <- []provider.Name{provider.NameOf("x")}
				case "for another resource":
					c.sh.Begin()
					wantOuts(t, c.check(true, c.res[0]), "ok")
					c.sh.End()
				case "for a look":
					_, err := c.res[1].(engine.Readable).Read(t.Context())
					must(t, err)
				}
				news <- []provider.Name{provider.NameOf("y")}
				synctest.Wait()
				if got := c.woken(); !slices.Equal(got, []string{"y"}) {
					t.Errorf("woken: %v", got)
				}
			})
		})
	}
}

// TestSetMaySort: the order of the changes is the provider's.
func TestSetMaySort(t *testing.T) {
	s := newStock("x", "y")
	s.set = func(_ *provider.Runtime, changes []provider.Change) error {
		slices.Reverse(changes)
		s.fulfil(changes...)
		return nil
	}
	c := newCrew(t, simple(provider.SimpleGetFilter), s.clerk, "x=2", "y=2")
	defer c.end()
	wantOuts(t, c.run(true), "changed", "changed")
}

// TestACancelledReading: what was read while the context ended is nobody's.
func TestACancelledReading(t *testing.T) {
	s := newStock("X", "Y")
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	mk := func() provider.Provider {
		return s.hire(picky{clerk: clerk{s}, also: func([]provider.Record) error {
			if calls++; calls == 3 { // what is wanted, twice, and what was read
				cancel()
				return ctx.Err()
			}
			return nil
		}})
	}
	c := newCrew(t, simple(provider.Canonicalize), mk, "x=1", "y=1")
	defer c.end()
	c.sh.Begin()
	defer c.sh.End()
	if _, err := c.res[0].CheckApply(ctx, true); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	wantOuts(t, c.check(true, c.res[1]), "ok")
}

// TestAFailureAfterASuccess: a resource that was set, and then could not be set, in
// one transaction, still hears of changes.
func TestAFailureAfterASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x")
		d := simple(0)
		d.Poll = 10 * time.Second
		c := newCrew(t, d, s.clerk, "x=2")
		defer c.end()
		defer c.watch()()
		synctest.Wait()
		c.sh.Begin()
		wantOuts(t, c.check(true, c.res[0]), "changed")
		c.want(0, "4")
		s.set = func(*provider.Runtime, []provider.Change) error { return errors.New("no") }
		wantOuts(t, c.check(true, c.res[0]), "no")
		c.sh.End()
		c.woken()
		s.put("x", "4")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if got := c.woken(); len(got) != 1 {
			t.Errorf("woken: %v", got)
		}
		wantOuts(t, c.run(true), "ok")
	})
}

// TestOneThingTwice: resources whose names are found to be the same in canonical form
// both fail, and nothing is set. When one of them has left the other one is woken, and
// goes on.
func TestOneThingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("X", "Y")
		c := newCrew(t, simple(provider.Canonicalize), s.picky, "x=2", "X=3", "y=2")
		defer c.end()
		synctest.Wait()
		wantOuts(t, c.run(true), "rec[X] is the rec X too", "rec[x] is the rec X too", "changed")
		wantOuts(t, c.run(true), "rec[X] is the rec X too", "rec[x] is the rec X too", "ok")
		c.drop(0)
		stop := c.watch()
		defer stop()
		synctest.Wait()
		if got := c.woken(); !slices.Equal(got, []string{"X"}) {
			t.Errorf("woken: %v", got)
		}
		wantOuts(t, c.run(true), "changed", "ok")
	})
}

// TestOneThingTwiceLater: the one that was there first is told when the other comes.
func TestOneThingTwiceLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("X")
		k, err := provider.New(simple(provider.Canonicalize), s.picky)
		must(t, err)
		c := crewOf(t, k, "x=1")
		defer c.end()
		stop := c.watch()
		defer stop()
		synctest.Wait()
		wantOuts(t, c.run(true), "ok")
		x := c.join(k, "X", "2")
		c.sh.Begin()
		wantOuts(t, c.check(true, x), "rec[x] is the rec X too")
		c.sh.End()
		synctest.Wait()
		if got := c.woken(); !slices.Equal(got, []string{"x"}) {
			t.Errorf("woken: %v", got)
		}
		wantOuts(t, c.run(true), "rec[X] is the rec X too", "rec[x] is the rec X too")
	})
}

// TestOneBadRecord: a record of which there is no canonical form fails its own
// resource.
func TestOneBadRecord(t *testing.T) {
	s := newStock("X", "Y")
	s.put("Y", "bad")
	c := newCrew(t, simple(provider.Canonicalize), s.picky, "x=1", "y=1")
	defer c.end()
	wantOuts(t, c.run(true), "ok", "Y is bad")
}

// gossip is a clerk that repeats what it hears, in errors.
type gossip struct {
	clerk
	how string
}

func (g gossip) speak(where string, rec ...provider.Record) error {
	var words []string
	for _, r := range rec {
		if s, ok := r["secret"].(schema.Secret); ok {
			words = append(words, s.Reveal())
		}
	}
	text := where + ": " + strings.Join(words, " ")
	switch g.how {
	case where:
		return errors.New(text)
	case where + " panics":
		panic(text)
	}
	return nil
}

func (g gossip) Canonicalize(_ context.Context, _ *provider.Runtime, records []provider.Record) ([]provider.Record, error) {
	return records, g.speak("canonicalize", records...)
}

func (g gossip) InSync(_ context.Context, _ *provider.Runtime, _ provider.Name, _ string, is, should provider.Record) (provider.Answer, string, error) {
	if g.how == "insync why" {
		return provider.OutOfSync, is["secret"].(schema.Secret).Reveal() + should["secret"].(schema.Secret).Reveal(), nil
	}
	return provider.Default, "", g.speak("insync", is, should)
}

func (g gossip) Refresh(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	return g.speak("refresh", changes[0].Is.Record, changes[0].Should)
}

func (g gossip) Set(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	for _, ch := range changes {
		for _, how := range []string{"failed", "message", "context", "attribute"} {
			if g.how != how {
				continue
			}
			text := reveal(ch.Is.Record) + " " + reveal(ch.Should)
			switch how {
			case "failed":
				rt.Log.Failed(ch.Title, text)
			case "message":
				rt.Log.Warning(text)
			case "context":
				return rt.Log.Updating(ch.Title, func() error { return errors.New(text) })
			case "attribute":
				rt.Log.AttributeChanged("a", text, text, provider.Of(ch.Title))
			}
		}
		if err := g.speak("set", ch.Is.Record, ch.Should); err != nil {
			return err
		}
	}
	g.fulfil(changes...)
	return nil
}

func reveal(r provider.Record) string {
	s, _ := r["secret"].(schema.Secret)
	return s.Reveal()
}

// TestNoGossip: what a provider repeats of a secret, of the wanted one or of the one
// that is there, is in no error, change or line of the log.
func TestNoGossip(t *testing.T) {
	for _, how := range []string{"canonicalize", "canonicalize panics", "insync", "insync panics", "insync why", "set", "set panics",
		"refresh", "refresh panics", "failed", "message", "context", "attribute"} {
		t.Run(how, func(t *testing.T) {
			s := newStock()
			old := "canary-old"
			if strings.HasPrefix(how, "refresh") {
				old = "canary-new"
			}
			s.things["x"] = provider.Record{"ensure": "present", "name": "x", "secret": old}
			d := simple(provider.Canonicalize | provider.CustomInSync | provider.Refreshable)
			c := newCrew(t, d, func() provider.Provider { return s.hire(gossip{clerk{s}, how}) }, "x")
			defer c.end()
			must(t, schema.Set(c.res[0].(schema.Typed), "secret", schema.NewSecret("canary-new")))
			must(t, c.res[0].Validate())
			c.fakes[0].SetRefresh(true)
			var log strings.Builder
			c.fakes[0].Init().Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			outs := c.run(true)
			said := fmt.Sprint(outs[0].Err, c.fakes[0].Changes(), log.String())
			if strings.Contains(said, "canary") {
				t.Error(said)
			}
			if quiet := strings.HasPrefix(how, "insync why") || how == "message" || how == "attribute"; outs[0].Err == nil && !quiet {
				t.Error("it did not fail")
			}
		})
	}
}

// TestBrokenRulesAreHeard: a rule of the Logger that was broken is heard of even if
// everything was done.
func TestBrokenRulesAreHeard(t *testing.T) {
	s := newStock("x")
	s.set = func(rt *provider.Runtime, changes []provider.Change) error {
		s.fulfil(changes...)
		rt.Log.Updated(changes[0].Title)
		rt.Log.Updated("foreign")
		return nil
	}
	c := newCrew(t, simple(provider.SimpleGetFilter), s.clerk, "x=2")
	defer c.end()
	wantOuts(t, c.run(true), "changed")
	if logs := fmt.Sprint(c.fakes[0].Logs()); !strings.Contains(logs, "foreign") {
		t.Error(logs)
	}
}

// TestAnotherKindOfTheName: a kind whose definition was changed shares nothing with
// the one before.
func TestAnotherKindOfTheName(t *testing.T) {
	s := newStock("x")
	k1, err := provider.New(simple(0), s.clerk)
	must(t, err)
	k2, err := provider.New(simple(0), s.clerk)
	must(t, err)
	key1, _ := k1.New().(engine.SharedRes).Shared()
	key2, _ := k2.New().(engine.SharedRes).Shared()
	again, _ := k1.New().(engine.SharedRes).Shared()
	if key1 == key2 || key1 != again {
		t.Errorf("%q, %q, %q", key1, key2, again)
	}
	g1, g2 := k1.New().(engine.Batcher).GroupKey(), k2.New().(engine.Batcher).GroupKey()
	if g1 == g2 {
		t.Errorf("both are grouped as %q", g1)
	}
}

// TestNewsWhileTransactionsEnd: whatever comes between the end of a transaction and
// the next one, no provider is left over, and nothing that was read is used again.
func TestNewsWhileTransactionsEnd(t *testing.T) {
	s := newStock("x")
	news, mk := s.newsstand()
	c := newCrew(t, simple(0), mk, "x=1")
	defer c.end()
	stop := c.watch()
	defer stop()
	<-c.fakes[0].Running()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			news <- nil
		}
	})
	for range 2000 {
		c.sh.Begin()
		c.check(true, c.res[0])
		c.sh.End()
	}
	cancel()
	wg.Wait()
	for end := time.Now().Add(await.Left()); time.Now().Before(end); { // the last of the news
		s.mu.Lock()
		open := s.open
		s.mu.Unlock()
		if open == 1 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d providers are open, beside the watch", s.open-1)
}

// absentee is a clerk whose Get ends its goroutine, as a test's FailNow does.
type absentee struct{ clerk }

func (absentee) Canonicalize(context.Context, *provider.Runtime, []provider.Record) ([]provider.Record, error) {
	return nil, nil
}

func (absentee) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	return nil
}

// TestAGetOfNothing: a Get that returns no iterator is an outage.
func TestAGetOfNothing(t *testing.T) {
	s := newStock()
	c := newCrew(t, simple(0), func() provider.Provider { return s.hire(absentee{clerk{s}}) }, "x=1")
	defer c.end()
	wantOuts(t, c.run(true), "Get panicked")
}

// TestSendsWhatWasMade: what is known of a thing only after it was made is sent at once.
func TestSendsWhatWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock()
		d := simple(0)
		d.Attributes = append(d.Attributes, provider.Attribute{Name: "id", Type: "Optional[Integer]", Doc: "A number.", Role: provider.ReadOnly})
		s.set = func(_ *provider.Runtime, changes []provider.Change) error {
			s.fulfil(changes...)
			s.things["x"]["id"] = int64(7)
			return nil
		}
		c := newCrew(t, d, s.clerk, "x=1")
		defer c.end()
		stop := c.watch()
		defer stop()
		synctest.Wait()
		wantOuts(t, c.run(true), "changed")
		synctest.Wait()
		if got := c.woken(); len(got) != 0 {
			t.Fatalf("woken: %v", got)
		}
		if m, err := schema.Encode(c.fakes[0].Sent()); err != nil || m.(map[string]any)["id"] != int64(7) {
			t.Errorf("%v, %v", m, err)
		}
	})
}

// TestAStructKeepsWhatItHolds: a key of a Struct that is not given is missing in what is
// wanted, and not empty; one that must be there may be null.
func TestAStructKeepsWhatItHolds(t *testing.T) {
	k := kindOf(t, `{"name": "rec", "docs": "x", "provider": "go", "attributes": {
		"name": {"type": "String", "docs": "x", "kind": "namevar"},
		"h": {"docs": "x", "type": "Struct[{a => Integer, Optional[b] => String, Optional[l] => Array[Integer], c => Optional[Struct[{d => Boolean, Optional[e] => Boolean}]], NotUndef[u] => Optional[String]}]"}}}`)
	for _, h := range []map[string]any{
		{"a": int64(1), "u": nil},
		{"a": int64(0), "b": "", "l": []any{}, "u": ""},
		{"a": int64(1), "c": map[string]any{"d": false}, "u": "x"},
		{"a": int64(1), "c": map[string]any{"d": false, "e": false}, "l": []any{int64(0)}, "u": nil},
	} {
		plain := maps.Clone(h)
		n, err := schema.NodeOf(map[string]any{"h": plain})
		if err != nil {
			t.Fatal(err)
		}
		r := k.New()
		r.SetKind("rec")
		r.SetName("x")
		if ds := schema.Decode(n, r); ds.Err() != nil {
			t.Fatal(ds)
		}
		got, err := k.Wanted(r)
		if diff := cmp.Diff(provider.Record{"name": "x", "h": h}, got); diff != "" || err != nil {
			t.Errorf("%v: %v %s", h, err, diff)
		}
	}
}

// TestWhatIsWrongIsSaidOnce: a value that does not fit is not missing as well.
func TestWhatIsWrongIsSaidOnce(t *testing.T) {
	k := kindOf(t, `{"name": "rec", "docs": "x", "provider": "go", "attributes": {
		"name": {"type": "Pattern[/\\A[a-z]+\\z/]", "docs": "x", "kind": "namevar"},
		"v": {"type": "Pattern[/\\A[0-9]+\\z/]", "docs": "x"}}}`)
	n, err := schema.NodeOf(map[string]any{"name": "A1", "v": "z"})
	if err != nil {
		t.Fatal(err)
	}
	r := k.New()
	r.SetKind("rec")
	r.SetName("A1")
	if ds := schema.Decode(n, r); ds.Err() != nil {
		t.Fatal(ds)
	}
	err = engine.Res(r).Validate()
	want := "rec.name expects a match for Pattern[/\\A[a-z]+\\z/], got 'A1'\nrec.v expects a match for Pattern[/\\A[0-9]+\\z/], got 'z'"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// whole is a provider of a type without properties, that compares by itself: what is set is
// in sync, unless Set does nothing.
type whole struct {
	asked *[]string
	set   *int
	lazy  bool
}

func (w whole) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) { yield(provider.Record{"name": "x"}, nil) }
}

func (w whole) Set(_ context.Context, _ *provider.Runtime, changes []provider.Change) error {
	if !w.lazy {
		*w.set += len(changes)
	}
	return nil
}

func (w whole) InSync(_ context.Context, _ *provider.Runtime, _ provider.Name, attribute string, _, should provider.Record) (provider.Answer, string, error) {
	*w.asked = append(*w.asked, attribute+":"+fmt.Sprint(should["how"]))
	if *w.set > 0 {
		return provider.InSync, "", nil
	}
	return provider.OutOfSync, "nothing was set", nil
}

// TestATypeWithoutProperties: with custom_insync the provider is asked about the whole.
func TestATypeWithoutProperties(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		var asked []string
		set := 0
		def := provider.Definition{Name: "rec", Doc: "x", Features: provider.CustomInSync, Attributes: []provider.Attribute{
			{Name: "name", Type: "String", Doc: "x", Role: provider.Namevar}, {Name: "how", Type: "Optional[String]", Doc: "x", Role: provider.Parameter}}}
		k, err := provider.New(def, func() provider.Provider { return whole{asked: &asked, set: &set, lazy: lazy} })
		must(t, err)
		r := k.New()
		r.SetKind("rec")
		r.SetName("x")
		must(t, schema.Set(r.(schema.Typed), "how", "gently"))
		must(t, r.Validate())
		f := enginetest.NewInit(t)
		must(t, r.Init(f.Init()))
		_, err = r.CheckApply(t.Context(), true)
		ok, later := r.CheckApply(t.Context(), true) // what Set has not brought about is found out when it is read again
		must(t, r.Cleanup())
		switch {
		case lazy && !strings.Contains(fmt.Sprint(err, later), "Set reported success, but it is not in sync"):
			t.Error(err, later)
		case !lazy && (err != nil || later != nil || !ok || set != 1 || asked[0] != ":gently"):
			t.Error(err, later, ok, set, asked)
		}
	}
}

// TestLookingNeedsTheNameOnly: a thing can be looked at though what must be given to set it
// is not; without a name there is an error, not a panic.
func TestLookingNeedsTheNameOnly(t *testing.T) {
	s := newStock("x")
	d := simple(0)
	d.Attributes = append(d.Attributes, provider.Attribute{Name: "must", Type: "String", Doc: "It must be given."})
	d.TitlePatterns = []provider.TitlePattern{{Pattern: `^(?<name>[a-z]+)$`, Doc: "x"}}
	k, err := provider.New(d, s.clerk)
	must(t, err)
	for title, want := range map[string]string{"x": "", "y": "", "Y": "is missing: the title"} {
		r := k.New()
		r.SetKind("rec")
		r.SetName(title)
		f := enginetest.NewInit(t)
		must(t, r.Init(f.Init()))
		got, err := r.(engine.Readable).Read(t.Context())
		must(t, r.Cleanup())
		if want == "" && (got == nil || err != nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", title, got, err)
		}
	}
}
