package deployed_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/deployed"
	"github.com/reactivegraph/mgmt/internal/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a store with one operator.
type rig struct {
	t     *testing.T
	world *memory.World
	store deploy.Store
	id    string
	key   deploy.Key
}

func newRig(t *testing.T) *rig {
	k, err := deploy.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return newRigOf(t, k, "s1")
}

// newRigOf makes a store with an id, or where that is empty one as an older mgmt leaves it.
func newRigOf(t *testing.T, k deploy.Key, id string) *rig {
	w := memory.New()
	t.Cleanup(func() { _ = w.Close() })
	r := &rig{t, w, deploy.Store{World: w}, cmp.Or(id, "s1"), k}
	if id == "" {
		return r
	}
	if err := r.store.Found(t.Context(), k, r.fleet(), id, "me", time.Now()); err != nil {
		t.Fatal(err)
	}
	return r
}

// fleet reads the records of the operator.
func (r *rig) fleet() *deploy.Fleet {
	r.t.Helper()
	f, err := r.store.Fleet(r.t.Context(), []deploy.Public{r.key.Public()})
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// order makes an order of a text. The graph of a text is a resource of that name; see load.
func (r *rig) order(text string) deploy.Order {
	b := &deploy.Bundle{Graphs: []string{"g"}, Files: []deploy.File{{Name: "g", Data: []byte(text)}}}
	content, digest, err := b.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	return deploy.Order{Store: r.id, Topic: "all", Content: content, Digest: digest, Graphs: b.Graphs, By: "me", MaxFailed: 1, Batch: "1"}
}

func load(b *deploy.Bundle, env gapi.Env) gapi.Reading {
	text := string(b.Files[0].Data)
	reads := strings.HasPrefix(text, "facts")
	if reads {
		text += env.Host.Facts().Hostname
	}
	return gapi.Reading{Facts: reads, State: text, Result: func() (*gapi.Declared, error) {
		if strings.HasPrefix(text, "unreadable") || strings.HasSuffix(text, "unreadable") {
			return nil, errors.New("this is no graph")
		}
		return &gapi.Declared{Resources: []gapi.Declaration{{Kind: "noop", Name: text}}}, nil
	}}
}

// put writes an order. Without hosts its rollout is done at once.
func (r *rig) put(text string) *deploy.Lead {
	r.t.Helper()
	l, err := r.store.Begin(r.t.Context(), r.key, r.order(text))
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := l.Step(r.t.Context(), nil, nil, nil); err != nil {
		r.t.Fatal(err)
	}
	return l
}

// set writes a key as a foe with access to the store does.
func (r *rig) set(key string, value any) {
	r.t.Helper()
	text, ok := value.([]byte)
	if !ok {
		var err error
		if text, err = json.Marshal(value); err != nil {
			r.t.Fatal(err)
		}
	}
	if _, _, err := r.world.Txn(r.t.Context(), nil, []world.Op{{Key: key, Value: text}}); err != nil {
		r.t.Fatal(err)
	}
}

// host is a host: an engine that takes any graph but one named bad, and reports.
type host struct {
	*rig
	name string
	end  func()

	reload  chan struct{} // asks for the graph again
	facts   *factHost
	trusted atomic.Pointer[[]deploy.Public]
	judged  atomic.Int64
	resumed atomic.Bool // a held graph may go on
	mu      sync.Mutex
	graph   string
}

// factHost has a fact that a test alters.
type factHost struct {
	engine.Host
	mu   sync.Mutex
	name string
	wake chan struct{}
}

func (h *factHost) Facts() engine.Facts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return engine.Facts{Hostname: h.name}
}

func (h *factHost) WatchFacts(context.Context) (events.Subscription, error) {
	return factWatch{h.wake}, nil
}

type factWatch struct{ wake chan struct{} }

