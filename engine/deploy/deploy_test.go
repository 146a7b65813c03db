package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

func newKey(t *testing.T) deploy.Key {
	t.Helper()
	k, err := deploy.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newStore(t *testing.T) deploy.Store {
	w := memory.New()
	t.Cleanup(func() { _ = w.Close() })
	return deploy.Store{World: w}
}

// order returns an order of one file.
func order(t *testing.T, topic, text string) deploy.Order {
	t.Helper()
	b := &deploy.Bundle{Graphs: []string{"g.yaml"}, Files: []deploy.File{{Name: "g.yaml", Data: []byte(text)}}}
	content, digest, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return deploy.Order{Store: "s1", Topic: topic, Content: content, Digest: digest, Graphs: b.Graphs, By: "me@here", MaxFailed: 1}
}

// TestBundle: equal files have one digest in any order, and names that leave the bundle are refused, all at once.
func TestBundle(t *testing.T) {
	a := &deploy.Bundle{Graphs: []string{"a"}, Files: []deploy.File{{Name: "a"}, {Name: "b/c", Data: []byte{0xff}}}}
	b := &deploy.Bundle{Graphs: []string{"a"}, Files: []deploy.File{{Name: "b/c", Data: []byte{0xff}}, {Name: "a"}}}
	content, one, err := a.Encode()
	_, two, err2 := b.Encode()
	if err != nil || err2 != nil || one != two {
		t.Fatalf("the digests are %s and %s: %v, %v", one, two, err, err2)
	}
	back, err := deploy.Decode(content)
	if err != nil || !bytes.Equal(back.Map()["b/c"], []byte{0xff}) {
		t.Fatalf("the files come back as %v: %v", back, err)
	}
	bad := &deploy.Bundle{Graphs: []string{"x"}, Files: []deploy.File{{Name: "../a"}, {Name: "/b"}, {Name: "c/../d"}, {Name: ""}, {Name: "e"}, {Name: "e"}}}
	_, _, err = bad.Encode()
	for _, want := range []string{`"../a"`, `"/b"`, `"c/../d"`, `""`, "e comes twice", `graph "x"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %s: %v", want, err)
		}
	}
	for _, text := range []string{"", "{}", "null", `{"files":[],"graphs":["a"]}`, string(content) + " ", `{"files":[{"name":"a","data":""}],"graphs":["a"],"x":1}`} {
		if _, err := deploy.Decode([]byte(text)); !errors.Is(err, deploy.ErrContent) {
			t.Errorf("%q is decoded: %v", text, err)
		}
	}
}

// TestVerify: a record that is altered in any way has an error of its own class.
func TestVerify(t *testing.T) {
	k, other := newKey(t), newKey(t)
	m := deploy.Manifest{Topic: "all", Number: 3, Digest: "sha256:x", Size: 10, Parts: 1}
	r, err := k.Sign(m)
	if err != nil {
		t.Fatal(err)
	}
	altered := r
	altered.Manifest = strings.Replace(r.Manifest, "sha256:x", "sha256:y", 1)
	forged, err := other.Sign(m)
	if err != nil {
		t.Fatal(err)
	}
	forged.Key = k.Public().ID // it claims to be of the trusted key
	huge := m
	huge.Parts = 1 << 30
	large, err := k.Sign(huge)
	if err != nil {
		t.Fatal(err)
	}
	trusted := []deploy.Public{other.Public(), k.Public()}
	tests := map[string]struct {
		r       deploy.Record
		trusted []deploy.Public
		topic   string
		number  int64
		want    error
		code    string
	}{
		"good":          {r, trusted, "all", 3, nil, ""},
		"no trust":      {r, nil, "all", 3, deploy.ErrUntrusted, "untrusted_key"},
		"another key":   {r, trusted[:1], "all", 3, deploy.ErrUntrusted, "untrusted_key"},
		"altered":       {altered, trusted, "all", 3, deploy.ErrSignature, "bad_signature"},
		"forged":        {forged, trusted, "all", 3, deploy.ErrSignature, "bad_signature"},
		"another topic": {r, trusted, "group:web", 3, deploy.ErrTopic, "wrong_topic"},
		"moved":         {r, trusted, "all", 4, deploy.ErrSignature, "bad_signature"},
		"empty":         {deploy.Record{}, trusted, "all", 3, deploy.ErrUntrusted, "untrusted_key"},
		"huge":          {large, trusted, "all", 3, deploy.ErrRecord, "bad_record"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.r.Verify(test.trusted, test.topic, test.number)
			if !errors.Is(err, test.want) || deploy.Code(err) != test.code || test.want == nil && (err != nil || got.Digest != m.Digest) {
				t.Errorf("the answer is %v, %v (%s)", got, err, deploy.Code(err))
			}
		})
	}
}

// TestKeyFiles: a private key is in its file and nowhere else.
func TestKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	k := newKey(t)
	if err := deploy.WriteKey(path, k); err != nil {
		t.Fatal(err)
	}
	again, err := deploy.ReadKey(path)
	if err != nil || again.Public().ID != k.Public().ID {
		t.Fatalf("the key comes back as %v: %v", again, err)
	}
	public, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	private, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := deploy.ReadPublic(append(slices.Clone(public), public...))
	if err != nil || len(keys) != 2 || keys[0].ID != k.Public().ID {
		t.Errorf("the public keys are %v: %v", keys, err)
	}
	if _, err := deploy.ReadPublic(private); err == nil {
		t.Error("a private key is taken for a public one")
	}
	if _, err := deploy.ReadPublic([]byte("nothing")); err == nil {
		t.Error("a text without keys is one of keys")
	}
	secret := strings.Split(string(private), "\n")[1]
	if text := fmt.Sprintf("%v %+v %#v %s", k, k, k, k); strings.Contains(text, secret) || !strings.HasPrefix(text, "key ") {
		t.Errorf("a key is printed as %s", text)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := deploy.ReadKey(path); !errors.Is(err, deploy.ErrOpenKey) {
			t.Errorf("a file of mode %o is read: %v", mode, err)
		}
	}
	if err := deploy.WriteKey(path, newKey(t)); err == nil {
		t.Error("a key is replaced")
	}
}

// TestBegin: numbers grow, the same content goes on, and another one is refused until the first has ended.
func TestBegin(t *testing.T) {
	s, k := newStore(t), newKey(t)
	ctx := t.Context()
	one, err := s.Begin(ctx, k, order(t, "all", "one"))
	if err != nil || one.Manifest.Number != 1 || one.Resumed {
		t.Fatalf("the first is %+v: %v", one, err)
	}
	if _, err := s.Begin(ctx, k, order(t, "all", "two")); !errors.Is(err, deploy.ErrBusy) {
		t.Errorf("another one begins: %v", err)
	}
	again, err := s.Begin(ctx, k, order(t, "all", "one"))
	if err != nil || !again.Resumed || again.Manifest.Number != 1 {
		t.Fatalf("the same one is %+v: %v", again, err)
	}
	if _, err := one.Step(ctx, nil, nil, nil); !errors.Is(err, deploy.ErrTaken) {
		t.Errorf("the first operator goes on: %v", err)
	}
	if moved, err := again.Step(ctx, nil, nil, nil); !moved || err != nil || again.Rollout.State != deploy.Done {
		t.Errorf("without hosts it is %+v: %v", again.Rollout, err)
	}
	taken := order(t, "all", "three")
	three, err := s.Begin(ctx, k, taken)
	if err != nil || three.Manifest.Number != 2 || three.Rollout.Base != 1 {
		t.Fatalf("the next is %+v: %v", three, err)
	}
	taken = order(t, "all", "four")
	taken.Takeover = true
	four, err := s.Begin(ctx, k, taken)
	if err != nil || four.Manifest.Number != 3 || four.Rollout.Base != 1 {
		t.Fatalf("the one that takes over is %+v: %v", four, err)
	}
	if list, err := s.History(ctx, ""); err != nil || len(list) != 3 || list[2].Digest != four.Manifest.Digest {
		t.Errorf("the history is %+v: %v", list, err)
	}
}

// TestTwoAtOnce: of many operators at once, each with a content of its own, one wins and the others are told.
func TestTwoAtOnce(t *testing.T) {
	s, k := newStore(t), newKey(t)
	const n = 8
	errs := make([]error, n)
	orders := make([]deploy.Order, n)
	for i := range n {
		orders[i] = order(t, "all", fmt.Sprint("text ", i))
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { _, errs[i] = s.Begin(context.Background(), k, orders[i]) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, deploy.ErrBusy) {
			t.Errorf("a loser is told %v", err)
		}
	}
	list, err := s.History(t.Context(), "all")
	if won != 1 || err != nil || len(list) != 1 {
		t.Errorf("%d have won, and the history has %d: %v", won, len(list), err)
	}
}

// dying ends with an error after so many transactions, as a process that is killed.
type dying struct {
	world.World
	left int
}

var errKilled = errors.New("killed")

func (d *dying) Txn(ctx context.Context, c []world.Compare, o []world.Op) (int64, bool, error) {
	if d.left--; d.left < 0 {
		return 0, false, errKilled
	}
	return d.World.Txn(ctx, c, o)
}

func (d *dying) Limits() world.Limits { return world.Limits{Ops: 128, Bytes: 16 << 10, Key: 4 << 10} }

// TestKilledOperator: wherever an operator dies, the store has the deploy whole or not at all, and the next one goes on.
func TestKilledOperator(t *testing.T) {
	for killed := range 6 {
		w, k := memory.New(), newKey(t)
		o := order(t, "all", strings.Repeat("a text of several parts\n", 1200))
		s := deploy.Store{World: &dying{w, killed}}
		_, err := s.Begin(t.Context(), k, o)
		s = deploy.Store{World: &dying{w, 1000}}
		list, err2 := s.History(t.Context(), "all")
		if err2 != nil || (err == nil) != (len(list) == 1) {
			t.Fatalf("killed after %d: the history has %d: %v, %v", killed, len(list), err, err2)
		}
		l, err := s.Begin(t.Context(), k, o)
		if err != nil || l.Manifest.Number != 1 || l.Manifest.Parts < 3 {
			t.Fatalf("killed after %d: the next one is %+v: %v", killed, l, err)
		}
		content, err := s.Content(t.Context(), l.Manifest)
		if err != nil || !bytes.Equal(content, o.Content) {
			t.Errorf("killed after %d: the content is another one: %v", killed, err)
		}
		_ = w.Close()
	}
}

// TestBrokenContent: parts that are cut, altered, exchanged or missing are never taken.
func TestBrokenContent(t *testing.T) {
	w := memory.New()
	defer w.Close()
	s := deploy.Store{World: &dying{w, 1000}}
	l, err := s.Begin(t.Context(), newKey(t), order(t, "all", strings.Repeat("x", 30<<10)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.List(t.Context(), "contents/", world.ListOptions{})
	if err != nil || len(p.KVs) < 3 {
		t.Fatalf("there are %d parts: %v", len(p.KVs), err)
	}
	first, second := p.KVs[0], p.KVs[1]
	breaks := map[string]world.Op{
		"cut":     {Key: first.Key, Value: first.Value[:len(first.Value)-1]},
		"altered": {Key: first.Key, Value: append([]byte("y"), first.Value[1:]...)},
		"longer":  {Key: first.Key, Value: append(slices.Clone(first.Value), 'x')},
		"missing": {Key: second.Key, Delete: true},
		"empty":   {Key: second.Key, Value: []byte{}},
	}
	for name, op := range breaks {
		t.Run(name, func(t *testing.T) {
			if _, _, err := w.Txn(t.Context(), nil, []world.Op{op}); err != nil {
				t.Fatal(err)
			}
			_, err := s.Content(t.Context(), l.Manifest)
			if deploy.Code(err) != "bad_content" {
				t.Errorf("the content is taken: %v", err)
			}
			good := []world.Op{{Key: first.Key, Value: first.Value}, {Key: second.Key, Value: second.Value}}
			if _, _, err := w.Txn(t.Context(), nil, good); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, err := s.Content(t.Context(), l.Manifest); err != nil {
		t.Errorf("the mended content is refused: %v", err)
	}
}

// TestBatches: the next batch goes when the last one has converged, and too many failures stop it.
func TestBatches(t *testing.T) {
	hosts := []string{"a", "b", "c", "d", "e"}
	at := func(n int64, state string) deploy.Standing { return deploy.Standing{Number: n, State: state} }
	good, taken, failed, old := at(2, deploy.StateConverged), at(2, deploy.StateTaken), at(2, deploy.StateFailed), at(1, deploy.StateConverged)
	refused := deploy.Standing{Number: 1, Refused: 2}
	tests := map[string]struct {
		had    []string
		batch  string
		max    int
		stands map[string]deploy.Standing
		late   map[string]bool
		state  deploy.State
		want   string
	}{
		"first":            {nil, "40%", 1, nil, nil, deploy.Running, "ab"},
		"one at least":     {nil, "1%", 1, nil, nil, deploy.Running, "a"},
		"all":              {nil, "", 1, nil, nil, deploy.Running, "abcde"},
		"not yet taken":    {[]string{"a"}, "1", 1, map[string]deploy.Standing{"a": old}, nil, deploy.Running, "a"},
		"no report":        {[]string{"a"}, "1", 1, nil, nil, deploy.Running, "a"},
		"not yet at rest":  {[]string{"a", "b"}, "2", 1, map[string]deploy.Standing{"a": good, "b": taken}, nil, deploy.Running, "ab"},
		"next":             {[]string{"a", "b"}, "2", 1, map[string]deploy.Standing{"a": good, "b": good}, nil, deploy.Running, "abcd"},
		"rest":             {[]string{"a", "b", "c", "d"}, "2", 1, map[string]deploy.Standing{"a": good, "b": good, "c": good, "d": good}, nil, deploy.Running, "abcde"},
		"done":             {hosts, "2", 1, map[string]deploy.Standing{"a": good, "b": good, "c": good, "d": good, "e": good}, nil, deploy.Done, ""},
		"failed":           {[]string{"a", "b"}, "2", 1, map[string]deploy.Standing{"a": failed, "b": taken}, nil, deploy.Stopped, "ab"},
		"refused":          {[]string{"a"}, "1", 1, map[string]deploy.Standing{"a": refused}, nil, deploy.Stopped, "a"},
		"late":             {[]string{"a"}, "1", 1, map[string]deploy.Standing{"a": taken}, map[string]bool{"a": true}, deploy.Stopped, "a"},
		"late and good":    {[]string{"a"}, "1", 1, map[string]deploy.Standing{"a": good}, map[string]bool{"a": true}, deploy.Running, "ab"},
		"one may fail":     {[]string{"a", "b"}, "2", 2, map[string]deploy.Standing{"a": failed, "b": good}, nil, deploy.Running, "abcd"},
		"one, and another": {[]string{"a", "b", "c"}, "1", 2, map[string]deploy.Standing{"a": failed, "b": good, "c": refused}, nil, deploy.Stopped, "abc"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := deploy.Rollout{Number: 2, Base: 1, State: deploy.Running, Hosts: test.had, Batch: test.batch, MaxFailed: test.max}
			next, moved, err := r.Next(hosts, test.stands, test.late)
			if err != nil || next.State != test.state || strings.Join(next.Hosts, "") != test.want {
				t.Errorf("the next is %+v: %v", next, err)
			}
			if same := next.State == r.State && slices.Equal(next.Hosts, r.Hosts); moved == same {
				t.Errorf("moved is %t for %+v", moved, next)
			}
		})
	}
}

// TestDue: a host takes the new deploy in its batch, and the one before until then.
func TestDue(t *testing.T) {
	r := deploy.Rollout{Number: 7, Base: 5, State: deploy.Running, Hosts: []string{"a"}}
	if r.Due("a") != 7 || r.Due("b") != 5 {
		t.Errorf("due are %d and %d", r.Due("a"), r.Due("b"))
	}
	if r.State = deploy.Stopped; r.Due("a") != 7 || r.Due("b") != 5 {
		t.Error("a stopped rollout reaches others, or loses its own")
	}
	if r.State, r.Hosts = deploy.Done, nil; r.Due("z") != 7 {
		t.Error("a host that comes later gets nothing")
	}
}

// TestReports: a report under the key of another host counts for nothing, and hides no other.
func TestReports(t *testing.T) {
	s := newStore(t)
	put := func(key, value string) {
		if _, _, err := s.World.Txn(t.Context(), nil, []world.Op{{Key: key, Value: []byte(value)}}); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := json.Marshal(deploy.Report{Host: "a b", Topics: []string{"all"}})
	put(deploy.ReportKey("a b"), string(text))
	put(deploy.ReportKey("forged"), string(text))
	put(deploy.ReportKey("torn"), string(text[:10]))
	list, err := s.Reports(t.Context())
	if err != nil || len(list) != 1 || list[0].Host != "a b" {
		t.Errorf("the reports are %+v: %v", list, err)
	}
}

// step brings a rollout without hosts to its end.
func step(t *testing.T, l *deploy.Lead) {
	t.Helper()
	if _, err := l.Step(t.Context(), nil, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// write writes a key as another program does.
func write(t *testing.T, s deploy.Store, key string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.World.Txn(t.Context(), nil, []world.Op{{Key: key, Value: text}}); err != nil {
		t.Fatal(err)
	}
}

// TestSignAgain: a stopped deploy whose key the hosts do not trust gets a new number under another key. A record that is damaged or
// missing stops no later deploy.
func TestSignAgain(t *testing.T) {
	s, other, k := newStore(t), newKey(t), newKey(t)
	o := order(t, "all", "one")
	l, err := s.Begin(t.Context(), other, o)
	if err != nil {
		t.Fatal(err)
	}
	stop := func(l *deploy.Lead) {
		r := l.Rollout
		r.State = deploy.Stopped
		write(t, s, deploy.RolloutKey("all"), r)
	}
	begin := func(k deploy.Key, number int64, resumed bool) *deploy.Lead {
		t.Helper()
		l, err := s.Begin(t.Context(), k, o)
		if err != nil || l.Manifest.Number != number || l.Resumed != resumed {
			t.Fatalf("the deploy is %+v: %v; want number %d", l, err, number)
		}
		return l
	}
	begin(k, 1, true) // it runs: a colleague goes on
	stop(l)
	begin(other, 1, true)
	stop(l)
	l = begin(k, 2, false)
	stop(l)
	write(t, s, "deploys/all/record/000000000002", "damaged")
	l = begin(k, 3, false)
	stop(l)
	if _, _, err := s.World.Txn(t.Context(), nil, []world.Op{{Key: "deploys/all/record/000000000003", Delete: true}}); err != nil {
		t.Fatal(err)
	}
	begin(k, 4, false)
}

// TestNewStore: where the store was made anew, the next number is higher than those of the hosts, unless a host lies. Other files
// under the same number are not those of the deploy.
func TestNewStore(t *testing.T) {
	s, k := newStore(t), newKey(t)
	for host, number := range map[string]int64{"a": 7, "b": 3, "liar": 1 << 60} {
		write(t, s, deploy.ReportKey(host), deploy.Report{Host: host, Deploys: map[string]deploy.Standing{"all": {Number: number}}})
	}
	l, err := s.Begin(t.Context(), k, order(t, "all", "one"))
	if err != nil || l.Manifest.Number != 8 {
		t.Fatalf("the deploy is %+v: %v", l, err)
	}
	step(t, l)
	had := deploy.Standing{Number: 8, Digest: "sha256:other", State: deploy.StateConverged}
	if p := l.Rollout.PhaseOf("a", had); p != deploy.Takes {
		t.Errorf("a host with other files %s", p)
	}
	had.Refused = 8
	if p := l.Rollout.PhaseOf("a", had); p != deploy.Refused {
		t.Errorf("a host that refuses is %s", p)
	}
	if _, _, err := s.World.Txn(t.Context(), nil, []world.Op{{Key: deploy.RolloutKey("all"), Delete: true}}); err != nil {
		t.Fatal(err)
	}
	if l, err = s.Begin(t.Context(), k, order(t, "all", "two")); err != nil || l.Manifest.Number != 9 {
		t.Errorf("without a rollout it is %+v: %v", l, err)
	}
}

// TestTakenOver: an operator who was replaced learns it at the next look, also where no host has moved.
func TestTakenOver(t *testing.T) {
	s, k := newStore(t), newKey(t)
	reports := []deploy.Report{{Host: "a", Topics: []string{"all"}}}
	one, err := s.Begin(t.Context(), k, order(t, "all", "one"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Step(t.Context(), []string{"a"}, reports, nil); err != nil {
		t.Fatal(err)
	}
	two := order(t, "all", "two")
	two.Takeover = true
	if _, err := s.Begin(t.Context(), k, two); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Step(t.Context(), []string{"a"}, reports, nil); !errors.Is(err, deploy.ErrTaken) {
		t.Errorf("the first operator waits on: %v", err)
	}
}

// TestNames: a name that is not in UTF-8 is refused before the encoding alters it.
func TestNames(t *testing.T) {
	b := &deploy.Bundle{Graphs: []string{"a"}, Files: []deploy.File{{Name: "a"}, {Name: "b\xff"}}}
	if _, _, err := b.Encode(); err == nil || !strings.Contains(err.Error(), `"b\xff" is not in UTF-8`) {
		t.Errorf("the error is %v", err)
	}
}

// TestHalfAKey: where one of the two files is there, none is written, and the public half can be made from the private one.
func TestHalfAKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	if err := os.WriteFile(path+".pub", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := newKey(t)
	if err := deploy.WriteKey(path, k); err == nil {
		t.Error("the public half is replaced")
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("a private key without its public half is left")
	}
	if err := os.Remove(path + ".pub"); err != nil {
		t.Fatal(err)
	}
	if err := deploy.WritePublic(path+".pub", k.Public()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path + ".pub"); err != nil || len(text) == 0 {
		t.Errorf("the public half is %q: %v", text, err)
	}
}

// TestPrune: the oldest deploys go with their files, and those stay that the rollout or a host names. An operator who relies on files
// that are deleted begins again.
func TestPrune(t *testing.T) {
	w := memory.New()
	defer w.Close()
	s, k, ctx := deploy.Store{World: &dying{w, 1000}}, newKey(t), t.Context()
	put := func(text string) *deploy.Lead {
		t.Helper()
		l, err := s.Begin(ctx, k, order(t, "all", text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Step(ctx, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		return l
	}
	for i := range 6 {
		put(strings.Repeat(fmt.Sprint("text ", i%5), 4000)) // the first and the last have the same files
	}
	report, err := json.Marshal(deploy.Report{Host: "h", Topics: []string{"all"}, Deploys: map[string]deploy.Standing{"all": {Number: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Txn(ctx, nil, []world.Op{{Key: deploy.ReportKey("h"), Value: report}}); err != nil {
		t.Fatal(err)
	}
	gone, err := s.Prune(ctx, "all", 1)
	if err != nil || fmt.Sprint(gone) != "[1 2 4]" {
		t.Fatalf("%v are deleted: %v", gone, err)
	}
	list, err := s.History(ctx, "all")
	if err != nil || len(list) != 3 {
		t.Fatalf("%d are left: %v", len(list), err)
	}
	for _, d := range list {
		if _, err := s.Content(ctx, d.Manifest); err != nil {
			t.Errorf("the files of %d: %v", d.Number, err)
		}
	}
	parts, err := w.List(ctx, "contents/", world.ListOptions{})
	if want := 3 * list[0].Parts; err != nil || len(parts.KVs) != want {
		t.Errorf("%d parts are left, not %d: %v", len(parts.KVs), want, err)
	}
	if again, err := s.Prune(ctx, "all", 1); err != nil || len(again) > 0 {
		t.Errorf("a second time %v are deleted: %v", again, err)
	}
	l, err := s.Begin(ctx, k, order(t, "all", "under way"))
	if err != nil || l.Manifest.Number != 7 {
		t.Fatalf("the next is %+v: %v", l, err)
	}
	if _, err := s.Prune(ctx, "all", 1); !errors.Is(err, deploy.ErrBusy) {
		t.Errorf("a prune during a rollout: %v", err)
	}
}
