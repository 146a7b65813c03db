package hosts_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// counted counts the keys that are listed.
type counted struct {
	world.World
	mu sync.Mutex
	n  int
}

func (c *counted) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	p, err := c.World.List(ctx, prefix, o)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += len(p.KVs)
	return p, err
}

// read returns how many keys were listed since the last call.
func (c *counted) read() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, c.n = c.n, 0
	return n
}

// write puts keys, or deletes them where the value is nil, as any program may.
func write(t *testing.T, w world.World, value []byte, keys ...string) {
	t.Helper()
	var ops []world.Op
	size := 0
	flush := func() {
		if _, _, err := w.Txn(t.Context(), nil, ops); err != nil {
			t.Fatal(err)
		}
		ops, size = nil, 0
	}
	for _, key := range keys {
		if len(ops) == w.Limits().Ops || size+len(key)+len(value) > w.Limits().Bytes {
			flush()
		}
		ops, size = append(ops, world.Op{Key: key, Value: value, Delete: value == nil}), size+len(key)+len(value)
	}
	flush()
}

// names returns keys of exports.
func names(host string, from, n int) (keys []string) {
	for i := from; i < from+n; i++ {
		keys = append(keys, fmt.Sprintf("exports/all/%s/value/%06d", host, i))
	}
	return keys
}

// TestFindingH2Quota: of a host that exports without a bound, a part counts and is read, and the log names the host once. The exports of all other hosts
// count, those before it and behind it, and their changes. What has room again counts a minute later.
func TestFindingH2Quota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := memory.New(memory.WithHistory(1 << 20))
		defer open.Close()
		w := &counted{World: open}
		write(t, open, []byte("{}"), names("foe", 0, 3*hosts.MaxExports)...)
		write(t, open, []byte("{}"), append(names("early", 0, 3), names("good", 0, 3)...)...)
		large := make([]byte, 1<<20)
		write(t, open, large, names("heavy", 0, 40)...)
		var mu sync.Mutex
		var told []string
		seen := map[string]bool{}
		s := hosts.Store{World: w, Clock: clock.System{}, Over: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if over, ok := errors.AsType[*hosts.QuotaError](err); !ok || over.Topic != "all" || !strings.Contains(err.Error(), "mgmt hosts remove") {
				t.Error(err)
			} else {
				told = append(told, over.Host)
			}
		}}
		go func() {
			for c := range s.Follow(t.Context(), hosts.ExportPrefix(hosts.All)) {
				mu.Lock()
				if c.Whole {
					clear(seen)
				}
				for _, u := range c.Updates {
					if seen[u.Key] = true; u.Deleted {
						delete(seen, u.Key)
					}
				}
				mu.Unlock()
			}
		}()
		wants := func(when string, want map[string]int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			got := map[string]int{}
			for key := range seen {
				got[strings.Split(key, "/")[2]]++
			}
			for host, n := range want {
				if got[host] != n {
					t.Errorf("%s: %d exports of %s count, want %d", when, got[host], host, n)
				}
			}
			if fmt.Sprint(told) != "[foe heavy]" {
				t.Errorf("%s: told are %v", when, told)
			}
		}
		wants("at first", map[string]int{"early": 3, "foe": hosts.MaxExports, "good": 3, "heavy": 3})
		if n := w.read(); n > hosts.MaxExports+3000 {
			t.Errorf("%d keys were read", n)
		}
		write(t, open, []byte("{}"), names("foe", 3*hosts.MaxExports, 1000)...)
		write(t, open, []byte("{}"), names("good", 3, 2)...)
		write(t, open, make([]byte, 1<<20+1<<19-1<<15), names("heavy", 0, 3)...) // the last one has no room
		wants("changes", map[string]int{"early": 3, "foe": hosts.MaxExports, "good": 5, "heavy": 2})
		write(t, open, nil, names("foe", 0, 3*hosts.MaxExports+995)...)
		write(t, open, nil, names("early", 0, 1)...)
		wants("taken back", map[string]int{"early": 2, "foe": 0, "good": 5})
		w.read()
		time.Sleep(2 * time.Minute)
		wants("later", map[string]int{"early": 2, "foe": 5, "good": 5, "heavy": 2})
		if n := w.read(); n == 0 || n > 3000 {
			t.Errorf("%d keys were read again", n)
		}
		told = told[:0]
		write(t, open, []byte("{}"), names("foe", 0, 2*hosts.MaxExports)...)
		write(t, open, large, names("heavy", 100, 5)...)
		time.Sleep(time.Minute)
		synctest.Wait()
		if fmt.Sprint(told) != "[foe]" {
			t.Errorf("a host that has too much again: told are %v", told)
		}
	})
}