func (w factWatch) C() <-chan struct{}  { return w.wake }
func (w factWatch) Cause() events.Cause { return events.Cause{} }
func (w factWatch) Close()              {}

// set alters the fact.
func (h *factHost) set(name string) {
	h.mu.Lock()
	h.name = name
	h.mu.Unlock()
	h.wake <- struct{}{}
}

// start starts a host, which ends with the test.
func (r *rig) start(name, dir string, trusted ...deploy.Public) *host {
	h := &host{rig: r, name: name, reload: make(chan struct{}, 1), facts: &factHost{wake: make(chan struct{}, 1)}}
	if trusted == nil {
		trusted = []deploy.Public{r.key.Public()}
	}
	h.trusted.Store(&trusted)
	f := deployed.New(deployed.Options{
		World: r.world, Host: name, Topic: "all", Trusted: func() []deploy.Public { return *h.trusted.Load() }, Dir: dir, Load: load, Pin: r.pin(h, dir),
	})
	report := deployed.Reporter{
		World: r.world, Host: name, Fronts: []*deployed.Frontend{f}, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Stand: h.stand,
	}
	report.Init()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { report.Run(ctx) })
	wg.Go(func() {
		for d, err := range f.Graphs(ctx, gapi.Env{Reload: h.reload, Host: h.facts}) {
			if err == nil {
				h.judge(d)
				report.Touch()
			}
		}
	})
	h.end = sync.OnceFunc(func() { cancel(); wg.Wait() })
	r.t.Cleanup(h.end)
	return h
}

// pin opens the pin of a host as a daemon does.
func (r *rig) pin(h *host, dir string) *deploy.Pin {
	o := deploy.PinOptions{Host: h.name, Trusted: func() []deploy.Public { return *h.trusted.Load() }}
	if dir != "" {
		o.Path = filepath.Join(dir, "store.json")
		_, err := os.Stat(filepath.Join(dir, "all.json"))
		o.Old = err == nil
	}
	return deploy.OpenPin(o)
}

// judge is the engine.
func (h *host) judge(d *gapi.Declared) {
	h.judged.Add(1)
	name := ""
	if len(d.Resources) > 0 {
		name = d.Resources[0].Name
	}
	var err error
	var left []gapi.Left
	switch {
	case name == "bad":
		err = errors.New("the engine refuses it")
	case name == "held" && !h.resumed.Load():
		err = errors.New("it removes too much")
	default:
		h.mu.Lock()
		if h.graph != name {
			left = []gapi.Left{{Resource: "noop[" + cmp.Or(h.graph, "earlier") + "]", Undone: name == "undoes"}}
		}
		h.graph = name
		h.mu.Unlock()
	}
	if d.Done != nil {
		d.Done(gapi.Outcome{Err: err, Held: err != nil && name == "held", Left: left})
	}
}

func (h *host) stand(context.Context) (deployed.Stand, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := deployed.Stand{Rests: true, Failed: map[string]string{"noop[other]": "no concern of this deploy"}}
	if strings.HasPrefix(h.graph, "fails") {
		s.Failed["noop["+h.graph+"]"] = "it fails"
	}
	return s, nil
}

func (h *host) report() deploy.Standing {
	list, err := h.store.Reports(context.Background())
	if err != nil {
		return deploy.Standing{}
	}
	for _, r := range list {
		if r.Host == h.name {
			return r.Deploys["all"]
		}
	}
	return deploy.Standing{}
}

// wants waits until the host has a graph, and a report with this number, this state and this code.
func (h *host) wants(graph string, number int64, state, code string) {
	h.t.Helper()
	var got string
	want := fmt.Sprint(graph, " ", number, " ", state, " ", code)
	for end := time.Now().Add(await.Left()); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		h.mu.Lock()
		graph := h.graph
		h.mu.Unlock()
		st := h.report()
		if got = fmt.Sprint(graph, " ", st.Number, " ", st.State, " ", st.Code); got == want {
			return
		}
	}
	h.t.Fatalf("the host %s has %s, want %s: %+v", h.name, got, want, h.report())
}

