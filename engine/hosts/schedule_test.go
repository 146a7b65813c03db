package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// stand writes a candidate as a host does.
func stand(t testing.TB, w world.World, name, host, strategy string, count int) {
	t.Helper()
	put(t, w, fmt.Sprintf("%s={\"strategy\":%q,\"count\":%d}", hosts.ScheduleKey("all", name, host), strategy, count))
}

// chosen returns the hosts of a schedule as the store stands.
func chosen(t testing.TB, w world.World, name string) string {
	t.Helper()
	c, err := hosts.NewScheduler(hosts.Store{World: w, Clock: clock.System{}}, "nobody", time.Minute).Place("all", name).Ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(c.Hosts, " ")
}

// TestStrategies: a script of candidates that come and go, and the answer of each strategy.
func TestStrategies(t *testing.T) {
	for _, x := range []struct {
		strategy             string
		first, gone, return_ string
	}{
		{hosts.Sticky, "a c", "c d", "c d"},
		{hosts.Alpha, "a b", "b c", "a b"},
		{hosts.Hash, "b c", "b c", "b c"},
		{hosts.RoundRobin, "a b", "b c", "a b"},
	} {
		w := memory.New()
		for _, host := range []string{"c", "a", "d", "b"} {
			stand(t, w, "s", host, x.strategy, 2)
		}
		key := hosts.ScheduleKey("all", "s", "a")
		got := []string{chosen(t, w, "s")}
		put(t, w, key)
		got = append(got, chosen(t, w, "s"))
		stand(t, w, "s", "a", x.strategy, 2)
		got = append(got, chosen(t, w, "s"))
		want(t, x.strategy, got, []string{x.first, x.gone, x.return_})
	}
}

// TestRoundRobin: the schedules of a topic share the hosts in turn.
func TestRoundRobin(t *testing.T) {
	w := memory.New()
	var got []string
	for _, name := range []string{"one", "three", "two"} {
		for _, host := range []string{"a", "b", "c", "d", "e"} {
			stand(t, w, name, host, hosts.RoundRobin, 2)
		}
	}
	for _, name := range []string{"one", "three", "two", "none"} {
		got = append(got, chosen(t, w, name))
	}
	want(t, "in turn", got, []string{"a b", "c d", "a e", ""})
}

// TestRules: the rule that was written last counts, and a broken record takes no host away.
func TestRules(t *testing.T) {
	w := memory.New()
	stand(t, w, "s", "b", hosts.Alpha, 1)
	stand(t, w, "s", "a", hosts.Alpha, 2)
	put(t, w, hosts.ScheduleKey("all", "s", "0")+"={", "schedules/all/s=x", "schedules/all/%zz/a=x", "schedules/group:x/s/z={}")
	got := []string{chosen(t, w, "s")}
	stand(t, w, "s", "b", hosts.Alpha, 1)
	got = append(got, chosen(t, w, "s"))
	put(t, w, hosts.ScheduleKey("all", "t", "x")+"={", hosts.ScheduleKey("all", "t", "y")+"={\"strategy\":\"odd\",\"count\":9}")
	got = append(got, chosen(t, w, "t"))
	want(t, "the rules", got, []string{"0 a", "0", "x"})
	for _, r := range []hosts.Rule{{Strategy: "odd", Count: 1}, {Strategy: hosts.Hash}} {
		if r.Check() == nil {
			t.Errorf("%v passes", r)
		}
	}
}

