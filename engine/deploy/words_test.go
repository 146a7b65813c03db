package deploy_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world"
)

// TestParseBatch: a batch is a number of hosts or a share of them, and at least one host.
func TestParseBatch(t *testing.T) {
	for text, want := range map[string]map[int]int{ // hosts of a topic, and of a batch
		"":       {0: 1, 1: 1, 7: 7},
		"1":      {0: 1, 7: 1},
		"5":      {1: 5, 100: 5},
		"10%":    {1: 1, 10: 1, 11: 2, 100: 10},
		"100%":   {0: 1, 3: 3, 1000: 1000},
		"0.5%":   {100: 1, 200: 1, 201: 2, 1000: 5},
		"33.4%":  {3: 2, 1000: 334},
		"1e-9%":  {1000000: 1},
		"00007":  {100: 7},
		"99.99%": {10: 10, 10000: 9999},
	} {
		b, err := deploy.ParseBatch(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		for hosts, size := range want {
			if got := b.Of(hosts); got != size {
				t.Errorf("%q of %d hosts: %d, want %d", text, hosts, got, size)
			}
		}
	}
	for text, want := range map[string]string{
		"0": "a number of hosts as 5", "-1": "a number of hosts as 5", "1.5": "a share as 10%", "x": `"x" is no batch`, " 1": `" 1" is no batch`,
		"99999999999999999999": "no batch",
		"%":                    "no share", "0%": "write one as 10%", "-1%": "no share", "101%": "no share", "NaN%": "no share", "Inf%": "no share", "1%%": "no share", "10 %": "no share",
	} {
		if b, err := deploy.ParseBatch(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, b, err, want)
		}
	}
}