// TestTake: a deploy takes effect, the next one too, and an old one under a new number.
func TestTake(t *testing.T) {
	r := newRig(t)
	h := r.start("h", t.TempDir())
	r.put("one")
	h.wants("one", 1, deploy.StateConverged, "")
	r.put("two")
	h.wants("two", 2, deploy.StateConverged, "")
	r.put("one")
	h.wants("one", 3, deploy.StateConverged, "")
	r.put("fails")
	h.wants("fails", 4, deploy.StateFailed, "")
}

// TestTrustChanges: a key that comes is trusted after a reload, and the deploy that was refused for it is taken. A key that goes is
// trusted no more, also not by a restart.
func TestTrustChanges(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	first := r.key
	second, err := deploy.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	h := r.start("h", dir)
	r.put("one")
	h.wants("one", 1, deploy.StateConverged, "")
	r.key = second
	r.put("two")
	h.wants("one", 1, deploy.StateConverged, "untrusted_key")
	h.trusted.Store(&[]deploy.Public{second.Public()})
	h.reload <- struct{}{}
	h.wants("two", 2, deploy.StateConverged, "")
	r.key = first
	r.put("three")
	h.wants("two", 2, deploy.StateConverged, "untrusted_key")
	h.end()
	h = r.start("h", dir, first.Public()) // without the key of the deploy in effect
	h.wants("three", 3, deploy.StateConverged, "")
}

// TestForged: whatever a user of the store writes, the host keeps its deploy, says why, and takes the next good one.
func TestForged(t *testing.T) {
	const number = "deploys/all/record/000000000002"
	foe, err := deploy.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	next := deploy.Rollout{Number: 2, State: deploy.Done}
	sign := func(r *rig, k deploy.Key, alter func(*deploy.Manifest)) deploy.Record {
		o := r.order("two")
		parts, err := r.store.PutContent(r.t.Context(), "all", o.Digest, o.Content)
		if err != nil {
			r.t.Fatal(err)
		}
		m := deploy.Manifest{Store: "s1", Topic: "all", Number: 2, Digest: o.Digest, Size: len(o.Content), Parts: parts}
		alter(&m)
		record, err := k.Sign(m)
		if err != nil {
			r.t.Fatal(err)
		}
		return record
	}
	tests := map[string]struct {
		forge func(*rig)
		code  string
	}{
		"no record":    {func(r *rig) {}, "bad_record"},
		"no JSON":      {func(r *rig) { r.set(number, []byte("{")) }, "bad_record"},
		"another key":  {func(r *rig) { r.set(number, sign(r, foe, func(*deploy.Manifest) {})) }, "untrusted_key"},
		"other topic":  {func(r *rig) { r.set(number, sign(r, r.key, func(m *deploy.Manifest) { m.Topic = "host:x" })) }, "wrong_topic"},
		"other number": {func(r *rig) { r.set(number, sign(r, r.key, func(m *deploy.Manifest) { m.Number = 1 })) }, "bad_signature"},
		"other size":   {func(r *rig) { r.set(number, sign(r, r.key, func(m *deploy.Manifest) { m.Size++ })) }, "bad_content"},
		"a part short": {func(r *rig) { r.set(number, sign(r, r.key, func(m *deploy.Manifest) { m.Parts++ })) }, "bad_content"},
		"altered content": {func(r *rig) {
			record := sign(r, r.key, func(*deploy.Manifest) {})
			r.set(number, record)
			m, _ := record.Read()
			page, err := r.world.List(r.t.Context(), "contents/", world.ListOptions{})
			if err != nil {
				r.t.Fatal(err)
			}
			for _, kv := range page.KVs {
				if strings.Contains(kv.Key, m.Digest[7:]) {
					r.set(kv.Key, []byte(strings.Replace(string(kv.Value), "g", "h", 1)))
				}
			}
		}, "bad_content"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			h := r.start("h", t.TempDir())
			r.put("one")
			h.wants("one", 1, deploy.StateConverged, "")
			test.forge(r)
			r.set(deploy.RolloutKey("all"), next)
			h.wants("one", 1, deploy.StateConverged, test.code)
			r.put("three")
			h.wants("three", 3, deploy.StateConverged, "")
		})
	}
}

