package reactor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/reversal"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// shelf is what cells are about: texts by name.
type shelf struct {
	mu    sync.Mutex
	texts map[string]string
	wake  map[string]chan struct{}
	fail  map[string]error
}

func newShelf(texts ...string) *shelf {
	m := &shelf{texts: map[string]string{}, wake: map[string]chan struct{}{}, fail: map[string]error{}}
	for _, s := range texts {
		name, text, _ := strings.Cut(s, "=")
		m.texts[name] = text
	}
	return m
}

func (m *shelf) get(name string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.texts[name]
	return s, ok
}

// put alters a text, "-" removes it, and wakes who watches it.
func (m *shelf) put(name, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.texts[name] = text; text == "-" {
		delete(m.texts, name)
	}
	select {
	case m.watched(name) <- struct{}{}:
	default:
	}
}

func (m *shelf) watch(name string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watched(name)
}

func (m *shelf) watched(name string) chan struct{} {
	if m.wake[name] == nil {
		m.wake[name] = make(chan struct{}, 1)
	}
	return m.wake[name]
}

func (m *shelf) failing(name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail[name] = err
}

func (m *shelf) failure(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fail[name]
}

// cell keeps one text of a shelf; "-" for none. It can be undone.
type cell struct {
	traits.Base
	traits.Reversible
	traits.Recvable
	Text string `yaml:"text"`

	m      *shelf
	init   *engine.Init
	before func() // is called right before it alters something; nil for none
}

func (c *cell) Default() engine.Res       { return &cell{m: c.m} }
func (*cell) Validate() error             { return nil }
func (c *cell) Init(i *engine.Init) error { c.init = i; return nil }
func (*cell) Cleanup() error              { return nil }
func (c *cell) Cmp(o engine.Res) error    { return engine.CmpFields(c, o) }

