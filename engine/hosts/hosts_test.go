package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faulty is a World whose calls fail or hang while bad says so.
type faulty struct {
	world.World
	mu   sync.Mutex
	err  error
	hang bool
	txns int
	lose bool               // a Txn is done, and its answer is lost
	deny string             // a key that no Txn may have
	list int                // calls of List
	deaf bool               // every Watch fails at once
	cut  context.CancelFunc // of the Watch that runs
}

// set makes the calls fail from now on, and ends the Watch.
func (f *faulty) set(err error, hang bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.hang = err, hang
	if f.cut != nil {
		f.cut()
	}
}

func (f *faulty) bad(ctx context.Context) error {
	f.mu.Lock()
	err, hang := f.err, f.hang
	f.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (f *faulty) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	f.mu.Lock()
	f.list++
	f.mu.Unlock()
	if err := f.bad(ctx); err != nil {
		return world.Page{}, err
	}
	return f.World.List(ctx, prefix, o)
}

func (f *faulty) Txn(ctx context.Context, c []world.Compare, ops []world.Op) (int64, bool, error) {
	f.mu.Lock()
	f.txns++
	f.mu.Unlock()
	if err := f.bad(ctx); err != nil {
		return 0, false, err
	}
	f.mu.Lock()
	lose, deny := f.lose, f.deny
	f.mu.Unlock()
	if slices.ContainsFunc(ops, func(op world.Op) bool { return op.Key == deny }) {
		return 0, false, fmt.Errorf("%w: no permission", world.ErrRefused)
	}
	rev, ok, err := f.World.Txn(ctx, c, ops)
	if lose {
		return 0, false, fmt.Errorf("%w: the answer was lost", world.ErrUnavailable)
	}
	return rev, ok, err
}

// alter changes how the World fails.
func (f *faulty) alter(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *faulty) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.txns
}

func (f *faulty) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) {
		inner, cut := context.WithCancel(ctx)
		defer cut()
		f.mu.Lock()
		f.cut = cut
		deaf := f.deaf
		f.mu.Unlock()
		if deaf {
			cut()
		}
		for b, err := range f.World.Watch(inner, prefix, from) {
			if !yield(b, err) {
				return
			}
		}
		if ctx.Err() == nil {
			yield(world.Batch{}, fmt.Errorf("%w: cut", world.ErrUnavailable))
		}
	}
}

// put writes key=value, or deletes a key without a value.
func put(t testing.TB, w world.World, pairs ...string) {
	t.Helper()
	var ops []world.Op
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		ops = append(ops, world.Op{Key: key, Value: []byte(value), Delete: !ok})
	}
	if _, _, err := w.Txn(t.Context(), nil, ops); err != nil {
		t.Fatal(err)
	}
}

// keys returns the store as key=value.
func keys(t testing.TB, w world.World) (all []string) {
	t.Helper()
	p, err := w.List(context.Background(), "", world.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range p.KVs {
		all = append(all, kv.Key+"="+string(kv.Value))
	}
	return all
}

func want(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// told collects what Tell says.
type told struct {
	mu   sync.Mutex
	said []string
}

func (x *told) tell(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		x.said = append(x.said, "back")
		return
	}
	if errors.Is(err, world.ErrRefused) {
		x.said = append(x.said, "lost, refused")
		return
	}
	x.said = append(x.said, "lost")
}

func (x *told) take() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	said := x.said
	x.said = nil
	return said
}

// TestFollow: a reader sees all, then each revision whole, and after a loss all again; each loss is told once.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		w := &faulty{World: inner}
		for i := range 2500 { // more than two pages
			put(t, inner, fmt.Sprintf("a/%04d=x", i))
		}
		var x told
		s := hosts.Store{World: w, Clock: clock.System{}, Tell: x.tell}
		ctx, cancel := context.WithCancel(t.Context())
		seen := make(chan hosts.Change, 100)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for c := range s.Follow(ctx, "a/") {
				seen <- c
			}
		}()
		step := func(what string, whole bool, n int) {
			t.Helper()
			c := <-seen
			if c.Whole != whole || len(c.Updates) != n {
				t.Errorf("%s: whole %t with %d updates, want %t and %d", what, c.Whole, len(c.Updates), whole, n)
			}
		}
		step("at first", true, 2500)
		put(t, inner, "a/0000", "b/foreign=1", "a/new=1")
		step("a revision", false, 2)
		w.set(fmt.Errorf("%w: down", world.ErrUnavailable), false)
		time.Sleep(time.Minute)
		put(t, inner, "a/1=1")
		w.set(nil, true)
		time.Sleep(time.Minute)
		want(t, "told", x.take(), []string{"lost"})
		w.set(nil, false)
		step("when it is back", true, 2501)
		synctest.Wait()
		want(t, "told", x.take(), []string{"back"})
		cancel()
		<-done
	})
}