// TestReplay: an older deploy with a good signature is refused while the host runs, and after a restart.
func TestReplay(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	h := r.start("h", dir)
	r.put("one")
	r.put("two")
	h.wants("two", 2, deploy.StateConverged, "")
	r.set(deploy.RolloutKey("all"), deploy.Rollout{Number: 1, State: deploy.Done})
	h.wants("two", 2, deploy.StateConverged, "old_number")
	h.end()
	h = r.start("h", dir)
	h.wants("two", 2, deploy.StateConverged, "old_number")
}

// TestBadGraph: a graph that cannot be read, and one that the engine refuses, leave the last good one in effect.
func TestBadGraph(t *testing.T) {
	r := newRig(t)
	h := r.start("h", "")
	r.put("one")
	h.wants("one", 1, deploy.StateConverged, "")
	r.put("unreadable")
	h.wants("one", 1, deploy.StateConverged, "bad_graph")
	r.put("bad")
	for h.report().Refused < 3 {
		time.Sleep(time.Millisecond)
	}
	h.wants("one", 1, deploy.StateConverged, "bad_graph")
	if st := h.report(); st.Refused != 3 || !strings.Contains(st.Error, "the engine refuses it") {
		t.Errorf("the report is %+v", st)
	}
	r.put("two")
	h.wants("two", 4, deploy.StateConverged, "")
}

// TestWithoutStore: after a restart the last deploy is in effect, also where the store is gone; a damaged file is none.
func TestWithoutStore(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	h := r.start("h", dir)
	r.put("one")
	h.wants("one", 1, deploy.StateConverged, "")
	h.end()
	empty := newRig(t)
	empty.key = r.key
	h = empty.start("h", dir)
	h.wants("one", 1, deploy.StateConverged, "")
	h.end()
	path := filepath.Join(dir, "all.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v: %v", info, err)
	}
	for _, damaged := range []string{"", string(text[:len(text)/2]), strings.Replace(string(text), `"number":1`, `"number":2`, 1), strings.Replace(string(text), "signature\":\"", "signature\":\"AAAA", 1)} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		h := empty.start("h", dir)
		h.wants("", 0, deploy.StateTaken, map[bool]string{true: "bad_signature", false: "bad_record"}[len(damaged) >= len(text)])
		h.end()
	}
}

