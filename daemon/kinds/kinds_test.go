package kinds_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/engine/schema"

	_ "github.com/reactivegraph/mgmt/resources/all"
)

// The files of a machine with one of each.
const (
	note = `name: note
docs: A note.
features: [remote_resource]
get: [/bin/note, get]
set: [/bin/note, set]
attributes:
  name: {type: String, docs: Its name., kind: namevar}
  text: {type: 'Optional[String]', docs: Its text.}
`
	box    = "name: box\nmodule: pkg\ndoc: A box.\nwhen: {roles: [none]}\ncommand: [sh]\n"
	target = ": {transport: ssh, host: 127.0.0.1, host_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f}\n"
	router = "model: Router\ntable: router\ndoc: A router.\nfields:\n  via: {type: string, doc: The next hop.}\n"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// folders returns the Options of a folder with a type, a backend, a target and a model.
func folders(t *testing.T) (string, kinds.Options) {
	t.Helper()
	dir := t.TempDir()
	put(t, dir+"/types/note.yaml", note)
	put(t, dir+"/backends/box.yaml", box)
	put(t, dir+"/targets/web.yaml", "web1"+target)
	put(t, dir+"/models/router.yaml", router)
	return dir, kinds.Options{Types: dir + "/types", Backends: dir + "/backends", Targets: dir + "/targets", Models: dir + "/models"}
}

func load(t *testing.T, o kinds.Options, before *kinds.Set) *kinds.Set {
	t.Helper()
	s, ds := kinds.Load(o, before)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	return s
}

// TestFindingD6SameKinds: a reading has the kinds of the one before, where neither their files nor those of a step before have changed.
// Targets alone make no other kinds.
func TestFindingD6SameKinds(t *testing.T) {
	dir, o := folders(t)
	first := load(t, o, nil)
	if first.Kinds() == (*kinds.Set)(nil).Kinds() || !first.Kinds().Has("note") {
		t.Fatal("the folders add no kinds")
	}
	for _, c := range []struct {
		name, path, text string
		others           bool
	}{
		{"nothing", "types/note.yaml", note, false},
		{"a target", "targets/more.yaml", "web2" + target, false},
		{"a type", "types/note.yaml", note + "timeout: 7\n", true},
		{"a backend", "backends/box.yaml", box + "priority: 3\n", true},
	} {
		put(t, filepath.Join(dir, c.path), c.text)
		next := load(t, o, first)
		if got := next.Kinds() != first.Kinds(); got != c.others {
			t.Errorf("%s: the kinds are others: %t", c.name, got)
		}
		first.Take(next)
		first = next
	}
	if got := first.Targets().Names(); strings.Join(got, " ") != "web1 web2" {
		t.Errorf("the targets are %v", got)
	}
	o.Types, o.Targets = "", ""
	none := load(t, o, first)
	if none.Kinds().Has("note") {
		t.Error("there is a note without its folder")
	}
	first.Take(none)
	if got := first.Targets().Names(); len(got) != 0 {
		t.Errorf("without a folder the targets are %v", got)
	}
}

// TestTakeKeepsTables: who holds the tables of a running program sees the models of the next reading.
func TestTakeKeepsTables(t *testing.T) {
	dir, o := folders(t)
	first := load(t, o, nil)
	held := first.Tables()
	if m, _ := held.Model("Router"); m == nil {
		t.Fatal("the folder adds no model")
	}
	put(t, dir+"/models/more.yaml", strings.NewReplacer("Router", "Bridge", "router", "bridge").Replace(router))
	next := load(t, o, first)
	if m, _ := held.Model("Bridge"); m != nil {
		t.Error("a reading counts before it was taken")
	}
	if !first.Take(next) || next.Tables() != held {
		t.Error("the models are the same ones, or their tables are others")
	}
	if m, _ := held.Model("Bridge"); m == nil {
		t.Error("the holder of the tables does not see the new model")
	}
	again := load(t, o, next)
	if next.Take(again) {
		t.Error("models that are the same count as others")
	}
}

// TestAllFaults: the faults of all folders come together, a folder as a whole is told with the setting that names it, and there is no Set.
func TestAllFaults(t *testing.T) {
	dir, o := folders(t)
	put(t, dir+"/types/note.yaml", "colour: red\n"+note)
	put(t, dir+"/backends/box.yaml", box+"moduel: pkg\n")
	o.Targets = dir + "/nowhere"
	o.Place = func(setting string) schema.Pos {
		return schema.Pos{File: "mgmt.yaml", Line: 3, Col: 1}
	}
	s, ds := kinds.Load(o, nil)
	if s != nil || ds.Err() == nil {
		t.Fatal("faulty folders make kinds")
	}
	for _, want := range []string{"colour", "moduel", "mgmt.yaml:3:1: named here"} {
		if !strings.Contains(ds.Err().Error(), want) {
			t.Errorf("%q is not told: %v", want, ds.Err())
		}
	}
}