// keeper runs one until the test ends it.
func keeper(t *testing.T, w world.World, x *told) (k *hosts.Keeper, end func()) {
	k = hosts.NewKeeper(hosts.Store{World: w, Clock: clock.System{}, Tell: x.tell}, 15*time.Second)
	k.OnLive(func(yes bool) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.said = append(x.said, map[bool]string{true: "live", false: "dead"}[yes])
	})
	k.OnRefused(func(key string, _ error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.said = append(x.said, "refused "+key)
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(ctx)
	}()
	return k, func() { cancel(); <-done }
}

func values(pairs ...string) map[string][]byte {
	m := map[string][]byte{}
	for _, p := range pairs {
		key, value, _ := strings.Cut(p, "=")
		m[key] = []byte(value)
	}
	return m
}

// TestKeeper: what is wanted is in the store and no more, equal sets write nothing, and the end takes all away.
func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		w := &faulty{World: inner}
		var x told
		k, end := keeper(t, w, &x)
		k.Set("one", values("a=1", "b=1"))
		k.Set("two", values("c=1"))
		synctest.Wait()
		want(t, "at first", keys(t, inner), []string{"a=1", "b=1", "c=1"})
		n := w.count()
		k.Set("one", values("a=1", "b=1"))
		synctest.Wait()
		if w.count() != n {
			t.Error("an equal set was written")
		}
		k.Set("one", values("b=2"))
		synctest.Wait()
		want(t, "after a change", keys(t, inner), []string{"b=2", "c=1"})
		many := map[string][]byte{}
		for i := range 300 { // more than a transaction takes, by number and by size
			many[fmt.Sprintf("m/%03d", i)] = make([]byte, 20_000)
		}
		k.Set("many", many)
		synctest.Wait()
		if got := len(keys(t, inner)); got != 302 {
			t.Errorf("%d keys of 302", got)
		}
		end()
		want(t, "after the end", keys(t, inner), nil)
		want(t, "told", x.take(), []string{"live", "dead"})
	})
}

// TestKeeperLost: a loss is told once; a change that came meanwhile is written when the store is back.
func TestKeeperLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		w := &faulty{World: inner}
		var x told
		k, end := keeper(t, w, &x)
		defer end()
		k.Set("g", values("a=1", "b=1"))
		synctest.Wait()
		w.set(nil, true) // it hangs, and then it fails
		k.Set("g", values("a=2"))
		time.Sleep(time.Minute)
		w.set(fmt.Errorf("%w: down", world.ErrUnavailable), false)
		time.Sleep(time.Minute)
		want(t, "meanwhile", keys(t, inner), []string{"a=1", "b=1"})
		w.set(nil, false)
		time.Sleep(time.Minute)
		want(t, "then", keys(t, inner), []string{"a=2"})
		want(t, "told", x.take(), []string{"live", "lost", "back"})
	})
}

// TestKeeperDead: a lease that has ended is told, and all is put anew under another one.
func TestKeeperDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		w := &leasing{World: inner}
		var x told
		k, end := keeper(t, w, &x)
		defer end()
		k.Set("g", values("a=1"))
		synctest.Wait()
		if err := w.last.Revoke(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want(t, "after the end of the lease", keys(t, inner), nil)
		time.Sleep(time.Second)
		want(t, "then", keys(t, inner), []string{"a=1"})
		want(t, "told", x.take(), []string{"live", "dead", "lost", "back", "live"})
	})
}