// TestHashMovesFew: when one of many hosts goes, only its own places move.
func TestHashMovesFew(t *testing.T) {
	table := func(without int) *hosts.Table {
		var all hosts.Change
		all.Whole = true
		for s := range 40 {
			for h := range 20 {
				if h != without {
					all.Updates = append(all.Updates, world.Update{KV: world.KV{
						Key: hosts.ScheduleKey("all", fmt.Sprint("s", s), fmt.Sprint("h", h)), Value: []byte(`{"strategy":"hash","count":3}`), Revision: 1,
					}})
				}
			}
		}
		t := &hosts.Table{}
		t.Take(all)
		return t
	}
	before, after := table(-1), table(7)
	load := map[string]int{}
	for s := range 40 {
		name := fmt.Sprint("s", s)
		for _, h := range before.Choose(name).Hosts {
			load[h]++
			if h != "h7" && !slices.Contains(after.Choose(name).Hosts, h) {
				t.Errorf("%s lost %s, which is still there", name, h)
			}
		}
	}
	for h, n := range load {
		if n > 16 {
			t.Errorf("%s has %d of 120 places", h, n)
		}
	}
}

// TestAgree: whoever has followed the changes one by one answers as the one who lists at that revision.
func TestAgree(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	var step, whole hosts.Table
	live := map[string]world.Update{}
	for rev := int64(1); rev < 600; rev++ {
		host, name := fmt.Sprint("h", rnd.IntN(8)), fmt.Sprint("s", rnd.IntN(4))
		u := world.Update{KV: world.KV{Key: hosts.ScheduleKey("all", name, host), Revision: rev, Created: rev}}
		if old, there := live[u.Key]; there {
			u.Created = old.Created
		}
		u.Value = fmt.Appendf(nil, `{"strategy":%q,"count":%d}`, hosts.Strategies()[rnd.IntN(4)], 1+rnd.IntN(4))
		live[u.Key] = u
		if rnd.IntN(3) == 0 {
			u.Deleted = true
			delete(live, u.Key)
		}
		step.Take(hosts.Change{Revision: rev, Updates: []world.Update{u}})
		all := hosts.Change{Whole: true, Revision: rev}
		for _, u := range live {
			all.Updates = append(all.Updates, u)
		}
		whole.Take(all)
		for s := range 4 {
			name := fmt.Sprint("s", s)
			if a, b := step.Choose(name), whole.Choose(name); !a.Equal(b) || a.Revision != rev {
				t.Fatalf("seed %d, revision %d, %s: %v and %v", seed, rev, name, a, b)
			}
		}
	}
}

// office is one host with a Scheduler.
type office struct {
	*hosts.Scheduler
	world *dying
	mu    sync.Mutex
	leads bool
	end   func()
}

// dying is a World whose leases can be ended, as by a loss of the store.
type dying struct {
	faulty
	last world.Lease
}

func (d *dying) Lease(ctx context.Context, ttl time.Duration) (world.Lease, error) {
	d.mu.Lock()
	hang := d.hang
	d.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	lease, err := d.World.Lease(ctx, ttl)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = lease
	return lease, err
}

func (o *office) is() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leads
}

// newOffice starts a host that wants to lead.
func newOffice(t *testing.T, w *memory.World, name string) *office {
	o := &office{world: &dying{faulty: faulty{World: w.Join()}}}
	o.Scheduler = hosts.NewScheduler(hosts.Store{World: o.world, Clock: clock.System{}}, name, 15*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { o.Run(ctx) })
	all.Go(func() {
		o.Lead(ctx, "all", "leader", func(ctx context.Context) {
			o.mu.Lock()
			o.leads = true
			o.mu.Unlock()
			<-ctx.Done()
			o.mu.Lock()
			o.leads = false
			o.mu.Unlock()
		})
	})
	o.end = sync.OnceFunc(func() { cancel(); all.Wait() })
	return o
}

func leaders(list ...*office) (n int) {
	for _, o := range list {
		if o.is() {
			n++
		}
	}
	return n
}

