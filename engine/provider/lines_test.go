package provider_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
)

// switchboard is a transport that notes what it is asked. A function of it that is nil succeeds.
type switchboard struct {
	mu  sync.Mutex
	log []string

	connect func(context.Context, provider.Record) error
	verify  func(context.Context) error
	facts   func() (map[string]any, error)
	close   func() error
}

func (s *switchboard) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// want compares what was noted since the last call.
func (s *switchboard) want(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.log, want) {
		t.Errorf("the transport was asked %q, want %q", s.log, want)
	}
	s.log = nil
}

// Connect is a provider.Connect.
func (s *switchboard) Connect(ctx context.Context, l *provider.Line, info provider.Record) (provider.Transport, error) {
	s.note("connect %s %v:%v", l.Target, info["address"], info["port"])
	if s.connect != nil {
		if err := s.connect(ctx, info); err != nil {
			return nil, err
		}
	}
	return &call{s, l.Target}, nil
}

// call is a connection of a switchboard.
type call struct {
	*switchboard
	target string
}

func (c *call) Verify(ctx context.Context) error {
	c.note("verify %s", c.target)
	if c.verify != nil {
		return c.verify(ctx)
	}
	return nil
}

func (c *call) Facts(context.Context) (map[string]any, error) {
	c.note("facts %s", c.target)
	if c.facts != nil {
		return c.facts()
	}
	return map[string]any{"name": c.target}, nil
}

func (c *call) Close() error {
	c.note("close %s", c.target)
	if c.close != nil {
		return c.close()
	}
	return nil
}

// office is a switchboard with targets, and kinds that know them.
type office struct {
	t     *testing.T
	board *switchboard
	known *provider.Transports
	ts    *provider.Targets
	stock *stock
	kinds *engine.Registry
}

const plainTargets = `{"w": {"transport": "wire", "address": "1.2"}}`

// newOffice has the kinds rec and other, whose things are in the stock.
func newOffice(t *testing.T, targets string) *office {
	o := &office{t: t, board: &switchboard{}, ts: provider.NewTargets(), stock: newStock("x", "y")}
	o.known = wires(t, o.board.Connect)
	o.declare(targets)
	o.kinds = engine.NewRegistry()
	for _, name := range []string{"rec", "other"} {
		d := simple(provider.RemoteResource)
		d.Name = name
		k, err := provider.New(d, o.stock.clerk)
		must(t, err)
		must(t, o.kinds.Register(name, k.New))
	}
	var err error
	o.kinds, err = provider.BindTargets(o.kinds, o.ts)
	must(t, err)
	return o
}

func (o *office) declare(targets string) { o.ts.Replace(decodeTargets(o.t, o.known, targets)) }

// res makes a resource of a word name=a, on the target w. It is valid.
func (o *office) res(kind, word string) engine.Res {
	o.t.Helper()
	r, err := o.kinds.New(kind)
	must(o.t, err)
	name, a, managed := strings.Cut(word, "=")
	r.SetName(name + "@w")
	must(o.t, schema.Set(r.(schema.Typed), "target", "w"))
	if managed {
		must(o.t, schema.Set(r.(schema.Typed), "a", a))
	}
	must(o.t, r.Validate())
	return r
}

// crew has resources of one kind share what they share.
func (o *office) crew(kind string, words ...string) *crew {
	o.t.Helper()
	c := &crew{t: o.t}
	for _, w := range words {
		r := o.res(kind, w)
		if c.sh == nil {
			_, open := r.(engine.SharedRes).Shared()
			var err error
			c.sh, err = open(o.t.Context(), enginetest.NewHost())
			must(o.t, err)
		}
		f := enginetest.NewInit(o.t, enginetest.WithShared(c.sh))
		must(o.t, r.Init(f.Init()))
		c.res, c.fakes = append(c.res, r), append(c.fakes, f)
	}
	return c
}