func (c *cell) Watch(ctx context.Context) error {
	wake := c.m.watch(c.Name())
	c.init.Running()
	for {
		select {
		case <-wake:
			c.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *cell) CheckApply(_ context.Context, apply bool) (bool, error) {
	has, ok := c.m.get(c.Name())
	if !ok {
		has = "-"
	}
	if has == c.Text {
		return true, nil
	}
	c.init.Change(engine.Change{Field: "text", From: has, To: c.Text})
	if !apply {
		return false, nil
	}
	if err := c.m.failure(c.Name()); err != nil {
		return false, err
	}
	if c.before != nil {
		c.before()
	}
	c.m.put(c.Name(), c.Text)
	return false, nil
}

func (c *cell) Read(context.Context) (engine.Res, error) {
	if err := c.m.failure("read " + c.Name()); err != nil {
		return nil, err
	}
	has, ok := c.m.get(c.Name())
	if !ok {
		return nil, nil
	}
	return &cell{Text: has}, nil
}

func (c *cell) Reversed(was engine.Res) (engine.Res, error) {
	if c.Text == "for ever" {
		return nil, errors.New("it is for ever")
	}
	undo := &cell{Text: "-", m: c.m}
	if was != nil {
		undo.Text = was.(*cell).Text
	}
	return undo, nil
}

// cells is a graph of cells, "name=text" each, all to be reversed.
func (m *shelf) cells(t *testing.T, list ...string) *decl {
	d := newDecl(t)
	for _, s := range list {
		name, text, _ := strings.Cut(s, "=")
		c := &cell{Text: text, m: m}
		c.MetaParams().Reverse = true
		d.add(name, c)
	}
	return d
}

func (s *memStore) failing(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *memStore) keys(table string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for k := range s.recs[table] {
		keys = append(keys, strings.TrimSuffix(strings.TrimPrefix(k, "fake["), "]"))
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

func (s *memStore) reversal(t *testing.T, name string) (*reversal.Reversal, *reversal.Image) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "fake[" + name + "]"
	rev, err := reversal.Decode(records.Record{Key: id, Value: s.recs[reversal.Table][id]})
	if err != nil {
		t.Fatal(err)
	}
	if rev.Why != "" {
		return rev, nil
	}
	img, err := reversal.DecodeImage(records.Record{Key: id, Value: s.recs[reversal.TableImage][id]})
	if err != nil {
		t.Fatal(err)
	}
	return rev, img
}

// wanted is the text that the cell wanted last, if it is another one than at first.
func (s *memStore) wanted(t *testing.T, name string) any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "fake[" + name + "]"
	w, err := reversal.DecodeWanted(records.Record{Key: id, Value: s.recs[reversal.TableWanted][id]})
	if err != nil {
		t.Fatal(err)
	}
	return w.Declared["text"]
}

// undo adds to a graph what undoes one that has left, as the step reverse does.
func (m *shelf) undo(t *testing.T, s *memStore, d *decl, name string) *decl {
	t.Helper()
	rev, img := s.reversal(t, name)
	res, err := lifecycle.Undo(img, rev, func(string) (engine.Res, error) { return &cell{m: m}, nil }, false)
	if err != nil {
		t.Fatal(err)
	}
	d.add(name, res)
	i, _ := d.g.Index(rev.ID())
	v := d.g.Value(i)
	v.Alter(func(s *resgraph.Special) { s.Once, s.Secret = true, img.Secret })
	return d
}

// TestImage: what is there is kept before the first change, and by no later one,
// in this process or another.
func TestImage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, m := &memStore{}, newShelf("a=old", "b=right", "new=x")
		for i, text := range []string{"new", "newer", "newest"} {
			rg := newRig(t, reactor.Options{Store: store})
			rg.swap(m.cells(t, "a="+text, "b=right", "c="+text))
			rg.rest()
			if i == 1 {
				m.put("a", "drift")
				rg.rest()
			}
			rg.swap(m.cells(t, "a=other"+text, "b=right", "c=other"+text))
			rg.rest()
			rg.close()
		}
		if got := store.keys(reversal.Table) + "|" + store.keys(reversal.TableImage); got != "a c|a c" {
			t.Errorf("kept is something of %s", got)
		}
		if _, img := store.reversal(t, "a"); img.Was["text"] != "old" || img.Declared["text"] != "new" {
			t.Errorf("kept is %v for %v", img.Was, img.Declared)
		}
		if _, img := store.reversal(t, "c"); img.Was != nil {
			t.Errorf("kept is %v for what was not there", img.Was)
		}
		if got := store.keys(reversal.TableWanted); got != "a c" || store.wanted(t, "a") != "othernewest" {
			t.Errorf("what was wanted last is kept of %s, of a %v", got, store.wanted(t, "a"))
		}
	})
}

// TestImageIsFirst: it is durable when the change is made.
func TestImageIsFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newShelf("a=old")
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		var seen string
		d := m.cells(t, "a=new")
		d.g.Value(0).Res.(*cell).before = func() { seen = rg.store.keys(reversal.TableImage) }
		rg.swap(d)
		rg.rest()
		if seen != "a" {
			t.Errorf("when it was altered, kept was something of %q", seen)
		}
	})
}

// TestWantedIsFirst: what an edit of the graph, or a value that is received, wants is
// durable when the change is made, and repairs write nothing. Seen failing with wants
// true only where nothing is kept; and with k.by or k.with not looked at.
func TestWantedIsFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newShelf("a=old")
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		rg.swap(m.cells(t, "a=new"))
		rg.rest()
		if got := rg.store.wanted(t, "a"); got != nil {
			t.Errorf("at first %v is kept beside the image", got)
		}
		for _, text := range []string{"newer", "newest"} {
			var seen any
			d := m.cells(t, "a="+text)
			d.g.Value(0).Res.(*cell).before = func() { seen = rg.store.wanted(t, "a") }
			rg.swap(d)
			rg.rest()
			if seen != text {
				t.Errorf("when it was altered to %s, kept was %v", text, seen)
			}
			n := rg.store.n
			m.put("a", "drift")
			rg.rest()
			if has, _ := m.get("a"); has != text || rg.store.n != n {
				t.Errorf("a repair to %s is %s, after %d commits more", text, has, rg.store.n-n)
			}
		}
		sent := "first"
		s := &sender{fake{w: newWorld(), check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			return true, f.init.Send(sends{Out: sent})
		}}}
		for _, text := range []string{"first", "second"} {
			sent = text
			d := newDecl(t).add("s", s)
			c := &cell{Text: "x", m: m}
			c.MetaParams().Reverse = true
			d.add("a", c, "text=fake[s].out").edges("s>a")
			rg.swap(d)
			rg.rest()
			if has, _ := m.get("a"); has != text || rg.store.wanted(t, "a") != text {
				t.Errorf("%s was received, it is %s, and kept is %v", text, has, rg.store.wanted(t, "a"))
			}
			s = &sender{fake{w: newWorld(), check: s.check}}
		}
	})
}