// TestLead: one of many leads, another follows when its lease ends or it leaves, and the first does not take it back.
func TestLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		var all []*office
		for i := range 20 {
			all = append(all, newOffice(t, w, fmt.Sprint("h", i)))
			synctest.Wait()
		}
		defer func() {
			for _, o := range all {
				o.end()
			}
		}()
		if !all[0].is() || leaders(all...) != 1 {
			t.Fatalf("%d lead, the first: %t", leaders(all...), all[0].is())
		}
		all[0].world.set(nil, true) // the store hangs for this host, and its lease ends
		if err := all[0].world.last.Revoke(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if all[0].is() || !all[1].is() || leaders(all...) != 1 {
			t.Errorf("after a death %d lead, the first %t, the second %t", leaders(all...), all[0].is(), all[1].is())
		}
		all[0].world.set(nil, false)
		time.Sleep(time.Minute)
		if !all[1].is() || leaders(all...) != 1 {
			t.Error("the first came back, and the lead has moved")
		}
		all[1].end()
		time.Sleep(time.Second)
		if !all[2].is() || leaders(all...) != 1 {
			t.Error("the third does not lead after the second has left")
		}
	})
}

// TestLeadHang: a host whose call hangs knows at the end of its lease that it leads no more.
func TestLeadHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		o := newOffice(t, w, "a")
		defer o.end()
		synctest.Wait()
		o.world.set(nil, true)
		o.Place("all", "leader").Again() // a write that hangs
		synctest.Wait()
		if err := o.world.last.Revoke(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if o.is() {
			t.Error("it leads without a lease")
		}
	})
}

// TestLeadTwins: of two machines with one name one leads, and the other goes on when that one has left.
func TestLeadTwins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		one := newOffice(t, w, "a")
		synctest.Wait()
		two := newOffice(t, w, "a")
		synctest.Wait()
		if leaders(one, two) != 1 || !two.is() {
			t.Errorf("%d lead, the second: %t", leaders(one, two), two.is())
		}
		two.end()
		time.Sleep(time.Second)
		if !one.is() {
			t.Error("the first does not lead after the second has left")
		}
		one.end()
	})
}

// TestDenied: a store that refuses a place tells so, and the place is had when the store takes it.
func TestDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{World: memory.New()}
		f.set(fmt.Errorf("%w: no permission", world.ErrRefused), false)
		s := hosts.NewScheduler(hosts.Store{World: f, Clock: clock.System{}}, "a", 15*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		p, rule := s.Place("all", "s"), hosts.Rule{Strategy: hosts.Sticky, Count: 1}
		if err := p.Stand(ctx, rule); !errors.Is(err, world.ErrRefused) {
			t.Errorf("the error is %v", err)
		}
		f.set(nil, false)
		time.Sleep(2 * time.Minute)
		if err := p.Stand(ctx, rule); err != nil {
			t.Errorf("after the right was given: %v", err)
		}
		p.End()
		cancel()
		<-done
	})
}

// TestPlace: two users of one schedule keep the place, a new rule does not move it, and the last takes it away.
func TestPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		s := hosts.NewScheduler(hosts.Store{World: w, Clock: clock.System{}}, "a", 15*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		one, two := s.Place("all", "s"), s.Place("all", "s")
		if err := one.Stand(ctx, hosts.Rule{Strategy: hosts.Sticky, Count: 1}); err != nil {
			t.Fatal(err)
		}
		stand(t, w, "s", "b", hosts.Sticky, 1)
		if err := two.Stand(ctx, hosts.Rule{Strategy: hosts.Sticky, Count: 2}); err != nil {
			t.Fatal(err)
		}
		one.End()
		one.End()
		synctest.Wait()
		stand(t, w, "s", "b", hosts.Sticky, 1)
		c, err := two.Ask(ctx)
		if err != nil || !c.Mine || chosen(t, w, "s") != "a" {
			t.Errorf("with a second user: %+v, %v", c, err)
		}
		put(t, w, hosts.ScheduleKey("all", "s", "a"))
		two.Again()
		synctest.Wait()
		want(t, "written again", c.Candidates, []string{"a", "b"})
		two.End()
		synctest.Wait()
		if got := chosen(t, w, "s"); got != "b" {
			t.Errorf("after the last user: %s", got)
		}
		cancel()
		<-done
	})
}
