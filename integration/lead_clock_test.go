package integration_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/internal/await"
)

// jumpingClock is the clock of a machine whose wall time somebody sets, and which is suspended. Its timers and its monotonic time go by neither.
type jumpingClock struct {
	begin       time.Time
	wall, slept atomic.Int64 // nanoseconds
}

// Now implements clock.Clock. Package time has no way to alter the wall time alone: the seconds of a time with a monotonic part stand above the 30 bits
// of its nanoseconds.
func (c *jumpingClock) Now() time.Time {
	t := time.Now()
	secs := (c.wall.Load() + c.slept.Load()) / int64(time.Second)
	*(*uint64)(unsafe.Pointer(&t)) += uint64(secs << 30)
	return t
}

func (c *jumpingClock) AfterFunc(d time.Duration, f func()) func() bool {
	return clock.System{}.AfterFunc(d, f)
}

// uptime is the time since boot.
func (c *jumpingClock) uptime() time.Duration {
	return time.Since(c.begin) + time.Duration(c.slept.Load())
}

// TestFindingR1ClockJumps: the wall clocks of hosts that lead jump forward and back, and the machines are suspended for a while, as far as their own clocks
// tell. Each run of a resource of the leader begins under its own lease, and after each jump somebody leads.
func TestFindingR1ClockJumps(t *testing.T) {
	t.Parallel()
	jumps := 40
	if testing.Short() {
		jumps = 8
	}
	const lease = 2 * time.Second
	back := &jumpingClock{}
	back.wall.Store(int64(-time.Hour))
	if now, set := time.Now(), back.Now(); set.Sub(now) < 0 || set.Unix()-now.Unix() > -3590 {
		t.Fatalf("the wall time and the monotonic time can't be told apart: %v, %v", now, set)
	}
	for _, c := range []struct {
		name  string
		hosts int
		open  func(*testing.T) func(*jumpingClock) (own, direct world.World)
	}{
		{"etcd", 2, func(t *testing.T) func(*jumpingClock) (own, direct world.World) {
			server := startEtcd(t)
			direct := openEtcd(t, server.client)
			return func(c *jumpingClock) (world.World, world.World) {
				w, err := etcd.Open(t.Context(), etcd.Options{Endpoints: []string{server.client}, Timeout: time.Second, Clock: c, Uptime: c.uptime})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = w.Close() })
				return w, direct
			}
		}},
		{"bolt", 1, func(t *testing.T) func(*jumpingClock) (own, direct world.World) {
			return func(c *jumpingClock) (world.World, world.World) {
				w, err := bolt.Open(filepath.Join(t.TempDir(), "world"), bolt.Options{Clock: c})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = w.Close() })
				return w, w
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			open := c.open(t)
			var probes []*leadProbe
			var clocks []*jumpingClock
			for i := range c.hosts {
				clock := &jumpingClock{begin: time.Now()}
				machine, err := host.New(t.Context(), host.Options{Clock: clock})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = machine.Close() })
				p := &leadProbe{host: fmt.Sprint("h", i), machine: machine}
				p.world, p.direct = open(clock)
				p.begin(t, lease)
				probes, clocks = append(probes, p), append(clocks, clock)
			}
			starts := func() (n int64) {
				for _, p := range probes {
					n += p.starts.Load()
				}
				return n
			}
			r := rand.New(rand.NewPCG(2, 1))
			for range jumps {
				clock := clocks[r.IntN(len(clocks))]
				what, by := r.IntN(3), r.Int64N(int64(2*time.Hour))
				switch what {
				case 0:
					clock.wall.Add(by)
				case 1:
					clock.wall.Add(-by)
				default:
					clock.slept.Add(by % int64(3*lease))
				}
				before := starts()
				await.Until(t, fmt.Sprint("a run of a leader after the jump ", what, " by ", time.Duration(by)), func() bool { return starts() > before+2 })
			}
			for _, p := range probes {
				if n := p.outside.Load(); n > 0 {
					t.Errorf("%s began %d of %d runs outside of its own lease: %s", p.host, n, p.starts.Load(), *p.why.Load())
				}
			}
		})
	}
}
