package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// meddler is a World whose calls are counted. before each call it may do something else, or fail it.
type meddler struct {
	world.World
	calls  int
	before func(call int) error
}

func (m *meddler) meddle() error {
	m.calls++
	if m.before == nil {
		return nil
	}
	return m.before(m.calls)
}

func (m *meddler) Get(ctx context.Context, key string) (world.KV, error) {
	if err := m.meddle(); err != nil {
		return world.KV{}, err
	}
	return m.World.Get(ctx, key)
}

func (m *meddler) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if err := m.meddle(); err != nil {
		return world.Page{}, err
	}
	return m.World.List(ctx, prefix, o)
}

func (m *meddler) Txn(ctx context.Context, c []world.Compare, o []world.Op) (int64, bool, error) {
	if err := m.meddle(); err != nil {
		return 0, false, err
	}
	return m.World.Txn(ctx, c, o)
}

func (m *meddler) Limits() world.Limits { return world.Limits{Ops: 4, Bytes: 16 << 10, Key: 4 << 10} }

// meddled returns a store, and the meddler below it.
func meddled(t *testing.T) (deploy.Store, *meddler) {
	t.Helper()
	w := memory.New()
	t.Cleanup(func() { must(t, w.Close()) })
	m := &meddler{World: w}
	return deploy.Store{World: m}, m
}

// long is the text of a file that takes several parts in the store of a meddler.
func long(name string) string { return strings.Repeat(name+"\n", 30<<10/(len(name)+1)) }

// deployed brings a deploy to its end.
func deployed(t *testing.T, s deploy.Store, k deploy.Key, o deploy.Order) *deploy.Lead {
	t.Helper()
	l, err := s.Begin(t.Context(), k, o)
	must(t, err)
	step(t, l)
	return l
}