// TestLineIsShared: a connection is opened at the first call that needs it, shared by all types, and closed with the last
// controller.
func TestLineIsShared(t *testing.T) {
	o := newOffice(t, plainTargets)
	a, b := o.crew("rec", "x=1", "y=1"), o.crew("other", "x=1")
	o.board.want(t)
	wantOuts(t, a.run(true), "ok", "ok")
	wantOuts(t, b.run(true), "ok")
	wantOuts(t, a.run(true), "ok", "ok")
	o.board.want(t, "connect w 1.2:22")
	a.end()
	o.board.want(t)
	b.end()
	o.board.want(t, "close w")
	c := o.crew("rec", "x=1")
	c.end()
	o.board.want(t)
}

// TestLineOfAnotherTarget: a declaration that alters nothing keeps the connection. Another one closes it, and the next call
// connects anew.
func TestLineOfAnotherTarget(t *testing.T) {
	o := newOffice(t, plainTargets)
	c := o.crew("rec", "x=1")
	wantOuts(t, c.run(true), "ok")
	o.declare(`{"v": {"transport": "wire", "address": "5"}, "w": {"port": 22, "address": "1.2", "transport": "wire"}}`)
	wantOuts(t, c.run(true), "ok")
	o.board.want(t, "connect w 1.2:22")
	o.declare(`{"w": {"transport": "wire", "address": "1.2", "port": 23}}`)
	o.board.want(t)
	wantOuts(t, c.run(true), "ok")
	o.board.want(t, "close w", "connect w 1.2:23")
	o.declare(`{}`)
	wantOuts(t, c.run(true), "the type rec is unavailable: the target w is not declared any more")
	o.declare(`{"w": {"transport": "wire", "address": "1.2", "port": 23}}`)
	c.sh.(interface{ Forget() }).Forget()
	wantOuts(t, c.run(true), "ok")
	c.end()
	o.board.want(t, "close w")
}

// TestLineOfASecretFile: the file of a secret is read at each connect; the same path is the same target.
func TestLineOfASecretFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	put := func(text string, mode os.FileMode) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o600))
		must(t, os.Chmod(path, mode))
	}
	o := newOffice(t, plainTargets)
	var keys []string
	o.board.connect = func(_ context.Context, info provider.Record) error {
		key := fmt.Sprint(info["key"])
		s, ok := info["key"].(schema.Secret)
		if !ok || strings.Contains(key, "sesame") {
			t.Errorf("the key is given as %T, which prints as %s", info["key"], key)
		}
		keys = append(keys, s.Reveal())
		return fmt.Errorf("refused with %s", s.Reveal())
	}
	facts := func() string {
		o.declare(`{"w": {"transport": "wire", "address": "1.2", "key": {"file": "` + path + `"}}}`)
		o.stock.took()
		_, err := o.ts.Facts(t.Context(), "w", enginetest.NewHost())
		return fmt.Sprint(err)
	}
	const lost = "the target w (transport wire) can't be used: "
	for _, c := range []struct {
		text string
		mode os.FileMode
		key  string
		want string
	}{
		{"opensesame\n", 0o600, "opensesame", lost + "refused with " + schema.Redacted},
		{"sesame2", 0o400, "sesame2", lost + "refused with " + schema.Redacted},
		{"sesame3\n\n", 0o600, "sesame3\n", lost + "refused with " + schema.Redacted},
		{"sesame4", 0o640, "", lost + "key: other users can read or write " + path + ", which holds a secret (mode 0640): chmod 600"},
		{"sesame5", 0o602, "", lost + "key: other users can read or write " + path + ", which holds a secret (mode 0602): chmod 600"},
		{strings.Repeat("sesame", 20000), 0o600, "", lost + "key: " + path + " is larger than 65536 bytes"},
	} {
		_ = os.Remove(path)
		put(c.text, c.mode)
		keys = nil
		if got := facts(); !strings.HasPrefix(got, c.want) || strings.Contains(got, "sesame") || strings.Join(keys, ",") != c.key {
			t.Errorf("%.20q with mode %04o: %q with the key %.20q", c.text, c.mode, got, keys)
		}
	}
	must(t, os.Remove(path))
	if got := facts(); !strings.HasPrefix(got, lost+"key: ") || !strings.Contains(got, path) {
		t.Error("without the file:", got)
	}
}

