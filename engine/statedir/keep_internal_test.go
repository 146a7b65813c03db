package statedir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/journal/ineffect"
	"github.com/reactivegraph/mgmt/engine/records"
)

// stillClock stands, so that the folder is looked at when a test does.
type stillClock struct{ clock.System }

func (stillClock) AfterFunc(time.Duration, func()) func() bool { return func() bool { return true } }

// keptDir is a folder in use, and what was kept in it.
type keptDir struct {
	*testing.T
	*Dir
	log     *bytes.Buffer
	declare Declared
	prints  map[string]string
	files   map[string]string
}

func openKept(t *testing.T, f Folder) *keptDir {
	t.Helper()
	k := &keptDir{T: t, log: &bytes.Buffer{}, files: map[string]string{"vars/a/b/password": "secret", "age.key": "key", "deploys/all.json": "{}"}}
	d, err := Open(Options{Folder: f, Keep: true, Clock: stillClock{}, Log: slog.New(slog.NewTextHandler(k.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	k.Dir = d
	was, declare := Declarations(d, func() map[string]string { return k.prints })
	if k.declare, k.prints = declare, was.Prints; k.prints == nil {
		k.prints = map[string]string{}
	}
	return k
}

// fill keeps something of each sort.
func (k *keptDir) fill() {
	k.Helper()
	k.commit("k")
	k.History.Append(journal.Entry{Resource: "noop[a]"})
	k.Effect.Keep(func() ineffect.Names { return ineffect.Names{All: []string{"noop[a]"}} }, "g.yaml")
	k.prints["noop[a]"] = "digest"
	k.declare.Put("noop[a]", "digest")
	k.declare.Flush()
	for name, text := range k.files {
		path := filepath.Join(k.Path, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			k.Fatal(err)
		}
	}
	for _, err := os.Stat(filepath.Join(k.Path, inEffectFile)); err != nil; _, err = os.Stat(filepath.Join(k.Path, inEffectFile)) {
		runtime.Gosched() // the names are written by a goroutine
	}
	if err := k.Effect.Renew(); err != nil { // waits until that has synced the folder, too
		k.Fatal(err)
	}
	k.look()
	if l := k.Loss(); l != nil {
		k.Fatalf("at first it has lost %+v", l)
	}
}

func (k *keptDir) commit(key string) {
	k.Helper()
	if err := k.Store.Commit(k.Context(), []records.Write{{Table: "t", Key: key, Value: []byte("v")}}); err != nil {
		k.Error(err)
	}
}

// copied reads the folder as a process would that comes after a kill, and returns what is there.
func (k *keptDir) copied() string {
	k.Helper()
	var all []string
	m, err := Remembered(k.Path)
	if err != nil {
		return err.Error()
	}
	for rec, err := range m.Records(k.Context(), "t") {
		if err != nil {
			k.Error(err)
		}
		all = append(all, rec.Key)
	}
	for name, text := range k.files {
		path := filepath.Join(k.Path, name)
		b, err := os.ReadFile(path)
		info, bad := os.Lstat(path)
		switch {
		case err != nil || string(b) != text:
			all = append(all, fmt.Sprintf("%s is %q, %v", name, b, err))
		case bad != nil || info.Mode() != 0o600:
			all = append(all, fmt.Sprintf("%s has mode %v", name, info.Mode()))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// end closes the folder, and opens it as the next run does.
func (k *keptDir) end(f Folder) {
	k.Helper()
	if err := k.Close(); err != nil {
		k.Error(err)
	}
	n := openKept(k.T, f)
	defer func() {
		if err := n.Close(); err != nil {
			k.Error(err)
		}
	}()
	if got := n.InEffect("g.yaml"); !slices.Equal(got.All, []string{"noop[a]"}) {
		k.Errorf("in effect were %v", got)
	}
	if !maps.Equal(n.prints, k.prints) {
		k.Errorf("the declarations were %v", n.prints)
	}
	past, err := HistoryIn(k.Path)
	if err != nil {
		k.Fatal(err)
	}
	found := false
	for e := range past.Query(k.Context(), journal.Query{}) {
		found = found || e.Resource == "noop[a]"
	}
	if !found {
		k.Error("the history is lost")
	}
}

// TestFindingQ10Folder: a state folder that is removed or replaced while it is in use is written anew, with all that was kept there, so that a kill
// right after it loses nothing. The log says it once, and Loss from then on.
func TestFindingQ10Folder(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"removed":         os.RemoveAll,
		"moved away":      func(path string) error { return os.Rename(path, path+".old") },
		"emptied":         func(path string) error { return removeIn(path, func(string) bool { return true }) },
		"without journal": func(path string) error { return os.Remove(filepath.Join(path, journalFile)) },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, journalFile), []byte("theirs"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := In(filepath.Join(t.TempDir(), "above", "state"))
			k := openKept(t, f)
			k.fill()
			for round := range 2 { // a second time, too
				if err := errors.Join(os.RemoveAll(k.Path+".old"), take(k.Path)); err != nil {
					t.Fatal(err)
				}
				k.commit(fmt.Sprint(round)) // to the journal without a name
				k.look()
				if got, want := k.copied(), []string{"0; k", "0; 1; k"}[round]; got != want {
					t.Errorf("after a kill there is %s, want %s", got, want)
				}
				if l := k.Loss(); l == nil || l.Err != nil || len(l.Lost)+len(l.Other) > 0 || l.Since.IsZero() {
					t.Errorf("it says %+v", l)
				}
				k.look()
				if n := strings.Count(k.log.String(), "THE STATE FOLDER"); n != round+1 || strings.Count(k.log.String(), "level=") != n {
					t.Errorf("said %d times: %s", n, k.log)
				}
			}
			k.end(f)
		})
	}
}

// removeIn removes what is in a folder, where chosen says so of its name.
func removeIn(path string, chosen func(name string) bool) error {
	list, err := os.ReadDir(path)
	for _, e := range list {
		if chosen(e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(path, e.Name())))
		}
	}
	return err
}

// TestFindingQ10Slowly: a removal that takes longer than some looks loses nothing either. What its owner removes is not written again.
func TestFindingQ10Slowly(t *testing.T) {
	f := In(filepath.Join(t.TempDir(), "state"))
	k := openKept(t, f)
	k.fill()
	if err := os.Remove(filepath.Join(k.Path, "deploys", "all.json")); err != nil {
		t.Fatal(err)
	}
	delete(k.files, "deploys/all.json")
	for range maxGone {
		k.look()
	}
	if err := removeIn(k.Path, func(name string) bool { return name == "vars" }); err != nil {
		t.Fatal(err)
	}
	k.look()
	k.look()
	if err := os.RemoveAll(k.Path); err != nil {
		t.Fatal(err)
	}
	k.look()
	if got := k.copied(); got != "k" {
		t.Errorf("there is %s", got)
	}
	if _, err := os.Stat(filepath.Join(k.Path, "deploys", "all.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was removed long ago has come back: %v", err)
	}
	k.end(f)
}

// TestFindingQ10Lost: what can't be written again is named, until it is there again. Other files that came with another folder are left alone, and named.
func TestFindingQ10Lost(t *testing.T) {
	f := In(filepath.Join(t.TempDir(), "state"))
	k := openKept(t, f)
	k.fill()
	password := filepath.Join(k.Path, "vars", "a", "b", "password")
	if err := errors.Join(os.Truncate(password, 0), os.RemoveAll(k.Path), os.Mkdir(k.Path, 0o700), os.WriteFile(filepath.Join(k.Path, "age.key"), []byte("other"), 0o600)); err != nil {
		t.Fatal(err)
	}
	k.look()
	l := k.Loss()
	if l == nil || !slices.Equal(l.Lost, []string{"vars/a/b/password"}) || !slices.Equal(l.Other, []string{"age.key"}) {
		t.Fatalf("it says %+v", l)
	}
	if b, err := os.ReadFile(filepath.Join(k.Path, "age.key")); string(b) != "other" || err != nil {
		t.Errorf("their file is %q, %v", b, err)
	}
	if !strings.Contains(k.log.String(), "lost=vars/a/b/password other=age.key") {
		t.Errorf("it does not name them: %s", k.log)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(password), 0o700), os.WriteFile(password, []byte("from a backup"), 0o600)); err != nil {
		t.Fatal(err)
	}
	k.look()
	if l := k.Loss(); len(l.Lost) > 0 {
		t.Errorf("after it was restored it says %+v", l)
	}
	k.end(f)
}

// TestFindingQ10NotOurs: nothing is written while the folder is not ours, or can't be had. What was told once is not told again, and when it is ours again all is written.
func TestFindingQ10NotOurs(t *testing.T) {
	var bad error
	path := filepath.Join(t.TempDir(), "state")
	f := Held(path, func() (bool, error) { return bad == nil && os.MkdirAll(path, 0o700) != nil, bad }, nil, "world.db")
	k := openKept(t, f)
	world := filepath.Join(path, "world.db")
	if err := os.WriteFile(world, []byte("objects"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.fill()
	bad = errors.New("another daemon has it")
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		k.look()
	}
	if l := k.Loss(); l == nil || !errors.Is(l.Err, bad) {
		t.Errorf("it says %+v", l)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has written to a folder of others: %v", err)
	}
	if n := strings.Count(k.log.String(), "another daemon has it"); n != 1 {
		t.Errorf("said %d times: %s", n, k.log)
	}
	bad = nil
	k.look()
	if got := k.copied(); got != "k" {
		t.Errorf("there is %s", got)
	}
	if l := k.Loss(); l == nil || l.Err != nil {
		t.Errorf("it says %+v", l)
	}
	if _, err := os.Stat(world); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of another keeper was written: %v", err)
	}
	k.end(f)
}

// TestFindingQ10AtTheEnd: a folder that is removed right before the end is there for the next run.
func TestFindingQ10AtTheEnd(t *testing.T) {
	f := In(filepath.Join(t.TempDir(), "state"))
	k := openKept(t, f)
	k.fill()
	if err := os.RemoveAll(k.Path); err != nil {
		t.Fatal(err)
	}
	k.end(f)
}

// TestFindingQ10Linked: the folder may be a link to another one.
func TestFindingQ10Linked(t *testing.T) {
	base := t.TempDir()
	if err := errors.Join(os.Mkdir(base+"/real", 0o700), os.Symlink("real", base+"/state")); err != nil {
		t.Fatal(err)
	}
	f := In(base + "/state")
	k := openKept(t, f)
	k.fill()
	if err := removeIn(base+"/real", func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	k.look()
	if got := k.copied(); got != "k" {
		t.Errorf("there is %s", got)
	}
	k.end(f)
}

// TestFindingQ10StoreOfTheCaller: a file of the caller that can't be written again keeps nothing else from it.
func TestFindingQ10StoreOfTheCaller(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	var bad error
	f := Held(path, func() (bool, error) { return false, os.MkdirAll(path, 0o700) }, func() error { return bad }, "world.db")
	k := openKept(t, f)
	k.fill()
	bad = errors.New("another file is in the place of world.db")
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	k.look()
	if got := k.copied(); got != "k" {
		t.Errorf("there is %s", got)
	}
	if l := k.Loss(); l == nil || !errors.Is(l.Err, bad) {
		t.Errorf("it says %+v", l)
	}
	k.end(f)
}

// TestFindingQ10InEffectBefore: the names of an earlier run are there for the next one, also where this run has put no graph into effect.
func TestFindingQ10InEffectBefore(t *testing.T) {
	f := In(filepath.Join(t.TempDir(), "state"))
	k := openKept(t, f)
	k.fill()
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = openKept(t, f)
	k.look()
	if err := os.RemoveAll(k.Path); err != nil {
		t.Fatal(err)
	}
	k.look()
	k.end(f)
}