// TestWantedTooLarge: what can't be kept of an edit is made all the same, and said.
func TestWantedTooLarge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newShelf("a=old")
		var log bytes.Buffer
		rg := newRig(t, reactor.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer rg.close()
		for _, text := range []string{"new", strings.Repeat("x", reversal.MaxImage), "small"} {
			rg.swap(m.cells(t, "a="+text))
			rg.rest()
			if has, _ := m.get("a"); has != text {
				t.Errorf("it is %.10s..., want %.10s...", has, text)
			}
		}
		if n := strings.Count(log.String(), "from now on can't be undone"); n != 1 || rg.store.wanted(t, "a") != nil {
			t.Errorf("%d warnings, and kept is %.10v", n, rg.store.wanted(t, "a"))
		}
	})
}

// TestNoImage: nothing is kept of what asks for it and is right, only looks, or
// can't be undone by its kind; nor of what does not ask.
func TestNoImage(t *testing.T) {
	for name, set := range map[string]func(*engine.MetaParams) engine.Res{
		"right": func(m *engine.MetaParams) engine.Res {
			return &cell{Text: "old", m: newShelf("a=old")}
		},
		"noop": func(m *engine.MetaParams) engine.Res {
			m.Noop = new(true)
			return &cell{Text: "new", m: newShelf("a=old")}
		},
		"report": func(m *engine.MetaParams) engine.Res {
			m.Drift = engine.DriftReport
			return &cell{Text: "new", m: newShelf("a=old")}
		},
		"no ability": func(m *engine.MetaParams) engine.Res { return &fake{w: newWorld(), check: always(false, nil)} },
		"not asked": func(m *engine.MetaParams) engine.Res {
			m.Reverse = false
			return &cell{Text: "new", m: newShelf("a=old")}
		},
	} {
		bubble(t, func(t *testing.T) {
			rg := newRig(t, reactor.Options{})
			defer rg.close()
			meta := &engine.MetaParams{Reverse: true}
			res := set(meta)
			res.SetMetaParams(meta)
			rg.swap(newDecl(t).add("a", res))
			rg.rest()
			if rg.store.n != 0 {
				t.Errorf("%s: there were %d commits", name, rg.store.n)
			}
		})
	}
}

// TestImageOrder: the neighbours are kept, and who is behind those that keep no
// order of their own.
func TestImageOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		m := newShelf("right=x")
		d := m.cells(t, "far=1", "up=1", "right=x", "a=1", "down=1", "further=1")
		d.add("plain", &fake{w: newWorld()}).add("behind", &fake{w: newWorld()})
		rg.swap(d.edges("far>up", "up>right", "right>a", "a>down", "down>further", "a>plain", "plain>behind"))
		rg.rest()
		rev, _ := rg.store.reversal(t, "a")
		if got, want := fmt.Sprint(rev.After, rev.Before), "[fake[right] fake[up]] [fake[behind] fake[down] fake[plain]]"; got != want {
			t.Errorf("kept is %s, want %s", got, want)
		}
	})
}