// TestLineOfAWrongSecretFile: a secret of a file fits the type of its attribute, or the target can't be used; the error shows nothing
// of it. Of another type than text it is read as JSON.
func TestLineOfAWrongSecretFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pin")
	var pin any
	known := provider.NewTransports()
	must(t, known.Register(provider.TransportDefinition{Name: "wire", Doc: "x", ConnectionInfo: []provider.Attribute{{Name: "pin", Type: "Integer[1000, 9999]", Doc: "x", Sensitive: true}}},
		func(_ context.Context, l *provider.Line, info provider.Record) (provider.Transport, error) {
			pin = info["pin"]
			return &call{&switchboard{}, l.Target}, nil
		}))
	ts := provider.NewTargets()
	ts.Replace(decodeTargets(t, known, `{"w": {"transport": "wire", "pin": {"file": "`+path+`"}}}`))
	for text, ok := range map[string]bool{"1234\n": true, "77777": false, "pineapple": false, "": false} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		pin = nil
		_, err := ts.Facts(t.Context(), "w", enginetest.NewHost())
		s, _ := pin.(puppettype.Sensitive)
		switch {
		case ok && (err != nil || s.Reveal() != int64(1234)):
			t.Errorf("%q: %v %v", text, s.Reveal(), err)
		case !ok && (err == nil || pin != nil || !strings.HasPrefix(err.Error(), "the target w (transport wire) can't be used: pin")):
			t.Errorf("%q: it is connected with a %T: %v", text, pin, err)
		case !ok && text != "" && strings.Contains(err.Error(), text):
			t.Errorf("the error shows it: %v", err)
		}
		ts = provider.NewTargets()
		ts.Replace(decodeTargets(t, known, `{"w": {"transport": "wire", "pin": {"file": "`+path+`"}}}`))
	}
}

// TestLineDoesNotConnect: a target that can't be connected to makes its type unavailable there. It is asked again with a pause that
// grows up to five minutes.
func TestLineDoesNotConnect(t *testing.T) {
	for name, c := range map[string]struct {
		connect provider.Connect
		want    string
	}{
		"error": {func(context.Context, *provider.Line, provider.Record) (provider.Transport, error) {
			return nil, errors.New("no answer")
		}, "no answer"},
		"panic": {func(context.Context, *provider.Line, provider.Record) (provider.Transport, error) {
			panic("a wire burns")
		}, "a wire burns"},
		"nothing": {noWire, "the transport has made no connection"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t, `{}`)
				asked := 0
				o.known = wires(t, func(ctx context.Context, l *provider.Line, info provider.Record) (provider.Transport, error) {
					asked++
					return c.connect(ctx, l, info)
				})
				o.declare(plainTargets)
				r := o.crew("rec", "x=1")
				defer r.end()
				for i, pause := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
					wantOuts(t, r.run(true), "the type rec is unavailable: the target w (transport wire) can't be used: ")
					outs := r.run(true)
					var lost *provider.TargetError
					if !errors.As(outs[0].Err, &lost) || lost.Target != "w" || lost.Transport != "wire" || lost.Resources != nil || !strings.Contains(lost.Err.Error(), c.want) {
						t.Errorf("%v", outs[0].Err)
					}
					time.Sleep(pause*time.Second - time.Nanosecond)
					r.run(true)
					if asked != i+1 {
						t.Fatalf("it was asked %d times before the pause of %d s has ended, want %d", asked, pause, i+1)
					}
					time.Sleep(time.Nanosecond)
				}
			})
		})
	}
}

// TestLineHangs: connecting is given up after a minute, and at once when the caller goes; that is no fault of the target.
func TestLineHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, plainTargets)
		defer o.crew("rec", "x").end() // its pauses last as long as it has a user
		o.board.connect = func(ctx context.Context, _ provider.Record) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		began := time.Now()
		_, err := o.ts.Facts(t.Context(), "w", enginetest.NewHost())
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "it has not connected within 1m0s") || took != time.Minute {
			t.Errorf("after %s: %v", took, err)
		}
		time.Sleep(time.Hour)
		gone := errors.New("the caller has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(gone)
		}()
		if _, err := o.ts.Facts(ctx, "w", enginetest.NewHost()); !errors.Is(err, gone) {
			t.Error("of a caller that goes:", err)
		}
		o.board.connect = nil
		if facts, err := o.ts.Facts(t.Context(), "w", enginetest.NewHost()); err != nil || facts["name"] != "w" {
			t.Error("the next caller:", facts, err)
		}
	})
}

