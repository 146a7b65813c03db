package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/simulate"
	"github.com/reactivegraph/mgmt/traits"
)

// note is a kind that writes its text into a file of its name. Its own code runs in a folder; its owner needs more.
type note struct {
	traits.Base
	traits.Edgeable
	traits.Refreshable
	traits.Recvable

	Text  string `yaml:"text" doc:"What it says."`
	Owner string `yaml:"owner" doc:"Whose it is."`
	State string `yaml:"state" mgmt:"enum=there|gone" doc:"Whether it is there."`

	init *engine.Init
}

func (*note) Default() engine.Res { return &note{} }
func (n *note) Validate() error {
	if n.Text == "bad" {
		return errors.New("text: bad words are refused")
	}
	return nil
}
func (n *note) Init(init *engine.Init) error     { n.init = init; return nil }
func (*note) Cleanup() error                     { return nil }
func (n *note) path() string                     { return "/" + n.Name() }
func (n *note) Leaving() bool                    { return n.State == "gone" }
func (n *note) Rooted() (writes, apart []string) { return []string{n.path()}, []string{"owner"} }
func (n *note) Sends() any                       { return &struct{ Text string }{} }

func (n *note) Cmp(o engine.Res) error {
	if other, ok := o.(*note); !ok || n.Text != other.Text || n.Owner != other.Owner || n.State != other.State {
		return errors.New("another note")
	}
	return nil
}

func (n *note) Watch(ctx context.Context) error {
	s, err := n.init.Host.Watch(ctx, []string{n.path()}, events.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	n.init.Running()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.C():
			s.Cause()
			n.init.Event()
		}
	}
}

func (n *note) CheckApply(_ context.Context, apply bool) (bool, error) {
	if n.Text == "panic" {
		panic("the ink is out")
	}
	if n.Owner != "" {
		return false, errors.New("an owner needs more than a folder")
	}
	if err := n.init.Send(n.Sends()); err != nil {
		return false, err
	}
	is, err := n.text()
	if err != nil || is == n.Text {
		return err == nil, err
	}
	n.init.Change(engine.Change{Field: "text", From: is, To: n.Text})
	if !apply {
		return false, nil
	}
	return false, safepath.Of(n.init.Host).WriteFile(n.path(), []byte(n.Text), 0o600, true)
}

// text reads the file, which is empty where it is not there.
func (n *note) text() (string, error) {
	f, err := safepath.Of(n.init.Host).Open(n.path())
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 1024)
	k, _ := f.Read(b)
	return string(b[:k]), nil
}

func (n *note) Read(context.Context) (engine.Res, error) {
	is, err := n.text()
	if err != nil {
		return nil, err
	}
	got := &note{Text: is, State: "there"}
	if is == "" {
		got.State = "gone"
	}
	got.SetKind("note")
	got.SetName(n.Name())
	return got, nil
}

// bell is a lamp that acts on notifications, and sends its colour.
type bell struct {
	traits.Base
	traits.Refreshable

	Colour string `yaml:"colour" doc:"The colour."`
	Watts  int    `yaml:"watts" doc:"The power."`
}

func (*bell) Validate() error                                { return nil }
func (*bell) Init(*engine.Init) error                        { return errReal }
func (*bell) Cleanup() error                                 { return errReal }
func (*bell) Watch(context.Context) error                    { return errReal }
func (*bell) CheckApply(context.Context, bool) (bool, error) { return false, errReal }
func (*bell) Cmp(engine.Res) error                           { return nil }
func (*bell) Default() engine.Res                            { return &bell{} }
func (*bell) Sends() any {
	return &struct {
		Colour string `yaml:"colour"`
	}{}
}

// inFolder is a machine with a folder.
type inFolder struct {
	t     *testing.T
	dir   string
	host  *simulate.Host
	m     *simulate.Machine
	kinds *engine.Registry
	said  []string
	lock  sync.Mutex // of said and events
	event int
	fresh bool // whether a notification is pending
}