// TestPhaseOf: what a host has, what it refuses, and whether it is in a batch give its phase.
func TestPhaseOf(t *testing.T) {
	r := deploy.Rollout{Number: 7, Digest: "new", Base: 5, State: deploy.Running, Hosts: []string{"in"}}
	done := deploy.Rollout{Number: 7, Digest: "new", State: deploy.Done}
	for _, c := range []struct {
		name    string
		rollout deploy.Rollout
		host    string
		has     deploy.Standing
		want    deploy.Phase
	}{
		{"no report, in no batch", r, "out", deploy.Standing{}, deploy.Waits},
		{"no report, in a batch", r, "in", deploy.Standing{}, deploy.Takes},
		{"no report, when it is done", done, "out", deploy.Standing{}, deploy.Takes},
		{"the old one, in no batch", r, "out", deploy.Standing{Number: 5, State: deploy.StateConverged}, deploy.Waits},
		{"the old one, in a batch", r, "in", deploy.Standing{Number: 5, State: deploy.StateConverged}, deploy.Takes},
		{"taken", r, "in", deploy.Standing{Number: 7, Digest: "new", State: deploy.StateTaken}, deploy.Takes},
		{"converged", r, "in", deploy.Standing{Number: 7, Digest: "new", State: deploy.StateConverged}, deploy.Converged},
		{"failed", r, "in", deploy.Standing{Number: 7, Digest: "new", State: deploy.StateFailed}, deploy.Failed},
		{"other files under that number", r, "in", deploy.Standing{Number: 7, Digest: "other", State: deploy.StateFailed}, deploy.Takes},
		{"refused", r, "in", deploy.Standing{Number: 5, Refused: 7}, deploy.Refused},
		{"refused before, and taken since", r, "in", deploy.Standing{Number: 7, Digest: "new", State: deploy.StateConverged, Refused: 7}, deploy.Converged},
		{"an older one was refused", r, "in", deploy.Standing{Number: 5, Refused: 6}, deploy.Takes},
	} {
		if got := c.rollout.PhaseOf(c.host, c.has); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestStepOfMembers: only hosts that are there and take deploys of the topic are in a batch, and the batches go in the order of
// their names. The store has each step.
func TestStepOfMembers(t *testing.T) {
	s, k := newStore(t), newKey(t)
	o := order(t, "all", "one")
	o.Batch = "2"
	l, err := s.Begin(t.Context(), k, o)
	must(t, err)
	reports := map[string]deploy.Report{}
	for _, host := range []string{"e", "d", "c", "b", "a"} {
		reports[host] = deploy.Report{Host: host, Topics: []string{"all"}}
	}
	fleet := &deploy.Fleet{StoreRecord: deploy.StoreRecord{Store: "s1", Revoked: []deploy.Revocation{{Host: "b", Removed: true}}}}
	live := []string{"a", "b", "d", "e", "no report"} // c is away
	converge := func(hosts ...string) {
		for _, h := range hosts {
			r := reports[h]
			r.Deploys = map[string]deploy.Standing{"all": {Number: 1, Digest: l.Manifest.Digest, State: deploy.StateConverged}}
			reports[h] = r
		}
	}
	want := func(moved bool, state deploy.State, hosts ...string) {
		t.Helper()
		var list []deploy.Report
		for _, r := range reports {
			list = append(list, r)
		}
		got, err := l.Step(t.Context(), fleet.Members("all", live, list), list, nil)
		stored, err2 := s.Rollout(t.Context(), "all")
		if err != nil || err2 != nil || got != moved || l.Rollout.State != state || !slices.Equal(l.Rollout.Hosts, hosts) || fmt.Sprint(stored) != fmt.Sprint(l.Rollout) {
			t.Fatalf("moved %t to %+v, %v; the store has %+v, %v", got, l.Rollout, err, stored, err2)
		}
	}
	want(true, deploy.Running, "a", "d")
	converge("a")
	want(false, deploy.Running, "a", "d")
	converge("d")
	want(true, deploy.Running, "a", "d", "e")
	want(false, deploy.Running, "a", "d", "e")
	live = append(live, "c")
	converge("e")
	want(true, deploy.Running, "a", "d", "e", "c")
	converge("c")
	want(true, deploy.Done)
	want(false, deploy.Done)
}

// TestSameAgain: a rollout that is done is not resumed, even with the same files: hosts may have changed their graph since. One that is
// under way is resumed by the same order alone: to go back to a number is another deploy.
func TestSameAgain(t *testing.T) {
	s, k := newStore(t), newKey(t)
	begin := func(o deploy.Order, number int64, resumed bool) *deploy.Lead {
		t.Helper()
		l, err := s.Begin(t.Context(), k, o)
		if err != nil || l.Manifest.Number != number || l.Resumed != resumed {
			t.Fatalf("the deploy is %+v: %v", l, err)
		}
		return l
	}
	o := order(t, "all", "one")
	step(t, begin(o, 1, false))
	begin(o, 2, false)
	again := o
	again.By, again.Batch, again.MaxFailed = "you@there", "10%", 7
	l := begin(again, 2, true)
	if r, err := s.Rollout(t.Context(), "all"); err != nil || r.By != "you@there" || r.Batch != "10%" || r.MaxFailed != 7 || r.Base != 1 {
		t.Errorf("the resumed rollout is %+v: %v", r, err)
	}
	back := o
	back.BackTo = 1
	if _, err := s.Begin(t.Context(), k, back); !errors.Is(err, deploy.ErrBusy) || !strings.Contains(err.Error(), "number 2 by you@there") || !strings.Contains(err.Error(), "--take-over") {
		t.Errorf("another order begins: %v", err)
	}
	step(t, l)
	if l := begin(back, 3, false); l.Manifest.BackTo != 1 || l.Rollout.Base != 2 {
		t.Errorf("the deploy that goes back is %+v", l)
	}
}

// TestReportsOfFarNumbers: a host may be ahead of a new store by a million numbers, and by no more.
func TestReportsOfFarNumbers(t *testing.T) {
	for far, want := range map[int64]int64{1_000_000: 1_000_001, 1_000_001: 1, -5: 1} {
		s := newStore(t)
		write(t, s, deploy.ReportKey("h"), deploy.Report{Host: "h", Deploys: map[string]deploy.Standing{"all": {Number: far}}})
		if l, err := s.Begin(t.Context(), newKey(t), order(t, "all", "one")); err != nil || l.Manifest.Number != want {
			t.Errorf("with a report of %d the deploy is %+v: %v", far, l, err)
		}
	}
}

// TestBadOrder: an order with a batch that cannot be read writes nothing, and a rollout with such a batch is told by each step.
func TestBadOrder(t *testing.T) {
	s, k := newStore(t), newKey(t)
	o := order(t, "all", "one")
	o.Batch = "many"
	if _, err := s.Begin(t.Context(), k, o); err == nil || !strings.Contains(err.Error(), `"many" is no batch`) {
		t.Errorf("the error is %v", err)
	}
	if keys := keysOf(t, s); len(keys) > 0 {
		t.Errorf("there are the keys %q", keys)
	}
	if _, moved, err := (deploy.Rollout{State: deploy.Running, Batch: "many"}).Next([]string{"a"}, nil, nil); moved || err == nil {
		t.Errorf("a step is made: %v", err)
	}
}

func keysOf(t *testing.T, s deploy.Store) (keys []string) {
	t.Helper()
	p, err := s.World.List(t.Context(), "", world.ListOptions{})
	must(t, err)
	for _, kv := range p.KVs {
		keys = append(keys, kv.Key)
	}
	return keys
}

// TestPrefixes: the prefixes that access lists name cover each key that is written, and no key of the other side.
func TestPrefixes(t *testing.T) {
	s, _ := meddled(t)
	deployed(t, s, newKey(t), order(t, "group:web/eu", long("text")))
	in := func(key string, prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
	}
	large := 0
	for _, key := range keysOf(t, s) {
		if !in(key, deploy.Written()...) || in(key, deploy.Reports()) {
			t.Errorf("%s is no key of an operator", key)
		}
		if in(key, deploy.Large()...) {
			large++
		}
	}
	if large < 3 {
		t.Errorf("%d keys are large", large)
	}
	if key := deploy.ReportKey("h"); in(key, deploy.Written()...) || !in(key, deploy.Reports()) {
		t.Errorf("%s is no key of a host", key)
	}
}

// TestTopicsApart: topics whose names look alike have nothing in common, and each name comes back as it was.
func TestTopicsApart(t *testing.T) {
	s, k := newStore(t), newKey(t)
	topics := []string{"a", "a/b", "a%2Fb", "a b", "A", "ä", "a/record/000000000001", "..", "a/"}
	for i, topic := range topics {
		l := deployed(t, s, k, order(t, topic, fmt.Sprint("text ", i)))
		if l.Manifest.Number != 1 {
			t.Errorf("%q begins with %d", topic, l.Manifest.Number)
		}
	}
	got, err := s.Topics(t.Context())
	slices.Sort(got)
	slices.Sort(topics)
	if err != nil || !slices.Equal(got, topics) {
		t.Errorf("the topics are %q: %v", got, err)
	}
	for _, topic := range topics {
		list, err := s.History(t.Context(), topic)
		if err != nil || len(list) != 1 || list[0].Topic != topic || list[0].Manifest.Topic != topic {
			t.Errorf("the history of %q is %+v: %v", topic, list, err)
		}
		if _, err := s.Content(t.Context(), list[0].Manifest); err != nil {
			t.Errorf("the files of %q: %v", topic, err)
		}
	}
	if list, err := s.History(t.Context(), ""); err != nil || len(list) != len(topics) {
		t.Errorf("all topics have %d deploys: %v", len(list), err)
	}
	if gone, err := s.Prune(t.Context(), "none", 1); err != nil || len(gone) > 0 {
		t.Errorf("a topic without deploys: %v, %v", gone, err)
	}
	if r, err := s.Rollout(t.Context(), "none"); err != nil || r.Number != 0 || r.Due("h") != 0 {
		t.Errorf("a topic without deploys has the rollout %+v: %v", r, err)
	}
	if _, err := s.Get(t.Context(), "a/b", 2); !errors.Is(err, deploy.ErrRecord) || !strings.Contains(err.Error(), "a/b has no deploy 2: mgmt deploys lists them") {
		t.Errorf("a deploy that is not there: %v", err)
	}
}

// TestCodes: each error has its own word, also behind other text, and no other error has one.
func TestCodes(t *testing.T) {
	seen := map[string]bool{"": true}
	for _, err := range []error{deploy.ErrRecord, deploy.ErrUntrusted, deploy.ErrSignature, deploy.ErrTopic, deploy.ErrReplay, deploy.ErrContent, deploy.ErrGraph} {
		code := deploy.Code(err)
		if seen[code] || deploy.Code(fmt.Errorf("a: %w: %w", err, errors.New("b"))) != code {
			t.Errorf("%v has the word %q", err, code)
		}
		seen[code] = true
	}
	for _, err := range []error{nil, errors.New("x"), deploy.ErrBusy, deploy.ErrTaken, deploy.ErrOpenKey, world.ErrNotFound} {
		if code := deploy.Code(err); code != "" {
			t.Errorf("%v has the word %q", err, code)
		}
	}
}

// TestSignedManifest: a signature holds for one manifest as text, so JSON that says the same in other words is refused.
func TestSignedManifest(t *testing.T) {
	k := newKey(t)
	m := deploy.Manifest{Topic: "all", Number: 3, Digest: "sha256:x", Size: 10, Parts: 1}
	trusted := []deploy.Public{k.Public()}
	sign := func(change func(*deploy.Manifest)) deploy.Record {
		changed := m
		change(&changed)
		r, err := k.Sign(changed)
		must(t, err)
		return r
	}
	whole := sign(func(*deploy.Manifest) {})
	for name, alter := range map[string]func(*deploy.Record){
		"a blank at the end": func(r *deploy.Record) { r.Manifest += " " },
		"another order":      func(r *deploy.Record) { r.Manifest = `{"number":3,"topic":"all"}` },
		"nothing":            func(r *deploy.Record) { r.Manifest = "" },
		"half a signature":   func(r *deploy.Record) { r.Signature = r.Signature[:32] },
		"no signature":       func(r *deploy.Record) { r.Signature = nil },
		"a longer signature": func(r *deploy.Record) { r.Signature = append(bytes.Clone(r.Signature), 0) },
		"a flipped bit":      func(r *deploy.Record) { r.Signature = bytes.Clone(r.Signature); r.Signature[0] ^= 1 },
	} {
		r := whole
		alter(&r)
		if _, err := r.Verify(trusted, "all", 3); !errors.Is(err, deploy.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*deploy.Manifest){
		"no size":        func(m *deploy.Manifest) { m.Size = -1 },
		"too large":      func(m *deploy.Manifest) { m.Size = deploy.MaxBundle + 1 },
		"no parts":       func(m *deploy.Manifest) { m.Parts = 0 },
		"too many parts": func(m *deploy.Manifest) { m.Parts = deploy.MaxBundle/1024 + 1 },
		"no number":      func(m *deploy.Manifest) { m.Number = 0 },
		"a huge number":  func(m *deploy.Manifest) { m.Number = math.MaxInt64 },
	} {
		changed := m
		change(&changed)
		if _, err := sign(change).Verify(trusted, "all", changed.Number); !errors.Is(err, deploy.ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, change := range []func(*deploy.Manifest){
		func(m *deploy.Manifest) { m.Size = 0 },
		func(m *deploy.Manifest) { m.Size = deploy.MaxBundle },
		func(m *deploy.Manifest) { m.Parts = deploy.MaxBundle / 1024 },
	} {
		if _, err := sign(change).Verify(trusted, "all", 3); err != nil {
			t.Errorf("the limit itself: %v", err)
		}
	}
	r, err := (deploy.Record{Manifest: "{"}).Read()
	if !errors.Is(err, deploy.ErrRecord) {
		t.Errorf("a torn manifest is %+v: %v", r, err)
	}
}

// TestOneEncoding: equal files have one digest, whatever slices hold them, and another text for the same files is refused.
func TestOneEncoding(t *testing.T) {
	digest := func(data []byte) string {
		b := &deploy.Bundle{Graphs: []string{"a"}, Files: []deploy.File{{Name: "a", Data: data}}}
		content, digest, err := b.Encode()
		must(t, err)
		if back, err := deploy.Decode(content); err != nil || len(back.Map()["a"]) != len(data) {
			t.Errorf("the files come back as %+v: %v", back, err)
		}
		return digest
	}
	if digest(nil) != digest([]byte{}) {
		t.Error("an empty file has two digests")
	}
	if digest([]byte("x")) == digest(nil) {
		t.Error("two files have one digest")
	}
	if _, err := deploy.Decode([]byte(`{"graphs":["a"],"files":[{"name":"a","data":null}]}`)); !errors.Is(err, deploy.ErrContent) {
		t.Errorf("a second encoding is decoded: %v", err)
	}
	for _, name := range []string{".", "..", "../a", "a\x00b", "a//b", "./a", "a/", "/", "a/.."} {
		b := &deploy.Bundle{Graphs: []string{name}, Files: []deploy.File{{Name: name}}}
		if _, _, err := b.Encode(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q is no relative path", name)) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"a", "..a", "a..", "a/b", ".a", "...", "a b", "ä", "a\nb", "\\"} {
		b := &deploy.Bundle{Graphs: []string{name}, Files: []deploy.File{{Name: name}}}
		if _, _, err := b.Encode(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	none := &deploy.Bundle{Files: []deploy.File{{Name: "a"}}}
	if _, _, err := none.Encode(); err == nil || err.Error() != "it names no graph" {
		t.Errorf("without a graph: %v", err)
	}
}

// TestLargestBundle: the limit counts the bytes in the store, and is told with both figures.
func TestLargestBundle(t *testing.T) {
	b := &deploy.Bundle{Graphs: []string{"a"}, Files: []deploy.File{{Name: "a", Data: make([]byte, deploy.MaxBundle/4*3)}}}
	if _, _, err := b.Encode(); err == nil || !strings.Contains(err.Error(), fmt.Sprint("at most ", deploy.MaxBundle)) {
		t.Errorf("above the limit: %v", err)
	}
	b.Files[0].Data = b.Files[0].Data[:len(b.Files[0].Data)-300]
	if content, _, err := b.Encode(); err != nil || len(content) > deploy.MaxBundle {
		t.Errorf("below the limit: %d bytes, %v", len(content), err)
	}
}
