package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/gapi"

	_ "github.com/reactivegraph/mgmt/resources/all"
)

// graph writes a graph file.
func graph(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, "graph.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a daemon with a state folder and a socket of its own.
func open(t *testing.T, c Config, parts ...Part) (*Daemon, error) {
	t.Helper()
	c.State = state.Place{Prefix: filepath.Join(t.TempDir(), "state")}
	d, err := Open(t.Context(), c, parts...)
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
	}
	return d, err
}

// note is a part that notes what becomes of it.
type note struct {
	name        string
	said        *[]string
	open, start error
	work        func(context.Context, *mgmt.Engine) // begun by Go
	d           *Daemon
}

func (n *note) say(what string) { *n.said = append(*n.said, n.name+" "+what) }

func (n *note) Open(_ context.Context, d *Daemon) error {
	n.say("opened")
	n.d = d
	return n.open
}

func (n *note) Start(_ context.Context, e *mgmt.Engine) error {
	n.say("started")
	if n.work != nil {
		n.d.Go(func(ctx context.Context) { n.work(ctx, e) })
	}
	return n.start
}

func (n *note) Close() error {
	n.say("closed")
	return nil
}

// TestPartsHaveOneLife: parts are opened, started and closed in their order and its reverse. One that can't be opened closes those before it, and
// one that can't be started ends the run.
func TestPartsHaveOneLife(t *testing.T) {
	for name, c := range map[string]struct {
		open, start error // of the second of three parts
		want        string
	}{
		"all well":    {want: "a opened, b opened, c opened, a started, b started, c started, c closed, b closed, a closed"},
		"not opened":  {open: errors.New("no"), want: "a opened, b opened, b closed, a closed"},
		"not started": {start: errors.New("no"), want: "a opened, b opened, c opened, a started, b started, c closed, b closed, a closed"},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			parts := []Part{&note{name: "a", said: &said}, &note{name: "b", said: &said, open: c.open, start: c.start}, &note{name: "c", said: &said}}
			d, err := open(t, Config{Graph: input.Config{YAML: graph(t, t.TempDir(), "resources: {noop: [{name: n}]}\n")}, Engine: mgmt.Options{ConvergedExit: c.start == nil}}, parts...)
			if !errors.Is(err, c.open) {
				t.Fatal(err)
			}
			if err == nil {
				if _, err := d.Run(t.Context()); !errors.Is(err, c.start) {
					t.Errorf("the run ends with %v", err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
			if got := strings.Join(said, ", "); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestWorkHasTheState: what a part has begun by Go goes on when the end was asked for, and has the history until it returns.
func TestWorkHasTheState(t *testing.T) {
	var said []string
	n := &note{name: "a", said: &said, work: func(ctx context.Context, e *mgmt.Engine) {
		<-ctx.Done()
		e.History().Append(journal.Entry{Resource: "note[a]", Outcome: "ended"})
	}}
	d, err := open(t, Config{Graph: input.Config{YAML: graph(t, t.TempDir(), "resources: {noop: [{name: n}]}\n")}, Engine: mgmt.Options{ConvergedExit: true}}, n)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := statedir.HistoryIn(d.Folder.Dir)
	if err != nil {
		t.Fatal(err)
	}
	kept := false
	for e, err := range h.Query(t.Context(), journal.Query{}) {
		kept = kept || err == nil && e.Resource == "note[a]"
	}
	if !kept {
		t.Error("what was noted at the end is lost")
	}
}

// TestSecondDaemon: another daemon on the same state folder is an error, and leaves the first one its socket and its store.
func TestSecondDaemon(t *testing.T) {
	c := Config{Graph: input.Config{YAML: graph(t, t.TempDir(), "resources: {noop: [{name: n}]}\n")}}
	swapped := make(chan struct{}, 8)
	c.Engine.Observer.Swapped = func(reactor.Swap) { swapped <- struct{}{} }
	d, err := open(t, c)
	if err != nil {
		t.Fatal(err)
	}
	c.State = d.State
	if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(pid %d)", os.Getpid())) {
		t.Errorf("a second one: %v", err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := d.Run(ctx)
		ended <- err
	}()
	client := control.NewClient(d.Socket.Places(d.State)...)
	<-swapped
	if _, err := client.Status(ctx, control.StatusQuery{}); err != nil {
		t.Error(err)
	}
	if v, err := client.Reload(ctx); err != nil || v.Refused != "" {
		t.Errorf("a reload over the socket: %+v, %v", v, err)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// runs runs a daemon until the test is over.
func runs(t *testing.T, d *Daemon) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := d.Run(ctx)
		ended <- err
	}()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-d.opened
}

// TestReload: a reload takes over the kinds, the input and the bounds of deploys, or nothing, also where a part refuses it. Another input counts when its graph is in effect.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	first := graph(t, dir, "resources: {noop: [{name: n}]}\n")
	d, err := open(t, Config{Graph: input.Config{YAML: first, MaxResources: 7}})
	if err != nil {
		t.Fatal(err)
	}
	runs(t, d)
	deploys := &deploysPart{d: d}
	if most := deploys.bounds().MaxResources; most != 7 {
		t.Errorf("at the start, %d resources may come", most)
	}
	taken := 0
	next := Next{Kinds: &kinds.Options{Backends: filepath.Join(dir, "nowhere")}, Graph: &input.Config{YAML: first, MaxResources: 9}, Taken: func(bool, bool) { taken++ }}
	d.Reloading.Next = func(context.Context) (Next, error) { return next, nil }
	before := d.set.Load()
	if _, err := d.beforeReload(t.Context()); err == nil || taken != 0 || d.set.Load() != before || deploys.bounds().MaxResources != 7 {
		t.Errorf("a reload with a missing folder: %v, taken %d times, and %d resources may come", err, taken, deploys.bounds().MaxResources)
	}
	next.Kinds.Backends = ""
	s, err := d.beforeReload(t.Context())
	if err != nil || s == nil || s.Input != first || taken != 1 || deploys.bounds().MaxResources != 9 {
		t.Fatalf("%+v, %v, taken %d times", s, err, taken)
	}
	if got := d.input.Load().Config().MaxResources; got != 7 {
		t.Errorf("before its graph is in effect, the input has %d", got)
	}
	s.Taken()
	if got := d.input.Load().Config().MaxResources; got != 9 {
		t.Errorf("after that, the input has %d", got)
	}
	refused := errors.New("no")
	d.OnReload(func(context.Context) error { return refused })
	before, next.Graph = d.set.Load(), &input.Config{YAML: first, MaxResources: 11}
	next.Kinds.Hostname = "other"
	if _, err := d.beforeReload(t.Context()); !errors.Is(err, refused) || taken != 1 || d.set.Load() != before || deploys.bounds().MaxResources != 9 {
		t.Errorf("a part refuses it: %v, taken %d times, and %d resources may come", err, taken, deploys.bounds().MaxResources)
	}
}

// TestOtherInput: what the first input has around it, another one has too where it says nothing else.
func TestOtherInput(t *testing.T) {
	first := graph(t, t.TempDir(), "resources: {noop: [{name: n}]}\n")
	d, err := open(t, Config{Graph: input.Config{YAML: first}, Kinds: kinds.Options{Hostname: "web"}})
	if err != nil {
		t.Fatal(err)
	}
	runs(t, d)
	d.Reloading.Next = func(context.Context) (Next, error) {
		return Next{Graph: &input.Config{YAML: first}}, nil
	}
	if _, err := d.beforeReload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := d.renewal.input.Load().Foreign(); o.Hostname != "web" || o.Facts == nil {
		t.Errorf("the name is %q, and facts are there: %t", o.Hostname, o.Facts != nil)
	}
}

// TestBeside: what a part adds to the graph runs, and is there beside another input, too.
func TestBeside(t *testing.T) {
	var order []string
	d := &Daemon{}
	for _, name := range []string{"objects", "deploys"} {
		d.Beside(func(front gapi.Frontend) gapi.Frontend {
			order = append(order, name)
			return front
		})
	}
	d.whole(nil)
	if !slices.Equal(order, []string{"objects", "deploys"}) {
		t.Errorf("%v", order)
	}
}