// TestLineWaitsForItsTurn: while one caller connects, another one waits for the same connection, or goes with its context.
func TestLineWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, plainTargets)
		o.board.connect = func(context.Context, provider.Record) error {
			time.Sleep(10 * time.Second)
			return nil
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := o.ts.Facts(context.Background(), "w", enginetest.NewHost()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		gone := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, gone)
		defer cancel()
		if _, err := o.ts.Facts(ctx, "w", enginetest.NewHost()); !errors.Is(err, gone) {
			t.Error(err)
		}
		wg.Wait()
		o.board.mu.Lock()
		connects := slices.DeleteFunc(slices.Clone(o.board.log), func(s string) bool { return !strings.HasPrefix(s, "connect") && !strings.HasPrefix(s, "close") })
		o.board.mu.Unlock()
		if !slices.Equal(connects, []string{"connect w 1.2:22", "close w"}) {
			t.Errorf("%q", connects)
		}
	})
}

// TestLineFacts: the facts of a target are those of its transport, after it was verified.
func TestLineFacts(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*switchboard)
		want string
	}{
		"well":    {func(*switchboard) {}, ""},
		"verify":  {func(s *switchboard) { s.verify = func(context.Context) error { return errors.New("locked") } }, "the target w (transport wire) can't be used: locked"},
		"facts":   {func(s *switchboard) { s.facts = func() (map[string]any, error) { return nil, errors.New("none") } }, "the target w (transport wire) can't be used: none"},
		"panic":   {func(s *switchboard) { s.facts = func() (map[string]any, error) { panic("it burns") } }, "it burns"},
		"closing": {func(s *switchboard) { s.close = func() error { return errors.New("stuck") } }, "stuck"},
		"broken":  {func(s *switchboard) { s.close = func() error { panic("torn") } }, "torn"},
	} {
		o := newOffice(t, plainTargets)
		c.set(o.board)
		facts, err := o.ts.Facts(t.Context(), "w", enginetest.NewHost())
		if c.want == "" && (err != nil || facts["name"] != "w") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v %v", name, facts, err)
		}
		o.board.mu.Lock()
		if last := o.board.log[len(o.board.log)-1]; last != "close w" {
			t.Errorf("%s: the connection is not closed: %q", name, o.board.log)
		}
		o.board.mu.Unlock()
		if _, err := o.ts.Facts(t.Context(), "v", nil); err == nil || err.Error() != `there is no target "v": there are w` {
			t.Error(err)
		}
	}
}

// TestLineIsLost: after an error of a provider the transport is asked whether the target is there. If it is, the error is the provider's
// alone. If it is not, the error names the target and what was set, the connection is closed, and the next call connects and reads anew.
func TestLineIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, plainTargets)
		c := o.crew("rec", "x=2")
		defer c.end()
		o.stock.set = func(*provider.Runtime, []provider.Change) error { return errors.New("the line is dead") }
		wantOuts(t, c.run(true), "the line is dead")
		o.board.want(t, "connect w 1.2:22", "verify w")
		o.stock.took()

		o.board.verify = func(context.Context) error { return errors.New("no answer") }
		outs := c.run(true)
		var lost *provider.TargetError
		if !errors.As(outs[0].Err, &lost) || !slices.Equal(lost.Resources, []string{"rec[x@w]"}) ||
			!strings.Contains(lost.Error(), "the target w (transport wire) was lost while rec[x@w] was set: ") || !strings.Contains(lost.Error(), "the line is dead") {
			t.Errorf("%v", outs[0].Err)
		}
		o.board.want(t, "verify w", "close w")
		o.board.verify, o.stock.set = nil, nil
		o.stock.took()
		wantOuts(t, c.run(true), "changed")
		o.board.want(t, "connect w 1.2:22")
		wantLog(t, o.stock, "get", "set x", "get")
	})
}