// TestFleet: over several hosts, the batches go one after the other, stop where a host fails, and go on.
func TestFleet(t *testing.T) {
	r := newRig(t)
	var hosts []*host
	var live []string
	for _, name := range []string{"a", "b", "c", "d"} {
		hosts = append(hosts, r.start(name, ""))
		live = append(live, name)
	}
	for _, h := range hosts {
		for h.reported() {
			time.Sleep(time.Millisecond)
		}
	}
	o := r.order("one")
	o.Batch = "50%"
	l, err := r.store.Begin(t.Context(), r.key, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.drive(l, live); got != "ab abcd  done" {
		t.Errorf("the batches are %q", got)
	}
	o = r.order("fails")
	o.Batch = "1"
	if l, err = r.store.Begin(t.Context(), r.key, o); err != nil {
		t.Fatal(err)
	}
	if got := r.drive(l, live); got != "a a stopped" {
		t.Errorf("the batches are %q", got)
	}
	hosts[0].wants("fails", 2, deploy.StateFailed, "")
	hosts[3].wants("one", 1, deploy.StateConverged, "")
	late := r.start("late", "")
	late.wants("one", 1, deploy.StateConverged, "")
	o.MaxFailed, o.By = 9, "another operator"
	if l, err = r.store.Begin(t.Context(), r.key, o); err != nil || !l.Resumed {
		t.Fatal(l, err)
	}
	if got := r.drive(l, live); !strings.HasSuffix(got, "abcd  done") {
		t.Errorf("the batches are %q", got)
	}
	late.wants("fails", 2, deploy.StateFailed, "")
}

// reported reports whether the host has still to write its first report.
func (h *host) reported() bool {
	_, err := h.world.Get(h.t.Context(), deploy.ReportKey(h.name))
	return err != nil
}

// drive leads a rollout to its end, and returns the batches.
func (r *rig) drive(l *deploy.Lead, live []string) string {
	r.t.Helper()
	var batches []string
	for end := time.Now().Add(await.Left()); l.Rollout.State == deploy.Running; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("the rollout stands at %+v", l.Rollout)
		}
		reports, err := r.store.Reports(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		moved, err := l.Step(r.t.Context(), live, reports, nil)
		if err != nil {
			r.t.Fatal(err)
		}
		if moved {
			batches = append(batches, strings.Join(l.Rollout.Hosts, ""))
		}
	}
	return strings.Join(append(batches, string(l.Rollout.State)), " ")
}

// TestRefusedAtStart: a host whose due deploy is refused at its start has the one before, and says so. Where that one is refused, too, the
// host has none.
func TestRefusedAtStart(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	h := r.start("h", dir)
	r.put("one")
	h.wants("one", 1, deploy.StateConverged, "")
	h.end()
	r.put("bad")
	h = r.start("h", dir)
	h.wants("one", 1, deploy.StateConverged, "bad_graph")
	r.put("two")
	h.wants("two", 3, deploy.StateConverged, "")
}

// TestFollowsFacts: a deploy whose graph reads facts is made anew when they change. Where the new graph is refused, the one before goes
// on, and the report says why; equal facts make no other graph.
func TestFollowsFacts(t *testing.T) {
	r := newRig(t)
	h := r.start("h", t.TempDir())
	h.facts.name = " one"
	r.put("facts")
	h.wants("facts one", 1, deploy.StateConverged, "")
	h.facts.set(" two")
	h.wants("facts two", 1, deploy.StateConverged, "")
	h.facts.set(" unreadable")
	h.wants("facts two", 1, deploy.StateConverged, "bad_graph")
	h.facts.set(" three")
	h.wants("facts three", 1, deploy.StateConverged, "")
	judged := h.judged.Load()
	h.facts.set(" three")
	h.facts.set(" three") // the first one was taken
	h.facts.set(" four")
	h.wants("facts four", 1, deploy.StateConverged, "")
	if n := h.judged.Load() - judged; n != 1 {
		t.Errorf("%d graphs for one change", n)
	}
}

// TestRefusedUntilAFactChanges: a deploy that a host refuses for one of its facts takes effect when the fact is another one, also where
// the host has had no deploy before, or one without facts.
func TestRefusedUntilAFactChanges(t *testing.T) {
	for _, before := range []string{"", "old"} {
		r := newRig(t)
		h := r.start("h", t.TempDir())
		h.facts.name = " unreadable"
		if before != "" {
			r.put(before)
			h.wants(before, 1, deploy.StateConverged, "")
		}
		number := r.put("facts").Rollout.Number
		h.wants(before, number-1, map[bool]string{true: deploy.StateConverged, false: deploy.StateTaken}[before != ""], "bad_graph")
		h.facts.set(" two")
		h.wants("facts two", number, deploy.StateConverged, "")
	}
}

// refusing is a World that lets a host read the rollouts, and no deploy.
type refusing struct {
	world.World
	lets atomic.Bool
	gets atomic.Int64
}