// TestKeeperRefused: a refused key is told and tried again later, and costs no other key.
func TestKeeperRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		w := &faulty{World: inner, deny: "m/100"}
		var x told
		k, end := keeper(t, w, &x)
		defer end()
		synctest.Wait()
		many := map[string][]byte{}
		for i := range 200 {
			many[fmt.Sprintf("m/%03d", i)] = []byte("1")
		}
		k.Set("g", many)
		synctest.Wait()
		if got := keys(t, inner); len(got) != 199 || slices.Contains(got, "m/100=1") {
			t.Errorf("%d keys of 199 that are allowed", len(got))
		}
		k.Set("h", values("z=1"))
		synctest.Wait()
		want(t, "told", x.take(), []string{"live", "refused m/100", "dead"})
		w.alter(func() { w.deny = "" })
		time.Sleep(2 * time.Minute)
		if got := len(keys(t, inner)); got != 201 {
			t.Errorf("%d keys of 201 after the rights came", got)
		}
		want(t, "told then", x.take(), []string{"live"})
	})
}

// TestKeeperRefusedAll: a host that may write nothing says so, and is there when it may.
func TestKeeperRefusedAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		w := &faulty{World: inner, deny: "a"}
		var x told
		k, end := keeper(t, w, &x)
		defer end()
		synctest.Wait()
		k.Set("g", values("a=1"))
		time.Sleep(time.Minute)
		want(t, "told", x.take(), []string{"live", "refused a", "dead", "lost, refused"})
		w.alter(func() { w.deny = "" })
		time.Sleep(time.Minute)
		want(t, "then", keys(t, inner), []string{"a=1"})
		want(t, "told then", x.take(), []string{"back", "live"})
	})
}

// TestKeeperUnsure: after a write with an unknown end, a key that is wanted no more is taken away.
func TestKeeperUnsure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		w := &faulty{World: inner, lose: true}
		var x told
		k, end := keeper(t, w, &x)
		defer end()
		k.Set("g", values("a=1", "b=1"))
		synctest.Wait()
		want(t, "with a lost answer", keys(t, inner), []string{"a=1", "b=1"})
		k.Set("g", values("a=2"))
		w.alter(func() { w.lose = false })
		time.Sleep(time.Minute)
		want(t, "then", keys(t, inner), []string{"a=2"})
	})
}

// TestFollowDeaf: a store that lists and does not watch is asked less and less often.
func TestFollowDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &faulty{World: memory.New(), deaf: true}
		s := hosts.Store{World: w, Clock: clock.System{}}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		for range s.Follow(ctx, "a/") {
		}
		if w.list > 40 {
			t.Errorf("%d lists in 100 s", w.list)
		}
	})
}

// leasing remembers the last lease.
type leasing struct {
	world.World
	last world.Lease
}

func (l *leasing) Lease(ctx context.Context, ttl time.Duration) (world.Lease, error) {
	lease, err := l.World.Lease(ctx, ttl)
	l.last = lease
	return lease, err
}

// TestClosed: a closed World ends Follow and Keeper, and neither tries again for ever.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		var x told
		_, end := keeper(t, w, &x)
		s := hosts.Store{World: w, Clock: clock.System{}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range s.Follow(t.Context(), "a") {
			}
		}()
		synctest.Wait()
		if err := errors.Join(w.Close()); err != nil {
			t.Error(err)
		}
		<-done
		end()
	})
}

// TestMembers: the live hosts, also those whose record cannot be read.
func TestMembers(t *testing.T) {
	w := memory.New()
	for _, name := range []string{"b/ü", "a"} {
		kv, err := hosts.MemberKeys(hosts.Member{Name: name, State: hosts.MemberState{OK: 3}})
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range kv {
			put(t, w, key+"="+string(value))
		}
	}
	put(t, w, "hosts/broken={", "hosts/%zz=x")
	list, err := hosts.Members(t.Context(), w)
	var got []string
	for _, m := range list {
		got = append(got, fmt.Sprintf("%s %d", m.Name, m.State.OK))
	}
	want(t, "the hosts", got, []string{"a 3", "b/ü 3", "broken 0"})
	if err != nil {
		t.Error(err)
	}
}

// TestTopics: the words of export, and the topics of a host, mean the same.
func TestTopics(t *testing.T) {
	var got []string
	for _, word := range []string{"*", "web1", "host:web1", "group:db"} {
		got = append(got, hosts.TopicOf(word))
	}
	want(t, "topics", got, []string{"all", "host:web1", "host:web1", "group:db"})
	want(t, "of a host", hosts.Topics("web1", []string{"db"}), []string{"all", "host:web1", "group:db"})
}
