package cmd

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
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
			if _, _, err := w.Txn(t.Context(), nil, []engine.Op{{Key: key, Value: value}}); err != nil {
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

// TestFindingQ2NoRights: who may not read the store gets a plan in which what depends on it is unknown, and the reason.
func TestFindingQ2NoRights(t *testing.T) {
	dir := openToUsers(t)
	file := filepath.Join(dir, "world.db")
	w, err := bolt.Open(file, bolt.Options{})
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.Chmod(file, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	weakly(t, func() {
		var said bytes.Buffer
		f := &planStore{world: worldFlags{place: "bolt:" + file}, socket: socketFlag{path: filepath.Join(dir, "no.sock")}}
		w, closing, err := f.open(t.Context(), &state{}, dir, "web1", slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil {
			t.Error(err)
			return
		}
		defer closing()
		_, err = w.List(t.Context(), hosts.Prefix, engine.ListOptions{})
		if _, unread := errors.AsType[*engine.UnreadError](err); !unread || !errors.Is(err, fs.ErrPermission) || !strings.Contains(said.String(), "permission denied") {
			t.Errorf("%v; it says %s", err, said.String())
		}
	})
}