// TestFindingH2QuotaOfDropped: the exports of a host are dropped page by page, however many there are.
func TestFindingH2QuotaOfDropped(t *testing.T) {
	w := memory.New()
	defer w.Close()
	write(t, w, []byte("{}"), names("foe", 0, 2500)...)
	write(t, w, []byte("{}"), names("good", 0, 2)...)
	n, err := (hosts.Store{World: w, Clock: clock.System{}}).DropExports(t.Context(), "foe")
	if err != nil || n != 2500 {
		t.Error(n, err)
	}
	if p, err := w.List(t.Context(), "exports/", world.ListOptions{}); err != nil || len(p.KVs) != 2 {
		t.Error(len(p.KVs), err)
	}
}

// TestFindingH2QuotaOfOwn: a host that exports more than others take over says so itself, once, and again when it has been less meanwhile.
func TestFindingH2QuotaOfOwn(t *testing.T) {
	w := memory.New()
	defer w.Close()
	var log bytes.Buffer
	p := hosts.NewPublisher(hosts.PublisherOptions{
		World: w, Clock: clock.System{}, Lease: time.Minute, Host: "me", Facts: func() engine.Facts { return engine.Facts{} }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	part := func(name string, tags int, told bool) {
		t.Helper()
		c := newCrate(name, "group:web")
		c.Label = strings.Repeat("x", tags)
		log.Reset()
		p.Part(map[string]*resgraph.Vertex{"crate[" + name + "]": {Res: c}}, nil)
		if got := log.String(); told != strings.Contains(got, "the host \\\"me\\\" exports more to the topic \\\"group:web\\\"") || !told && got != "" {
			t.Errorf("%s with %d: it says %q", name, tags, got)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		part(name, 1<<20, false)
	}
	part("d", 1<<20, true)
	part("e", 1<<20, false)
	part("d", 1, false)
	part("e", 1, false)
	part("e", 1<<20, true)
}

// TestFindingH11Schedules: a topic with more candidates than hosts read has no choice, at first and later, and the log says so. A minute after there is room
// the choice comes.
func TestFindingH11Schedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New(memory.WithHistory(1 << 20))
		defer w.Close()
		value, large := []byte(`{"strategy":"alpha","count":1}`), make([]byte, 1<<20)
		key := func(i int) string { return hosts.ScheduleKey("all", "t", fmt.Sprintf("foe%02d", i)) }
		var flood []string
		for i := range hosts.MaxSharedBytes>>20 + 1 {
			flood = append(flood, key(i))
		}
		write(t, w, large, flood...)
		write(t, w, value, hosts.ScheduleKey("all", "s", "good"))
		var mu sync.Mutex
		var told []error
		var chosen []string
		tell := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, err)
		}
		place := hosts.NewScheduler(hosts.Store{World: w, Clock: clock.System{}}, "me", time.Minute).Place("all", "s")
		go func() {
			for c := range place.Follow(t.Context(), tell) {
				mu.Lock()
				chosen = append(chosen, strings.Join(c.Hosts, ","))
				mu.Unlock()
			}
		}()
		wants := func(when, want string, losses int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(chosen, " "); got != want || len(told) != losses {
				t.Errorf("%s: chosen are %q, want %q; told is %v", when, got, want, told)
			}
		}
		wants("too much at first", "", 1)
		var full *hosts.FullError
		if _, err := place.Ask(t.Context()); !errors.As(err, &full) || !errors.As(told[0], &full) {
			t.Error(err)
		}
		write(t, w, nil, flood...)
		time.Sleep(time.Minute)
		wants("room", "good", 2)
		write(t, w, large, flood...)
		wants("too much later", "good", 3)
		write(t, w, nil, append(flood, hosts.ScheduleKey("all", "s", "good"))...)
		time.Sleep(time.Minute)
		wants("room again", "good ", 4)
	})
}

// TestFindingH11Semaphore: a semaphore with more requests than hosts read gives no place, and the log says so. A place comes once there is room.
func TestFindingH11Semaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New(memory.WithHistory(1 << 20))
		defer w.Close()
		var flood []string
		for i := range hosts.MaxSharedBytes>>20 + 1 {
			flood = append(flood, fmt.Sprintf("semaphores/all/reboot:2/foe%02d", i))
		}
		write(t, w, make([]byte, 1<<20), flood...)
		told := make(chan error, 10)
		got := make(chan error, 1)
		s := hosts.Store{World: w, Clock: clock.System{}, Tell: func(err error) { told <- err }}
		go func() {
			_, err := s.Acquire(t.Context(), 10*time.Minute, reboot, "me")
			got <- err
		}()
		synctest.Wait()
		var full *hosts.FullError
		if len(got) != 0 || len(told) != 1 || !errors.As(<-told, &full) {
			t.Fatalf("%d got, %d told", len(got), len(told))
		}
		write(t, w, nil, flood...)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(got) != 1 || len(told) != 1 || <-got != nil || <-told != nil {
			t.Errorf("%d got, %d told", len(got), len(told))
		}
	})
}