func (w *refusing) Get(ctx context.Context, key string) (world.KV, error) {
	if strings.HasPrefix(key, "deploys/") && !w.lets.Load() {
		w.gets.Add(1)
		return world.KV{}, fmt.Errorf("%w: permission denied", world.ErrRefused)
	}
	return w.World.Get(ctx, key)
}

// clockHost is a host with a clock of its own.
type clockHost struct {
	*factHost
	clock *enginetest.Clock
}

func (h clockHost) Clock() clock.Clock { return h.clock }

// TestRefusedByTheStore: a deploy that the store does not give is tried again and again, and the log says so once. It takes
// effect when the store gives it.
func TestRefusedByTheStore(t *testing.T) {
	r := newRig(t)
	r.put("one")
	w := &refusing{World: r.world}
	clock := enginetest.NewClock()
	f := deployed.New(deployed.Options{World: w, Host: "h", Topic: "all", Trusted: func() []deploy.Public { return []deploy.Public{r.key.Public()} }, Load: load})
	var log strings.Builder // written by the goroutine of the sequence alone: the store is never out of reach
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	defer cancel()
	env := gapi.Env{Host: clockHost{&factHost{wake: make(chan struct{}, 1)}, clock}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for ctx.Err() == nil {
			w.lets.Store(w.gets.Load() >= 5)
			clock.Advance(time.Second)
			time.Sleep(time.Millisecond)
		}
	})
	for d := range f.Graphs(ctx, env) {
		if len(d.Resources) > 0 {
			cancel()
		}
	}
	if w.gets.Load() < 5 || context.Cause(ctx) != context.Canceled {
		t.Fatalf("it was tried %d times: %v", w.gets.Load(), context.Cause(ctx))
	}
	if n := strings.Count(log.String(), "does not let this host read a deploy"); n != 1 || !strings.Contains(log.String(), "host=h") {
		t.Errorf("the log says it %d times:\n%s", n, &log)
	}
}

// TestHeld: a held deploy is neither refused nor taken until an operator of the host lets it go.
func TestHeld(t *testing.T) {
	r := newRig(t)
	h := r.start("h", "")
	r.put("one")
	h.wants("one", 1, deploy.StateConverged, "")
	r.put("held")
	for !strings.Contains(h.report().Error, "deploy 2 is held") {
		if st := h.report(); st.Refused != 0 {
			t.Fatalf("the report is %+v", st)
		}
		time.Sleep(time.Millisecond)
	}
	h.wants("one", 1, deploy.StateConverged, "")
	h.resumed.Store(true)
	h.reload <- struct{}{}
	h.wants("held", 2, deploy.StateConverged, "")
	if st := h.report(); st.Error != "" {
		t.Errorf("the report is %+v", st)
	}
}

// TestNewStore: a host refuses other files under the number that it has, also after a restart, and takes the next number.
func TestNewStore(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	h := r.start("h", dir)
	r.put("one")
	h.wants("one", 1, deploy.StateConverged, "")
	h.end()
	anew := newRigOf(t, r.key, "s1")
	l := anew.put("two") // the host has not reported yet, so the number is 1
	if l.Manifest.Number != 1 {
		t.Fatalf("the deploy is %+v", l.Manifest)
	}
	h = anew.start("h", dir)
	h.wants("one", 1, deploy.StateConverged, "old_number")
	if st := h.report(); !strings.Contains(st.Error, "another deploy with this number") || l.Rollout.PhaseOf("h", st) != deploy.Refused {
		t.Errorf("the report is %+v", st)
	}
	anew.put("two")
	h.wants("two", 2, deploy.StateConverged, "")
}