// TestEachCallFails: whichever call of the store fails, each function returns that error, says nothing that is not so, and the
// next try does its work.
func TestEachCallFails(t *testing.T) {
	errLost := errors.New("the store is lost")
	k := newKey(t)
	for name, do := range map[string]func(deploy.Store) error{
		"Begin":   func(s deploy.Store) error { return second(s.Begin(t.Context(), k, order(t, "all", long("new")))) },
		"Resume":  func(s deploy.Store) error { return second(s.Begin(t.Context(), k, order(t, "under way", long("old")))) },
		"Prune":   func(s deploy.Store) error { return second(s.Prune(t.Context(), "all", 1)) },
		"History": func(s deploy.Store) error { return second(s.History(t.Context(), "")) },
		"Topics":  func(s deploy.Store) error { return second(s.Topics(t.Context())) },
		"Reports": func(s deploy.Store) error { return second(s.Reports(t.Context())) },
		"Rollout": func(s deploy.Store) error { return second(s.Rollout(t.Context(), "all")) },
		"Get":     func(s deploy.Store) error { return second(s.Get(t.Context(), "all", 1)) },
		"Content": func(s deploy.Store) error {
			r, err := s.Get(t.Context(), "all", 3)
			if err != nil {
				return err
			}
			m, err := r.Read()
			must(t, err)
			return second(s.Content(t.Context(), m))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for failing := 1; ; failing++ {
				s, m := meddled(t)
				for i := range 3 {
					deployed(t, s, k, order(t, "all", long(fmt.Sprint("text ", i))))
				}
				_, err := s.Begin(t.Context(), k, order(t, "under way", long("old")))
				must(t, err)
				m.calls = 0
				m.before = func(call int) error {
					if call == failing {
						return errLost
					}
					return nil
				}
				err = do(s)
				if err == nil && m.calls < failing {
					return // every call has failed once
				}
				if !errors.Is(err, errLost) {
					t.Fatalf("call %d fails: the error is %v", failing, err)
				}
				must(t, do(s))
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// TestEndedContext: a context that has ended ends each function, and nothing is written.
func TestEndedContext(t *testing.T) {
	s, k := newStore(t), newKey(t)
	l := deployed(t, s, k, order(t, "all", "one"))
	deployed(t, s, k, order(t, "all", "two"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"Begin":   second(s.Begin(ctx, k, order(t, "all", "three"))),
		"Step":    second(l.Step(ctx, nil, nil, nil)),
		"Prune":   second(s.Prune(ctx, "all", 1)),
		"History": second(s.History(ctx, "all")),
		"Topics":  second(s.Topics(ctx)),
		"Content": second(s.Content(ctx, l.Manifest)),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := s.History(t.Context(), "all"); err != nil || len(list) != 2 {
		t.Errorf("the history is %+v: %v", list, err)
	}
}

// TestDamagedRollout: it is told with a way out. That way leads to a new number, and hosts that are not reached yet keep their graph.
func TestDamagedRollout(t *testing.T) {
	for name, value := range map[string]string{"torn": `{"number": 1`, "another type": `{"number": "1"}`, "empty": "", "below nothing": `{"number": -1}`, "beyond all": `{"number": 9223372036854775807}`} {
		t.Run(name, func(t *testing.T) {
			s, k := newStore(t), newKey(t)
			deployed(t, s, k, order(t, "all", "one"))
			_, _, err := s.World.Txn(t.Context(), nil, []world.Op{{Key: deploy.RolloutKey("all"), Value: []byte(value)}})
			must(t, err)
			if _, err := s.Rollout(t.Context(), "all"); !errors.Is(err, deploy.ErrRecord) {
				t.Errorf("the rollout is read: %v", err)
			}
			o := order(t, "all", "two")
			if _, err := s.Begin(t.Context(), k, o); !errors.Is(err, deploy.ErrRecord) || !strings.Contains(err.Error(), "--take-over") {
				t.Errorf("a deploy begins: %v", err)
			}
			if _, err := s.Prune(t.Context(), "all", 1); !errors.Is(err, deploy.ErrRecord) {
				t.Errorf("deploys are deleted: %v", err)
			}
			o.Takeover = true
			l, err := s.Begin(t.Context(), k, o)
			if err != nil || l.Manifest.Number != 2 || l.Rollout.Due("h") != 0 {
				t.Fatalf("the deploy that takes over is %+v: %v", l, err)
			}
		})
	}
}

// TestStrangeRecords: keys that no operator writes hide no deploy, use up no number, and do not count as deploys that are kept.
func TestStrangeRecords(t *testing.T) {
	s, k := newStore(t), newKey(t)
	for _, text := range []string{"one", "two"} {
		deployed(t, s, k, order(t, "all", text))
	}
	for _, name := range []string{"x", "", "2", "-00000000001", "+00000000001", "000000000000", "9223372036854775807", "99999999999999999999", "000000000001/x"} {
		write(t, s, "deploys/all/record/"+name, "strange")
	}
	write(t, s, "deploys/all/record/000000000003", "damaged")
	list, err := s.History(t.Context(), "")
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%s %d %t", d.Topic, d.Number, d.Err == nil))
	}
	if want := []string{"all 1 true", "all 2 true", "all 3 false"}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("the history is %q: %v", got, err)
	}
	if l := deployed(t, s, k, order(t, "all", "four")); l.Manifest.Number != 4 {
		t.Errorf("the next number is %d", l.Manifest.Number)
	}
	gone, err := s.Prune(t.Context(), "all", 2)
	if err != nil || !slices.Equal(gone, []int64{1}) { // the rollout of 4 is based on 2
		t.Errorf("%v are deleted: %v", gone, err)
	}
	write(t, s, "deploys/all/record/999999999999", "the last number")
	if _, err := s.Begin(t.Context(), k, order(t, "all", "five")); err == nil || !strings.Contains(err.Error(), "no number is left") {
		t.Errorf("a number beyond the last: %v", err)
	}
}

// TestForgottenRevision: a list of many pages begins again where the store has forgotten the revision of the first page; where
// that never ends, the error of the store is returned.
func TestForgottenRevision(t *testing.T) {
	s, m := meddled(t)
	var want []string
	for i := range 1100 {
		host := fmt.Sprintf("h%04d", i)
		write(t, s, deploy.ReportKey(host), deploy.Report{Host: host})
		want = append(want, host)
	}
	m.calls = 0
	m.before = func(call int) error {
		if call == 3 { // the third page
			return fmt.Errorf("kept since 7: %w", world.ErrCompacted)
		}
		return nil
	}
	list, err := s.Reports(t.Context())
	var got []string
	for _, r := range list {
		got = append(got, r.Host)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("there are %d reports of %d: %v", len(got), len(want), err)
	}
	m.before = func(int) error { return world.ErrCompacted }
	if _, err := s.Reports(t.Context()); !errors.Is(err, world.ErrCompacted) {
		t.Errorf("a store that forgets at once: %v", err)
	}
}

// TestListIsOneMoment: what others write between two pages is no part of a list.
func TestListIsOneMoment(t *testing.T) {
	s, m := meddled(t)
	for i := range 600 {
		write(t, s, deploy.ReportKey(fmt.Sprintf("h%04d", i)), deploy.Report{Host: fmt.Sprintf("h%04d", i)})
	}
	m.calls = 0
	m.before = func(call int) error {
		if call == 2 {
			text, err := json.Marshal(deploy.Report{Host: "late"})
			must(t, err)
			_, _, err = m.World.Txn(t.Context(), nil, []world.Op{{Key: deploy.ReportKey("late"), Value: text}})
			must(t, err)
		}
		return nil
	}
	if list, err := s.Reports(t.Context()); err != nil || len(list) != 600 {
		t.Errorf("there are %d reports: %v", len(list), err)
	}
}

// TestTwoPrunes: where an operator begins between two transactions of a prune, that prune ends with ErrBusy, and the new deploy is whole.
func TestTwoPrunes(t *testing.T) {
	k := newKey(t)
	for at := 1; ; at++ {
		s, m := meddled(t)
		for i := range 4 {
			deployed(t, s, k, order(t, "all", long(fmt.Sprint("text ", i))))
		}
		old := order(t, "all", long("text 0")) // its parts are there, and the prune deletes them
		var l *deploy.Lead
		m.calls = 0
		m.before = func(call int) error {
			if call == at {
				m.before = nil
				var err error
				l, err = s.Begin(t.Context(), k, old)
				return err
			}
			return nil
		}
		gone, err := s.Prune(t.Context(), "all", 1)
		if l == nil {
			must(t, err)
			break
		}
		if err != nil && !errors.Is(err, deploy.ErrBusy) || err == nil && len(gone) > 0 {
			t.Errorf("an operator begins before call %d: %v are deleted, %v", at, gone, err)
		}
		if content, err := s.Content(t.Context(), l.Manifest); err != nil || !bytes.Equal(content, old.Content) {
			t.Errorf("an operator begins before call %d: the files are incomplete: %v", at, err)
		}
	}
}

// TestBeginWhilePruned: an operator whose parts are deleted meanwhile is told to begin again, and then the deploy is whole.
func TestBeginWhilePruned(t *testing.T) {
	k := newKey(t)
	for at := 1; ; at++ {
		s, m := meddled(t)
		for i := range 4 {
			deployed(t, s, k, order(t, "all", long(fmt.Sprint("text ", i))))
		}
		pruned := false
		m.calls = 0
		m.before = func(call int) error {
			if call == at {
				m.before, pruned = nil, true
				return second(s.Prune(t.Context(), "all", 1))
			}
			return nil
		}
		old := order(t, "all", long("text 0"))
		l, err := s.Begin(t.Context(), k, old)
		if errors.Is(err, deploy.ErrBusy) {
			l, err = s.Begin(t.Context(), k, old)
		}
		must(t, err)
		m.before = nil
		if content, err := s.Content(t.Context(), l.Manifest); err != nil || !bytes.Equal(content, old.Content) {
			t.Errorf("pruned before call %d: the files are incomplete: %v", at, err)
		}
		if !pruned {
			break
		}
	}
}

// TestStoppedWithoutContent: where a part of a stopped deploy is lost or altered, the same command writes it again under a new number. Under the
// old one, each host would refuse the deploy again, and nothing that the operator can do would mend it.
func TestStoppedWithoutContent(t *testing.T) {
	for name, op := range map[string]world.Op{"lost": {Delete: true}, "altered": {Value: []byte("x")}} {
		for _, takeOver := range []bool{false, true} {
			s, k := newStore(t), newKey(t)
			o := order(t, "all", "one")
			l, err := s.Begin(t.Context(), k, o)
			if err != nil {
				t.Fatal(err)
			}
			if o.Takeover = takeOver; !takeOver {
				r := l.Rollout
				r.State = deploy.Stopped
				write(t, s, deploy.RolloutKey("all"), r)
			}
			op.Key = "contents/all/" + url.PathEscape(o.Digest) + "/000000"
			if _, _, err := s.World.Txn(t.Context(), nil, []world.Op{op}); err != nil {
				t.Fatal(err)
			}
			if l, err = s.Begin(t.Context(), k, o); err != nil || l.Manifest.Number != 2 || l.Resumed {
				t.Fatalf("%s: the deploy is %+v, %v", name, l, err)
			}
			if content, err := s.Content(t.Context(), l.Manifest); err != nil || !bytes.Equal(content, o.Content) {
				t.Errorf("%s: the files are %q, %v", name, content, err)
			}
		}
	}
}