// TestImageOrLeaveIt: what can't be looked at, or written down, is not altered.
func TestImageOrLeaveIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for name, spoil := range map[string]func(*shelf, *memStore) (mend func()){
			"Read fails": func(m *shelf, _ *memStore) func() {
				m.failing("read a", errors.New("no eyes"))
				return func() { m.failing("read a", nil) }
			},
			"the store fails": func(_ *shelf, s *memStore) func() {
				s.failing(errors.New("no disk"))
				return func() { s.failing(nil) }
			},
		} {
			rg := newRig(t, reactor.Options{})
			m := newShelf("a=old")
			mend := spoil(m, rg.store)
			d := m.cells(t, "a=new")
			d.g.Value(0).Res.MetaParams().Retry = -1
			d.g.Value(0).Res.MetaParams().Delay = time.Second
			rg.swap(d)
			rg.rest()
			if s := rg.state("a"); s.State != resgraph.StateFailed || !strings.Contains(fmt.Sprint(s.Err), "nothing was changed") {
				t.Errorf("%s: it is %s, %v", name, s.State, s.Err)
			}
			if has, _ := m.get("a"); has != "old" {
				t.Errorf("%s: it was altered to %q", name, has)
			}
			mend()
			time.Sleep(2 * time.Second)
			if has, _ := m.get("a"); has != "new" || rg.store.keys(reversal.TableImage) != "a" {
				t.Errorf("%s: then it is %q", name, has)
			}
			rg.close()
		}
	})
}

// TestUndoneOnce: the reversal is made once, what was kept is forgotten, and from
// then on the vertex rests, whatever happens; the next graph is without it.
func TestUndoneOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		m := newShelf("a=old")
		rg.swap(m.cells(t, "a=new"))
		rg.rest()
		rg.swap(m.undo(t, rg.store, m.cells(t), "a"))
		rg.rest()
		if has, _ := m.get("a"); has != "old" || rg.store.keys(reversal.Table)+rg.store.keys(reversal.TableImage)+rg.store.keys(reversal.TableWanted) != "" {
			t.Errorf("it is %q, kept is something of %q", has, rg.store.keys(reversal.Table))
		}
		m.put("a", "by hand")
		time.Sleep(3 * time.Hour) // of sweeps too
		if has, _ := m.get("a"); has != "by hand" {
			t.Errorf("what was made by hand became %q", has)
		}
		if s := rg.state("a"); s.State != resgraph.StateOK {
			t.Errorf("it is %s", s.State)
		}
		rg.swap(m.cells(t))
		rg.rest()
	})
}

// TestUndoneAfterFailures: what was kept stays until the reversal has succeeded,
// over restarts; and who comes back before that finds the first image.
func TestUndoneAfterFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, m := &memStore{}, newShelf("a=old")
		rg := newRig(t, reactor.Options{Store: store})
		rg.swap(m.cells(t, "a=new"))
		rg.rest()
		rg.close()
		m.failing("a", errors.New("not now"))
		rg = newRig(t, reactor.Options{Store: store})
		rg.swap(m.undo(t, store, m.cells(t), "a"))
		rg.rest()
		if s := rg.state("a"); s.State != resgraph.StateFailed || store.keys(reversal.TableImage) != "a" {
			t.Errorf("it is %s, kept is something of %q", s.State, store.keys(reversal.TableImage))
		}
		m.failing("a", nil)
		rg.swap(m.cells(t, "a=newer"))
		rg.rest()
		if _, img := store.reversal(t, "a"); img.Was["text"] != "old" {
			t.Errorf("kept is %v", img.Was)
		}
		rg.swap(m.undo(t, store, m.cells(t), "a"))
		rg.rest()
		rg.swap(m.cells(t, "a=again")) // after the reversal all begins anew
		rg.rest()
		if has, _ := m.get("a"); has != "again" {
			t.Errorf("what came back is %q", has)
		}
		if _, img := store.reversal(t, "a"); img.Was["text"] != "old" || img.Declared["text"] != "again" {
			t.Errorf("kept is %v for %v", img.Was, img.Declared)
		}
		rg.close()
	})
}

// TestUndoneUnderNoop: nothing is undone, and nothing forgotten.
func TestUndoneUnderNoop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, m := &memStore{}, newShelf("a=old")
		rg := newRig(t, reactor.Options{Store: store})
		rg.swap(m.cells(t, "a=new"))
		rg.rest()
		rg.close()
		rg = newRig(t, reactor.Options{Store: store, Noop: reactor.NoopAll})
		defer rg.close()
		rg.swap(m.undo(t, store, m.cells(t), "a"))
		rg.rest()
		if has, _ := m.get("a"); has != "new" || store.keys(reversal.TableImage) != "a" || rg.state("a").State != resgraph.StateWouldChange {
			t.Errorf("it is %q and %s, kept is something of %q", has, rg.state("a").State, store.keys(reversal.TableImage))
		}
	})
}

