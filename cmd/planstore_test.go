package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
)

// TestFindingQ2PlanReadsStore: a plan has the hosts of the store, as a run on it would. Where a process has the store, all that
// depends on it is unknown, also what a loop or a module makes of it.
func TestFindingQ2PlanReadsStore(t *testing.T) {
	b := newBoard(t)
	file := filepath.Join(b.dir, "world.db")
	w, err := bolt.Open(file, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"web1", "web2"} {
		keys, err := hosts.MemberKeys(hosts.Member{Name: name, Facts: map[string]any{"hostname": name}})
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range keys {
			if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: value}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.put(t, "graph.yaml", `resources:
  print:
  - {name: all, msg: "${{ hosts.map(h, h).join(' ') }}"}
  - {name: apart, msg: x}
  - {name: "peer-${{ each.key }}", for_each: "${{ hosts }}", msg: x}
  - {name: alone, when: "${{ size(hosts) == 1 }}", msg: x}
use:
- {module: ./mod, name: m, with: {n: "${{ size(hosts) }}"}}
`)
	if err := os.Mkdir(filepath.Join(b.dir, "mod"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.put(t, "mod/module.yaml", "module: mod\ninputs:\n  n: {type: int}\nresources:\n  print:\n  - {name: within, msg: x}\n")
	plan := func() (code int, out string) {
		return b.mgmt(t, "plan", filepath.Join(b.dir, "graph.yaml"), "--prefix", filepath.Join(b.dir, "state"), "--hostname", "web1", "--world", "bolt:"+file, "--all")
	}
	code, out := plan()
	for _, id := range []string{"print[all]", "print[peer-web1]", "print[alone]", "print[within]"} {
		if !strings.Contains(out, id+" is unknown until the hosts of the store can be read") {
			t.Errorf("%s is not unknown (%d):\n%s", id, code, out)
		}
	}
	if strings.Contains(out, "print[apart] is unknown") || !strings.Contains(out, "another process has it open") {
		t.Errorf("it says\n%s", out)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	code, out = plan()
	if code == 1 || strings.Contains(out, "unknown") || !strings.Contains(out, "print[peer-web2]") || strings.Contains(out, "print[alone]") {
		t.Errorf("it ends with %d, and says\n%s", code, out)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the store was altered: %v", err)
	}
}

// TestFindingH9Plan: a plan counts nothing of a host that the operator has removed, as the daemon does: neither its facts, nor what it has exported
// before. An older list that somebody has put back into the store does not count either. A plan notes nothing in the state folder.
func TestFindingH9Plan(t *testing.T) {
	b := newBoard(t)
	file, pin := filepath.Join(b.dir, "world.db"), trust.PinFile(filepath.Join(b.dir, "state"))
	key, err := deploy.NewKey()
	if err == nil {
		err = deploy.WritePublic(filepath.Join(b.dir, "key.pub"), key.Public())
	}
	if err != nil {
		t.Fatal(err)
	}
	alter := func(f func(w world.World) error) {
		t.Helper()
		w, err := bolt.Open(file, bolt.Options{})
		if err == nil {
			err = errors.Join(f(w), w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var older []byte // a record of the store in which web2 still counts
	alter(func(w world.World) error {
		for _, name := range []string{"web1", "web2"} {
			keys, err := hosts.MemberKeys(hosts.Member{Name: name, Facts: map[string]any{"hostname": name}})
			if err != nil {
				return err
			}
			for key, value := range keys {
				if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: value}}); err != nil {
					return err
				}
			}
		}
		s, trusted := deploy.Store{World: w}, []deploy.Public{key.Public()}
		f, err := s.Fleet(t.Context(), trusted)
		if err != nil {
			return err
		}
		if err := s.Found(t.Context(), key, f, "", "op@desk", time.Now()); err != nil {
			return err
		}
		kv, err := w.Get(t.Context(), deploy.StoreKey())
		older = kv.Value
		return err
	})
	b.put(t, "graph.yaml", `resources:
  print:
  - {name: "peer-${{ each.key }}", for_each: "${{ hosts }}", msg: x}
collect:
- {kind: print, name: "theirs-*"}
`)
	records, err := json.Marshal(map[string][]byte{"exports/all/web2/print/theirs-2": []byte(`{"value":{"msg":"x"}}`)})
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(b.dir, "state"), 0o700), os.WriteFile(filepath.Join(b.dir, "state", "collected.json"), records, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	plans := func(when string, counts bool) {
		t.Helper()
		code, out := b.mgmt(t, "plan", filepath.Join(b.dir, "graph.yaml"), "--prefix", filepath.Join(b.dir, "state"), "--hostname", "web1", "--world", "bolt:"+file,
			"--trusted-keys", filepath.Join(b.dir, "key.pub"), "--all")
		for _, id := range []string{"print[peer-web2]", "print[theirs-2]"} {
			if strings.Contains(out, id) != counts || !strings.Contains(out, "print[peer-web1]") {
				t.Errorf("%s: %s counts: %t (%d)\n%s", when, id, !counts, code, out)
			}
		}
	}
	plans("before", true)
	alter(func(w world.World) error {
		s := deploy.Store{World: w}
		f, err := s.Fleet(t.Context(), []deploy.Public{key.Public()})
		if err == nil {
			err = s.Remove(t.Context(), key, f, "web2", nil, "op@desk", time.Now())
		}
		return err
	})
	plans("removed", false)
	if _, err := os.Stat(pin); err == nil {
		t.Error("the plan has noted the store")
	}
	alter(func(w world.World) error { // the daemon has had the newer list
		p := deploy.OpenPin(deploy.PinOptions{Path: pin, Host: "web1", Trusted: func() []deploy.Public { return []deploy.Public{key.Public()} }})
		if err := p.Meet(t.Context(), w); err != nil {
			return err
		}
		_, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: deploy.StoreKey(), Value: older}})
		return err
	})
	noted, err := os.ReadFile(pin)
	if err != nil {
		t.Fatal(err)
	}
	plans("rolled back", false)
	if after, err := os.ReadFile(pin); err != nil || !bytes.Equal(after, noted) {
		t.Errorf("the plan has altered the note of the store: %v", err)
	}
}
