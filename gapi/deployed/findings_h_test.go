package deployed_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world"
)

// copyTo copies all keys of deploys to another store, as a user of both stores does.
func (r *rig) copyTo(to *rig, prefixes ...string) {
	r.t.Helper()
	for _, prefix := range prefixes {
		page, err := r.world.List(r.t.Context(), prefix, world.ListOptions{})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, kv := range page.KVs {
			to.set(kv.Key, kv.Value)
		}
	}
}

// TestFindingH5CopiedDeploy: a deploy that was signed for staging is refused in production, though the key is the same. That holds over a restart,
// and where the record of the store is copied with it. A host that begins in production knows its store by its admission.
func TestFindingH5CopiedDeploy(t *testing.T) {
	production := newRig(t)
	staging := newRigOf(t, production.key, "staging")
	if err := production.store.SetHost(t.Context(), production.key, production.fleet(), deploy.HostRecord{Host: "new", Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		staging.put("of staging")
	}
	dir := t.TempDir()
	h := production.start("h", dir)
	production.put("one")
	h.wants("one", 1, deploy.StateConverged, "")

	staging.copyTo(production, "deploys/", "contents/")
	h.wants("one", 1, deploy.StateConverged, "wrong_store")
	if st := h.report(); !strings.Contains(st.Error, `"staging", and this host belongs to "s1"`) {
		t.Errorf("the error is %q", st.Error)
	}
	staging.copyTo(production, "fleet/store")
	h.end()
	h = production.start("h", dir)
	h.wants("one", 1, deploy.StateConverged, "wrong_store")
	n := production.start("new", t.TempDir())
	n.wants("", 0, deploy.StateTaken, "wrong_store")
	if st := n.report(); !strings.Contains(st.Error, `this host was admitted to "s1"`) {
		t.Errorf("the error is %q", st.Error)
	}
}

// keep writes the file of a deploy in effect, as an earlier daemon has left it.
func (r *rig) keep(dir, text string, alter func(*deploy.Manifest)) {
	r.t.Helper()
	o := r.order(text)
	m := deploy.Manifest{Topic: "all", Number: 1, Digest: o.Digest, Size: len(o.Content), Parts: 1, Graphs: o.Graphs}
	alter(&m)
	record, err := r.key.Sign(m)
	if err != nil {
		r.t.Fatal(err)
	}
	file, err := json.Marshal(map[string]any{"number": 1, "record": record, "content": o.Content})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "all.json"), file, 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// TestFindingH5Expired: a deploy that has expired is accepted by no host that has not had it. A host that has it goes on with it, also over a
// restart, and the same files under a new number are accepted.
func TestFindingH5Expired(t *testing.T) {
	r, dir := newRig(t), t.TempDir()
	past := time.Now().Add(-time.Hour)
	r.keep(dir, "old", func(m *deploy.Manifest) { m.Store, m.Expires = "s1", past })
	o := r.order("old")
	o.Expires = past
	l, err := r.store.Begin(t.Context(), r.key, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Step(t.Context(), nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	had, fresh := r.start("had", dir), r.start("fresh", t.TempDir())
	fresh.wants("", 0, deploy.StateTaken, "expired")
	if st := fresh.report(); !strings.Contains(st.Error, "the clock of this host says") {
		t.Errorf("the error is %q", st.Error)
	}
	had.wants("old", 1, deploy.StateConverged, "")
	o.Expires = time.Now().Add(time.Hour)
	if l, err = r.store.Begin(t.Context(), r.key, o); err != nil || l.Manifest.Number != 2 {
		t.Fatal(l, err)
	}
	if _, err := l.Step(t.Context(), nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	fresh.wants("old", 2, deploy.StateConverged, "")
	had.wants("old", 2, deploy.StateConverged, "")
}

// legacy writes a deploy as an older mgmt does, for no store.
func (r *rig) legacy(number int64, text string) {
	r.t.Helper()
	o := r.order(text)
	parts, err := r.store.PutContent(r.t.Context(), "all", o.Digest, o.Content)
	if err != nil {
		r.t.Fatal(err)
	}
	record, err := r.key.Sign(deploy.Manifest{Topic: "all", Number: number, Digest: o.Digest, Size: len(o.Content), Parts: parts, Graphs: o.Graphs})
	if err != nil {
		r.t.Fatal(err)
	}
	r.set("deploys/all/record/00000000000"+string(rune('0'+number)), record)
	r.set(deploy.RolloutKey("all"), deploy.Rollout{Number: number, Digest: o.Digest, State: deploy.Done})
}

// TestFindingH5OlderStore: in a store of an older mgmt, a host that has had its deploys goes on with them and takes the next one. A host that has had
// none takes none. When the operator has taken the store over, both have the deploy that is due, and none takes one without a store any more.
func TestFindingH5OlderStore(t *testing.T) {
	r := newRigOf(t, newRig(t).key, "")
	dir := t.TempDir()
	r.keep(dir, "one", func(*deploy.Manifest) {})
	r.legacy(1, "one")
	old, fresh := r.start("old", dir), r.start("fresh", t.TempDir())
	old.wants("one", 1, deploy.StateConverged, "")
	fresh.wants("", 0, deploy.StateTaken, "wrong_store")
	if st := fresh.report(); !strings.Contains(st.Error, "run mgmt api migrate once") {
		t.Errorf("the error is %q", st.Error)
	}
	r.legacy(2, "two")
	old.wants("two", 2, deploy.StateConverged, "")

	if err := r.store.Found(t.Context(), r.key, r.fleet(), "s1", "me", time.Now()); err != nil {
		t.Fatal(err)
	}
	list, err := r.store.History(t.Context(), "all")
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for _, d := range list {
		if err := r.store.Adopt(t.Context(), r.key, []deploy.Public{r.key.Public()}, "s1", d, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	fresh.wants("two", 2, deploy.StateConverged, "")
	old.wants("two", 2, deploy.StateConverged, "")
	r.legacy(3, "three")
	fresh.wants("two", 2, deploy.StateConverged, "wrong_store")
	r.put("four")
	fresh.wants("four", 4, deploy.StateConverged, "")
	old.wants("four", 4, deploy.StateConverged, "")
}