// TestNoLongerReversed: with reverse: false nothing is kept any more.
func TestNoLongerReversed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		m := newShelf()
		rg.swap(m.cells(t, "a=new"))
		rg.rest()
		rg.swap(newDecl(t).add("a", &cell{Text: "new", m: m}))
		rg.rest()
		if got := rg.store.keys(reversal.Table) + rg.store.keys(reversal.TableImage) + rg.store.keys(reversal.TableWanted); got != "" {
			t.Errorf("kept is something of %q", got)
		}
	})
}

// TestCannotBeUndone: it is told before the first change, kept as that so that the
// next process does not take our own work for what was there, and forgotten when
// it leaves.
func TestCannotBeUndone(t *testing.T) {
	for name, c := range map[string]struct{ old, text, why string }{
		"refused":   {"old", "for ever", "it is for ever"},
		"too large": {strings.Repeat("x", reversal.MaxImage), "new", "not more than 12MiB are kept"},
	} {
		bubble(t, func(t *testing.T) {
			var log bytes.Buffer
			store, m := &memStore{}, newShelf("a="+c.old)
			for range 2 {
				rg := newRig(t, reactor.Options{Store: store, Logger: textLogger(&log)})
				rg.swap(m.cells(t, "a="+c.text, "b=new"))
				rg.rest()
				m.put("a", "drift")
				rg.rest()
				rg.close()
			}
			if has, _ := m.get("a"); has != c.text {
				t.Errorf("%s: it is %.10q", name, has)
			}
			if rev, _ := store.reversal(t, "a"); !strings.Contains(rev.Why, c.why) || store.keys(reversal.TableImage) != "b" {
				t.Errorf("%s: kept is %q", name, rev.Why)
			}
			if n := strings.Count(log.String(), "can't be undone"); n != 1 {
				t.Errorf("%s: it was told %d times: %s", name, n, log.String())
			}
			rg := newRig(t, reactor.Options{Store: store})
			rg.swap(m.cells(t))
			rg.rest()
			rg.close()
			if got := store.keys(reversal.Table); got != "b" { // that can still be undone
				t.Errorf("%s: kept is something of %q", name, got)
			}
		})
	}
}

// TestUndoneSecret: what was secret when it was kept is so when it is undone, in
// the handle and in every text.
func TestUndoneSecret(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		store, m := &memStore{}, newShelf("a=the old secret")
		rg := newRig(t, reactor.Options{Store: store})
		from := &sender{fake{w: newWorld(), check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			return true, f.init.Send(sends{Secret: schema.NewSecret("the new secret")})
		}}}
		d := newDecl(t).add("from", from)
		c := &cell{m: m}
		c.MetaParams().Reverse = true
		rg.swap(d.add("a", c, "text=fake[from].secret").edges("from>a"))
		rg.rest()
		rg.close()
		if _, img := store.reversal(t, "a"); !slices.Contains(img.Secret, "text") {
			t.Errorf("secret are %v", img.Secret)
		}
		m.failing("a", errors.New("it is not the old secret"))
		rg = newRig(t, reactor.Options{Store: store, Logger: textLogger(&log)})
		defer rg.close()
		d = m.undo(t, store, m.cells(t), "a")
		undo := d.g.Value(0).Res.(*cell)
		rg.swap(d)
		rg.rest()
		if s := undo.init.Recv()["text"]; s == nil || !s.Secret {
			t.Errorf("the handle says %v", undo.init.Recv())
		}
		undo.init.Logf("from the old secret")
		synctest.Wait()
		if text := log.String() + fmt.Sprint(rg.state("a").Err, rg.runs("a")); strings.Contains(text, "old secret") {
			t.Errorf("it is shown: %s", text)
		}
	})
}