// TestStopped: a host that has a stopped deploy keeps it without a complaint while the next one goes to other hosts. The host
// begins anew, so its first report comes after it has read the rollout.
func TestStopped(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	h := r.start("h", dir)
	r.put("one")
	r.put("fails")
	h.wants("fails", 2, deploy.StateFailed, "")
	h.end()
	if _, _, err := r.world.Txn(t.Context(), nil, []world.Op{{Key: deploy.ReportKey("h"), Delete: true}}); err != nil {
		t.Fatal(err)
	}
	r.set(deploy.RolloutKey("all"), deploy.Rollout{Number: 3, Base: 1, State: deploy.Running, Hosts: []string{"another"}})
	h = r.start("h", dir)
	h.wants("fails", 2, deploy.StateFailed, "")
}

// TestFollowsAView: a deploy whose graph reads more than facts is made anew when that has changed, and only where the graph differs. The view is closed
// once, at the end.
func TestFollowsAView(t *testing.T) {
	r := newRig(t)
	r.put("seen ")
	wake := make(chan struct{}, 1)
	readings, closed := []string{"one", "one", "two"}, 0
	f := deployed.New(deployed.Options{
		World: r.world, Host: "h", Topic: "all", Trusted: func() []deploy.Public { return []deploy.Public{r.key.Public()} },
		Open: func(_ context.Context, env gapi.Env) deployed.View {
			return deployed.View{Wake: wake, Close: func() { closed++ }, Load: func(b *deploy.Bundle) gapi.Reading {
				b.Files[0].Data = append(b.Files[0].Data, readings[0]...)
				if readings = readings[1:]; len(readings) > 0 {
					wake <- struct{}{}
				}
				return load(b, env)
			}}
		},
	})
	var got []string
	for d, err := range f.Graphs(t.Context(), gapi.Env{Host: &factHost{wake: make(chan struct{}, 1)}}) {
		if err != nil {
			t.Fatal(err)
		}
		d.Done(gapi.Outcome{})
		if got = append(got, d.Resources[0].Name); len(readings) == 0 {
			break
		}
	}
	if want := []string{"seen one", "seen two"}; !slices.Equal(got, want) || closed != 1 {
		t.Errorf("%q, closed %d times", got, closed)
	}
}

// TestRefusedUntilTheViewChanges: a deploy whose graph does not fit what the store answers is refused, and takes effect when the store
// answers otherwise. No graph has to be in effect before it, and none has to come after it.
func TestRefusedUntilTheViewChanges(t *testing.T) {
	for _, before := range []string{"", "old"} {
		r := newRig(t)
		if before != "" {
			r.put(before)
		}
		wake, fits := make(chan struct{}, 1), false
		f := deployed.New(deployed.Options{
			World: r.world, Host: "h", Topic: "all", Trusted: func() []deploy.Public { return []deploy.Public{r.key.Public()} },
			Open: func(_ context.Context, env gapi.Env) deployed.View {
				return deployed.View{Wake: wake, Close: func() {}, Load: func(b *deploy.Bundle) gapi.Reading {
					if string(b.Files[0].Data) == "new" && !fits {
						b.Files[0].Data = []byte("unreadable")
					}
					return load(b, env)
				}}
			},
		})
		ctx, cancel := context.WithTimeout(t.Context(), await.Left())
		defer cancel()
		put := before != ""
		var got []string
		if !put {
			r.put("new")
		}
		for d, err := range f.Graphs(ctx, gapi.Env{Host: &factHost{wake: make(chan struct{}, 1)}}) {
			if err != nil { // it is refused: from now on the store answers otherwise
				got, fits = append(got, "refused"), true
				wake <- struct{}{}
				continue
			}
			if len(d.Resources) > 0 { // else it is the first graph of a host without a deploy
				d.Done(gapi.Outcome{})
				got = append(got, d.Resources[0].Name)
				if d.Resources[0].Name == "new" {
					break
				}
				if put {
					put = false
					r.put("new")
				}
			}
		}
		if want := strings.Fields(before + " refused new"); !slices.Equal(got, want) {
			t.Errorf("after %q: %q, want %q: %v", before, got, want, ctx.Err())
		}
	}
}