// TestLineIsLostForAll: with the target all that was read of it counts no more, though only one thing was set.
func TestLineIsLostForAll(t *testing.T) {
	o := newOffice(t, plainTargets)
	c := o.crew("rec", "x=2", "y=1")
	defer c.end()
	o.stock.set = func(rt *provider.Runtime, changes []provider.Change) error { return errors.New("the line is dead") }
	o.board.verify = func(context.Context) error { return errors.New("no answer") }
	c.sh.Begin()
	defer c.sh.End()
	wantOuts(t, c.check(true, c.res[1]), "ok")
	wantOuts(t, c.check(true, c.res[0]), "was lost")
	wantLog(t, o.stock, "get", "set x")
	wantOuts(t, c.check(true, c.res[1]), "ok")
	wantLog(t, o.stock, "get")
}

// TestLineIsLostInALook: a look that fails since the target is gone says so, without a resource that was set.
func TestLineIsLostInALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, plainTargets)
		c := o.crew("rec", "x=1")
		defer c.end()
		o.stock.get = func() error { return errors.New("nothing is heard") }
		o.board.verify = func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		began := time.Now()
		outs := c.run(true)
		var lost *provider.TargetError
		if !errors.As(outs[0].Err, &lost) || lost.Resources != nil || !strings.Contains(lost.Error(), "can't be used: ") || !strings.Contains(lost.Error(), "nothing is heard") {
			t.Errorf("%v", outs[0].Err)
		}
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("a Verify that hangs is given up after %s", took)
		}
		o.board.want(t, "connect w 1.2:22", "verify w", "close w")
	})
}

