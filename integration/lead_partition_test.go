package integration_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/schedule"
	"github.com/reactivegraph/mgmt/traits"
)

// TestFindingR1Partitions: three hosts want to lead, and the way of one after the other to etcd holds all packets back for a random time, which may
// be longer than the lease. Every run of a resource of the leader begins while the store has the host's own record, under a lease that it holds.
func TestFindingR1Partitions(t *testing.T) {
	t.Parallel()
	trios, partitions := 5, 40
	if testing.Short() {
		trios, partitions = 1, 6
	}
	for seed := range trios {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			holdsBack(t, uint64(seed), partitions)
		})
	}
}

func holdsBack(t *testing.T, seed uint64, partitions int) {
	const lease = 2 * time.Second
	server := startEtcd(t)
	direct := openEtcd(t, server.client)
	var links []*stallingLink
	var probes []*leadProbe
	for i := range 3 {
		link := newStallingLink(t, server.client)
		p := &leadProbe{host: fmt.Sprint("h", i), world: openEtcd(t, link.l.Addr().String()), direct: direct}
		p.begin(t, lease)
		links, probes = append(links, link), append(probes, p)
	}
	starts := func() (n int64) {
		for _, p := range probes {
			n += p.starts.Load()
		}
		return n
	}
	goesOn := func() {
		t.Helper()
		if before := starts(); !await.Eventually(func() bool { return starts() > before }) {
			t.Fatal("nobody leads")
		}
	}
	goesOn()
	r := rand.New(rand.NewPCG(seed, 1))
	for range partitions {
		i := r.IntN(len(links))
		links[i].stall(true)
		wake, stop := clock.After(clock.System{}, time.Duration(r.Int64N(int64(2*lease))))
		<-wake
		stop()
		links[i].stall(false)
	}
	goesOn()
	for _, p := range probes {
		if n := p.outside.Load(); n > 0 {
			t.Errorf("%s began %d of %d runs outside of its own lease: %s", p.host, n, p.starts.Load(), *p.why.Load())
		}
	}
}

func openEtcd(t *testing.T, endpoint string) *etcd.World {
	t.Helper()
	w, err := etcd.Open(t.Context(), etcd.Options{Endpoints: []string{endpoint}, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() }) // a lease that cannot be revoked ends by itself
	return w
}

// leadProbe is a host whose graph has a resource on the leader alone, which looks at the store whenever a run of it begins.
type leadProbe struct {
	host          string
	world, direct world.World
	machine       engine.Host // nil for that of the test
	starts        atomic.Int64
	outside       atomic.Int64
	why           atomic.Pointer[string]
	last          world.Lease // of the run before
}

func (p *leadProbe) begin(t *testing.T, lease time.Duration) {
	t.Helper()
	kinds := engine.NewRegistry()
	for name, make := range map[string]func() engine.Res{
		"schedule": func() engine.Res { return (&schedule.Res{}).Default() },
		"probe":    func() engine.Res { return &probeRes{p: p} },
	} {
		if err := kinds.Register(name, make); err != nil {
			t.Fatal(err)
		}
	}
	graph := filepath.Join(t.TempDir(), "graph.yaml")
	const text = `resources:
  schedule: [{name: lead}]
  probe: [{name: p, when: "${{ scheduled('lead') }}", meta: {poll: 100ms}}]
`
	if err := os.WriteFile(graph, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e, err := mgmt.Open(ctx, mgmt.Options{Hostname: p.host, Host: p.machine, World: mgmt.Share(p.world), Lease: lease, Registry: kinds, Logger: slog.New(slog.DiscardHandler)}, yaml.New(graph, yaml.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := e.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// look judges the start of a run. What the store says is an answer to a later moment, so it counts where it came within the end of the lease.
func (p *leadProbe) look(ctx context.Context) {
	p.starts.Add(1)
	if p.last != nil && p.last.Holds() {
		return
	}
	began := time.Now()
	kv, err := p.direct.Get(ctx, hosts.ScheduleKey(hosts.All, "lead", p.host))
	own := p.world.Held(kv.Lease)
	switch {
	case err == nil && own != nil:
		p.last = own
	case time.Since(began) < 300*time.Millisecond && ctx.Err() == nil:
		p.outside.Add(1)
		p.why.Store(new(fmt.Sprintf("the store has its record under the lease %q, %v", kv.Lease, err)))
	}
}

type probeRes struct {
	traits.Base
	p *leadProbe
}

func (r *probeRes) Default() engine.Res         { return &probeRes{p: r.p} }
func (r *probeRes) Validate() error             { return nil }
func (r *probeRes) Init(*engine.Init) error     { return nil }
func (r *probeRes) Cleanup() error              { return nil }
func (r *probeRes) Watch(context.Context) error { return nil } // it is polled
func (r *probeRes) Cmp(engine.Res) error        { return nil }

func (r *probeRes) CheckApply(ctx context.Context, _ bool) (bool, error) {
	r.p.look(ctx)
	return true, nil
}

// stallingLink is a way to a server that can hold back all that goes over it, as a network does that loses packets: the connections stay.
type stallingLink struct {
	l    net.Listener
	mu   sync.Mutex
	held chan struct{} // closed while the packets go
	work sync.WaitGroup
}

func newStallingLink(t *testing.T, to string) *stallingLink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &stallingLink{l: l, held: make(chan struct{})}
	close(k.held)
	ctx, cancel := context.WithCancel(context.Background())
	k.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			k.work.Go(func() { k.join(ctx, c, to) })
		}
	})
	t.Cleanup(func() {
		k.stall(false)
		cancel()
		_ = l.Close()
		k.work.Wait()
	})
	return k
}

// stall holds the packets back, or lets them go.
func (k *stallingLink) stall(on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.held:
		if on {
			k.held = make(chan struct{})
		}
	default:
		if !on {
			close(k.held)
		}
	}
}

func (k *stallingLink) join(ctx context.Context, c net.Conn, to string) {
	defer c.Close()
	s, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer s.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close(); _ = s.Close() })()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{c, s}, {s, c}} {
		both.Go(func() {
			_, _ = io.Copy(&gate{k, way[1]}, way[0])
			_ = c.Close()
			_ = s.Close()
		})
	}
	both.Wait()
}

// gate writes when the packets go.
type gate struct {
	k  *stallingLink
	to io.Writer
}

func (g *gate) Write(b []byte) (int, error) {
	g.k.mu.Lock()
	held := g.k.held
	g.k.mu.Unlock()
	<-held
	return g.to.Write(b)
}