// files returns a machine with a folder, with notes and lamps; prepare runs before the kinds are replaced.
func files(t *testing.T, prepare func(*simulate.Machine)) *inFolder {
	t.Helper()
	real := engine.NewRegistry()
	for name, made := range map[string]func() engine.Res{"note": func() engine.Res { return &note{} }, "lamp": func() engine.Res { return &lamp{} }, "bell": func() engine.Res { return &bell{} }} {
		if err := real.Register(name, made); err != nil {
			t.Fatal(err)
		}
	}
	x := &inFolder{t: t, dir: t.TempDir(), host: simulate.NewHost(), m: simulate.NewMachine()}
	f, err := simulate.NewFolder(x.host, x.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	x.m.Use(f)
	if prepare != nil {
		prepare(x.m)
	}
	if x.kinds, err = x.m.Kinds(real); err != nil {
		t.Fatal(err)
	}
	return x
}

// made makes and initialises a resource.
func (x *inFolder) made(kind, name string, pairs ...any) engine.Res {
	x.t.Helper()
	r, err := x.kinds.New(kind)
	if err != nil {
		x.t.Fatal(err)
	}
	r.SetName(name)
	if err := schema.Decode(node(pairs...), r).Err(); err != nil {
		x.t.Fatal(err)
	}
	if err := r.Init(x.init()); err != nil {
		x.t.Fatal(err)
	}
	return r
}

// init is a handle that notes what it is told.
func (x *inFolder) init() *engine.Init {
	return &engine.Init{
		Host: x.host, Running: func() {}, Refresh: func() bool { return x.fresh }, Send: func(any) error { return nil },
		Event: func() { x.lock.Lock(); defer x.lock.Unlock(); x.event++ },
		Change: func(c engine.Change) {
			x.lock.Lock()
			defer x.lock.Unlock()
			x.said = append(x.said, strings.TrimSpace(fmt.Sprintf("%s%s %v>%v", c.Verb, c.Field, c.From, c.To)))
		},
	}
}

// reports compares what was reported since the last call.
func (x *inFolder) reports(want ...string) {
	x.t.Helper()
	if !slices.Equal(x.said, want) {
		x.t.Errorf("reported %q, want %q", x.said, want)
	}
	x.said = nil
}

// content compares a file of the folder; empty for none.
func (x *inFolder) content(name, want string) {
	x.t.Helper()
	b, err := os.ReadFile(filepath.Join(x.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) || string(b) != want {
		x.t.Errorf("%s has %q, %v, want %q", name, b, err, want)
	}
}

// TestCodeInTheFolder: a rooted kind runs its own code in the folder, below folders that are made. What needs more is simulated, and
// reported as the rest. A look writes nothing.
func TestCodeInTheFolder(t *testing.T) {
	x := files(t, nil)
	r := x.made("note", "etc/deep/a", "text", text("hello"), "owner", text("anna"))
	check(t, r, false, false)
	x.content("etc/deep/a", "")
	x.reports("text >hello", "owner <nil>>anna")
	check(t, r, true, false)
	x.content("etc/deep/a", "hello")
	x.reports("text >hello", "owner <nil>>anna")
	check(t, r, true, true)
	x.reports()
	if err := os.WriteFile(filepath.Join(x.dir, "etc/deep/a"), []byte("drift"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.m.Put("note[etc/deep/a]", map[string]any{"owner": "bert"})
	check(t, r, true, false)
	x.reports("text drift>hello", "owner bert>anna")
	x.content("etc/deep/a", "hello")
	if err := r.Cleanup(); err != nil {
		t.Error(err)
	}
}

// TestNoWayOut: no link leads out of the folder: an absolute one begins in the folder, and one to its parent stays there.
func TestNoWayOut(t *testing.T) {
	outside := t.TempDir()
	for what, link := range map[string]string{"absolute": outside, "to the parents": strings.Repeat("../", 40) + outside[1:]} {
		t.Run(what, func(t *testing.T) {
			x := files(t, nil)
			if err := os.Symlink(link, filepath.Join(x.dir, "out")); err != nil {
				t.Fatal(err)
			}
			r := x.made("note", "out/a", "text", text("hello"))
			_, err := r.CheckApply(t.Context(), true)
			if left, lerr := os.ReadDir(outside); lerr != nil || len(left) > 0 {
				t.Errorf("outside of the folder are %v, %v", left, lerr)
			}
			if err == nil {
				t.Error("a file was written behind a link that leads to nothing")
			}
			if entries, err := os.ReadDir(x.dir); err != nil || len(entries) != 1 {
				t.Errorf("the folder has %v, %v, want the link alone", entries, err)
			}
		})
	}
}

// TestRefusalsInTheFolder: a thing with a fault keeps its file, and the differences are reported nevertheless.
func TestRefusalsInTheFolder(t *testing.T) {
	x := files(t, nil)
	r := x.made("note", "a", "text", text("hello"), "owner", text("anna"))
	x.m.Fail("note[a]", "the disk is full")
	for _, apply := range []bool{false, true} {
		if ok, err := r.CheckApply(t.Context(), apply); ok || err == nil || err.Error() != "the disk is full" {
			t.Errorf("apply %t: %t, %v", apply, ok, err)
		}
		x.content("a", "")
		x.reports("text >hello", "owner <nil>>anna")
	}
	if thing, ok := x.m.Thing("note[a]"); ok {
		t.Errorf("a refused change made %v", thing)
	}
	x.m.Fail("note[a]", "")
	check(t, r, true, false)
	x.content("a", "hello")
}

// TestFindAndPlace: a test reads and alters a thing of the folder by the code of its kind, and any other thing by the machine's memory.
func TestFindAndPlace(t *testing.T) {
	x := files(t, nil)
	ctx, a := t.Context(), schema.Ref{Kind: "note", Name: "dir/a"}
	find := func(ref schema.Ref, want string) {
		t.Helper()
		if got, err := x.m.Find(ctx, ref, nil); fmt.Sprint(got) != want || err != nil {
			t.Errorf("%s is %v, %v, want %s", ref.ID(), got, err, want)
		}
	}
	find(a, "map[]")
	if err := x.m.Place(ctx, a, map[string]any{"text": "one", "owner": "anna"}); err != nil {
		t.Fatal(err)
	}
	x.content("dir/a", "one")
	find(a, "map[owner:anna state:there text:one]")
	if err := os.WriteFile(filepath.Join(x.dir, "dir/a"), []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	find(a, "map[owner:anna state:there text:two]")
	hall := schema.Ref{Kind: "lamp", Name: "hall"}
	find(hall, "map[]")
	if err := x.m.Place(ctx, hall, map[string]any{"colour": "red"}); err != nil {
		t.Fatal(err)
	}
	find(hall, "map[colour:red]")
	for value, want := range map[string]string{"bad": "bad words are refused", "panic": "the ink is out"} {
		b := schema.Ref{Kind: "note", Name: "b-" + value}
		if err := x.m.Place(ctx, b, map[string]any{"text": value}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("text %s: %v, want %s", value, err, want)
		}
		if thing, ok := x.m.Thing(b.ID()); ok {
			t.Errorf("a thing that could not be placed is %v", thing)
		}
	}
	if err := x.m.Place(ctx, a, map[string]any{"text": []any{}}); err == nil {
		t.Error("a list is placed as a text")
	}
	x.content("dir/a", "two")
}

// TestDeliveringInTheFolder: a change of its paths is on its way to a resource until its Watch has told of it and waits again, whoever made the
// change. It hears of no other path.
func TestDeliveringInTheFolder(t *testing.T) {
	x := files(t, nil)
	r := x.made("note", "a", "text", text("hello"))
	running, woken := make(chan struct{}), make(chan struct{})
	init := x.init()
	init.Running = func() { close(running) }
	init.Event = func() { woken <- struct{}{} }
	if err := r.Init(init); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.Watch(ctx); err != nil {
			t.Error(err)
		}
	})
	<-running
	delivering := func(want int) {
		t.Helper()
		if got, _ := x.host.Delivering(); got != want {
			t.Errorf("%d are woken, want %d", got, want)
		}
	}
	// told waits until the Watch has told of one change, and waits for the next one. That one is on its way all the time before.
	told := func() {
		t.Helper()
		delivering(1)
		<-woken
		for n, _ := x.host.Delivering(); n > 0; n, _ = x.host.Delivering() {
			runtime.Gosched()
		}
	}
	delivering(0)
	if err := x.m.Place(ctx, schema.Ref{Kind: "note", Name: "b"}, map[string]any{"text": "x"}); err != nil {
		t.Fatal(err)
	}
	delivering(0)
	if n := x.host.Touch("/a"); n != 1 {
		t.Errorf("a touch wakes %d", n)
	}
	told()
	other, err := x.host.Watch(ctx, []string{"/a"}, events.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, r, true, false)
	if c := other.Cause(); c.Path != "/a" || c.Merged != 1 {
		t.Errorf("after a write another watch has heard of %+v", c)
	}
	<-other.C()
	other.C()
	told()
	check(t, r, true, true)
	if c := other.Cause(); c.Merged != 0 {
		t.Errorf("without a write another watch has heard of %+v", c)
	}
	placed := make(chan error)
	go func() { placed <- x.m.Place(ctx, schema.Ref{Kind: "note", Name: "a"}, map[string]any{"text": "drift"}) }()
	<-woken // of the path,
	<-woken // and of the thing, of which the machine tells the resource itself
	if err := <-placed; err != nil {
		t.Fatal(err)
	}
	if c := other.Cause(); c.Path != "/a" || c.Merged != 1 {
		t.Errorf("after the work of another program a watch has heard of %+v", c)
	}
	other.Close()
	check(t, r, false, false)
	cancel()
	wg.Wait()
	x.m.Put("note[a]", nil)
	delivering(0)
	if open := x.host.Subscriptions(); len(open) > 0 {
		t.Errorf("after the end are open: %v", open)
	}
	x.host.FailWatch(errReal)
	if err := r.Watch(t.Context()); !errors.Is(err, errReal) {
		t.Errorf("a watch that the host refuses: %v", err)
	}
}

// TestStandIn: another kind runs in the folder for a kind whose own code needs more. Its error fails each run, and parameters that it does not
// carry are simulated.
func TestStandIn(t *testing.T) {
	missing := errors.New("no colour is known")
	x := files(t, func(m *simulate.Machine) {
		m.Stand("lamp", func(name string, all map[string]any) (string, map[string]any, error) {
			set := map[string]any{"text": all["colour"], "colour": nil}
			if all["colour"] == "none" {
				return "note", set, missing
			}
			return "note", set, nil
		})
	})
	r := x.made("lamp", "hall", "colour", text("red"), "watts", number("5"))
	check(t, r, false, false)
	x.content("hall", "")
	x.said = nil
	check(t, r, true, false)
	x.content("hall", "red")
	x.reports("text >red", "watts <nil>>5")
	check(t, r, true, true)
	x.reports()
	none := x.made("lamp", "cellar", "colour", text("none"), "watts", number("5"))
	for _, apply := range []bool{false, true} {
		if ok, err := none.CheckApply(t.Context(), apply); ok || !errors.Is(err, missing) {
			t.Errorf("apply %t: %t, %v", apply, ok, err)
		}
	}
	x.content("cellar", "")
	if got, err := x.m.Find(t.Context(), schema.Ref{Kind: "lamp", Name: "hall"}, nil); err != nil || got["colour"] != "red" {
		t.Errorf("the thing of a kind with a stand-in is %v, %v", got, err)
	}
}

// TestNotifications: a notification is a change, which is reported, and refused by a fault. It is that of a simulated kind, and of one
// for which another kind runs in the folder. What the kind sends is sent each time, by the type of the kind.
func TestNotifications(t *testing.T) {
	for what, prepare := range map[string]func(*simulate.Machine){
		"in memory": nil,
		"stand-in": func(m *simulate.Machine) {
			m.Stand("bell", func(_ string, all map[string]any) (string, map[string]any, error) {
				return "note", map[string]any{"text": all["colour"], "colour": nil}, nil
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			x := files(t, prepare)
			r := x.made("bell", "door", "colour", text("red"), "watts", number("5"))
			var sent []string
			init := x.init()
			init.Send = func(v any) error {
				all, err := schema.EncodeAll(v)
				sent = append(sent, fmt.Sprint(all))
				return err
			}
			if err := r.Init(init); err != nil {
				t.Fatal(err)
			}
			check(t, r, true, false)
			check(t, r, true, true)
			x.said = nil
			x.fresh = true
			check(t, r, false, false)
			check(t, r, true, false)
			x.reports(string(engine.Refreshed)+" <nil>><nil>", string(engine.Refreshed)+" <nil>><nil>")
			x.m.Fail("bell[door]", "the wire is cut")
			if _, err := r.CheckApply(t.Context(), true); err == nil || err.Error() != "the wire is cut" {
				t.Errorf("with a fault: %v", err)
			}
			if len(sent) < 3 || slices.ContainsFunc(sent[1:], func(s string) bool { return s != "map[colour:red]" }) {
				t.Errorf("sent %q, want the colour each time", sent)
			}
		})
	}
}

// TestKindsAreNotMixed: a simulated resource is compared with one of its own sort alone, by the code of the kind.
func TestKindsAreNotMixed(t *testing.T) {
	x := files(t, nil)
	rooted, same, other := x.made("note", "a", "text", text("x")), x.made("note", "a", "text", text("x")), x.made("note", "a", "text", text("y"))
	red, blue := x.made("lamp", "hall", "colour", text("red"), "watts", number("5")), x.made("lamp", "hall", "colour", text("blue"), "watts", number("5"))
	for what, c := range map[string]struct {
		a, b engine.Res
		want string
	}{
		"equal notes":       {rooted, same, ""},
		"notes":             {rooted, other, "another note"},
		"a note and a lamp": {rooted, red, "is not in a folder"},
		"a lamp and a note": {red, rooted, "is not simulated"},
		"a lamp and a real": {red, &lamp{Colour: "red"}, "is not simulated"},
		"a note and a real": {rooted, &note{Text: "x"}, "is not in a folder"},
		"equal lamps":       {red, red, ""},
		"lamps":             {red, blue, "another lamp"},
	} {
		err := c.a.Cmp(c.b)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

// TestFolderThatIsNone: a machine needs a folder that is there, and one without a folder keeps all things in memory.
func TestFolderThatIsNone(t *testing.T) {
	if _, err := simulate.NewFolder(simulate.NewHost(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	m := simulate.NewMachine()
	ref := schema.Ref{Kind: "note", Name: "a"}
	if err := m.Place(t.Context(), ref, map[string]any{"text": "x"}); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Find(t.Context(), ref, nil); err != nil || got["text"] != "x" {
		t.Errorf("%v, %v", got, err)
	}
}