// TestLineClosesBadly: an error or a panic of Close is told when the last controller goes.
func TestLineClosesBadly(t *testing.T) {
	for name, close := range map[string]func() error{"error": func() error { return errors.New("stuck") }, "panic": func() error { panic("stuck") }} {
		o := newOffice(t, plainTargets)
		c := o.crew("rec", "x=1")
		wantOuts(t, c.run(true), "ok")
		o.board.close = close
		must(t, c.res[0].Cleanup())
		if err := c.sh.Close(); err == nil || !strings.Contains(err.Error(), "stuck") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// farClerk notes what its Runtime has of the target.
type farClerk struct {
	clerk
	see func(*provider.Runtime)
}

func (c farClerk) Get(ctx context.Context, rt *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	c.see(rt)
	return c.clerk.Get(ctx, rt, f)
}

// commander is a connection that runs commands.
type commander struct{ *call }

func (c commander) Command(_ context.Context, cmd engine.Command) (*engine.Result, error) {
	c.note("run %s", strings.Join(cmd.Argv, " "))
	return &engine.Result{Stdout: []byte("far")}, nil
}

// TestRuntimeOfATarget: a provider on a target has its connection, and of the Host only the commands, if the transport runs any. All else
// is an error, and never an answer about this machine.
func TestRuntimeOfATarget(t *testing.T) {
	for _, runs := range []bool{false, true} {
		t.Run(fmt.Sprintf("commands %v", runs), func(t *testing.T) {
			o := newOffice(t, `{}`)
			o.known = wires(t, func(ctx context.Context, l *provider.Line, info provider.Record) (provider.Transport, error) {
				if runs {
					return commander{&call{o.board, l.Target}}, nil
				}
				return &call{o.board, l.Target}, nil
			})
			o.declare(plainTargets)
			seen := 0
			k, err := provider.New(simple(provider.RemoteResource), func() provider.Provider {
				return o.stock.hire(farClerk{clerk{o.stock}, func(rt *provider.Runtime) {
					seen++
					if rt.Target != "w" || rt.Transport == nil {
						t.Errorf("target %q, transport %v", rt.Target, rt.Transport)
					}
					res, err := rt.Host.Command(t.Context(), engine.Command{Argv: []string{"uname", "-a"}})
					if runs && (err != nil || string(res.Stdout) != "far") || !runs && (err == nil || !strings.Contains(err.Error(), "this transport runs no commands on its targets")) {
						t.Error("a command:", res, err)
					}
					if _, err := rt.Host.Watch(t.Context(), []string{"/"}, events.Options{}); err == nil || err.Error() != "files of a target can't be watched" {
						t.Error("Watch:", err)
					}
					if _, err := rt.Host.Bus(t.Context(), bus.System); err == nil || err.Error() != "a target has no bus here" {
						t.Error("Bus:", err)
					}
					if _, err := rt.Host.WatchFacts(t.Context()); err == nil || err.Error() != "facts of a target can't be watched" {
						t.Error("WatchFacts:", err)
					}
					if f := rt.Host.Facts(); f.Hostname != "" || f.Kernel != "" {
						t.Errorf("facts of this machine: %+v", f)
					}
				}})
			})
			must(t, err)
			o.kinds = engine.NewRegistry()
			must(t, o.kinds.Register("rec", k.New))
			o.kinds, err = provider.BindTargets(o.kinds, o.ts)
			must(t, err)
			c := o.crew("rec", "x=1")
			wantOuts(t, c.run(true), "ok")
			c.end()
			if seen != 1 {
				t.Errorf("the provider was called %d times", seen)
			}
			want := []string{"close w"}
			if runs {
				want = []string{"run uname -a", "close w"}
			}
			o.board.want(t, want...)
		})
	}
}

// TestTargetOfAResource: Validate says why a resource can't be on its target.
func TestTargetOfAResource(t *testing.T) {
	o := newOffice(t, `{"web1": {"transport": "wire", "address": "1"}, "web2": {"transport": "wire", "address": "2"}}`)
	only := simple(provider.RemoteResource)
	only.Name, only.Transports = "only", []string{"rope", "ssh"}
	local := simple(0)
	local.Name = "local"
	for _, d := range []provider.Definition{only, local} {
		k, err := provider.New(d, o.stock.clerk)
		must(t, err)
		must(t, o.kinds.Register(d.Name, k.New))
	}
	unbound, err := o.kinds.New("only")
	must(t, err)
	must(t, schema.Set(unbound.(schema.Typed), "target", "web1"))
	unbound.SetName("x@web1")
	if err := unbound.Validate(); err == nil || !strings.Contains(err.Error(), `there is no target "web1", nor any other`) {
		t.Error("without targets:", err)
	}
	bound, err := provider.BindTargets(o.kinds, o.ts)
	must(t, err)
	for _, c := range []struct{ kind, target, want string }{
		{"rec", "web1", ""},
		{"rec", "", ""},
		{"rec", "web3", `there is no target "web3": there are web1, web2 (did you mean "web1"?)`},
		{"only", "web1", "the target web1 is reached by the transport wire, and a only works over rope, ssh only"},
		{"only", "", ""},
	} {
		r, err := bound.New(c.kind)
		must(t, err)
		r.SetName(targets.Qualify("x", c.target))
		if c.target != "" {
			must(t, schema.Set(r.(schema.Typed), "target", c.target))
		}
		err = r.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		if got := targets.Of(r); got != c.target {
			t.Errorf("%+v: its target is %q", c, got)
		}
	}
	r, err := bound.New("local")
	must(t, err)
	if err := schema.Set(r.(schema.Typed), "target", "web1"); err == nil {
		t.Error("a kind without remote_resource takes a target")
	}
	if targets.Of(r) != "" || r.(engine.TargetedRes).Targeted() {
		t.Error("a kind without remote_resource has a target")
	}
}

// TestTargetErrorNamesSome: of many resources that were set, the error names two.
func TestTargetErrorNamesSome(t *testing.T) {
	cause := errors.New("gone")
	for n, want := range map[int]string{
		0: "the target w (transport wire) can't be used: gone",
		1: "the target w (transport wire) was lost while rec[a] was set: gone",
		2: "the target w (transport wire) was lost while rec[a] and 1 more was set: gone",
		3: "the target w (transport wire) was lost while rec[a] and 2 more was set: gone",
		5: "the target w (transport wire) was lost while rec[a], rec[b] and 3 more was set: gone",
	} {
		err := &provider.TargetError{Target: "w", Transport: "wire", Err: cause, Resources: []string{"rec[a]", "rec[b]", "rec[c]", "rec[d]", "rec[e]"}[:n]}
		if err.Error() != want || !errors.Is(err, cause) {
			t.Errorf("%d: %v", n, err)
		}
	}
}
