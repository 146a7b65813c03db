package generate_test

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema/generate"
)

// tree reads a folder: the texts by path, and "/" behind the path of a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir():
			all[name+"/"] = ""
			return nil
		case !e.Type().IsRegular():
			all[name] = e.Type().String()
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSyncModel syncs one folder to random sets of files, with changes by hand between them.
// Afterwards the folder has those files and the ones of people, and no folder is empty. Compare
// before it names each difference once, and finds none after it.
func TestSyncModel(t *testing.T) {
	paths := []string{"a.ts", "b.go", "m/a.ts", "m/b.go", "m/n/a.ts", "o/a.json"}
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 1))
		dir := filepath.Join(t.TempDir(), fmt.Sprint(seed))
		for range 4 {
			files, want := generate.Files{}, map[string]string{}
			for _, p := range paths {
				if rng.IntN(2) == 0 {
					files[p] = fmt.Appendf(nil, "%s%d\n", made, rng.IntN(2))
					want[p] = string(files[p])
				}
			}
			if rng.IntN(2) == 0 {
				write(t, dir, paths[rng.IntN(len(paths))], "by hand")
			}
			syncOnce(t, dir, files, want)
		}
	}
}

// syncOnce brings a folder to the files. It wants the given texts there, and those by hand.
func syncOnce(t *testing.T, dir string, files generate.Files, want map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range tree(t, dir) {
		if text == "by hand" && files[name] == nil {
			want[name] = text
		}
	}
	for name := range maps.Clone(want) {
		for up := filepath.Dir(name); up != "."; up = filepath.Dir(up) {
			want[up+"/"] = ""
		}
	}
	said, err := generate.Compare(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	if did, err := generate.Sync(dir, files); err != nil || !reflect.DeepEqual(did, said) {
		t.Fatalf("Sync: %+v, %v; Compare said %+v", did, err, said)
	}
	if after, err := generate.Compare(dir, files); err != nil || !after.Empty() {
		t.Fatalf("Compare after Sync: %+v, %v", after, err)
	}
	if got := tree(t, dir); !maps.Equal(got, want) {
		t.Fatalf("the folder has %v, want %v", got, want)
	}
}

// TestSyncFailedStage: where a new text can't be put next to its place, the folder is as it was. No
// text, no folder and nothing of others comes or goes.
func TestSyncFailedStage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.ts", made+"old")
	write(t, dir, "gone.ts", made)
	write(t, dir, "z", "a file where a folder is needed")
	before := tree(t, dir)
	files := generate.Files{"a.ts": []byte(made + "new"), "m/n/b.ts": []byte(made), "z/c.ts": []byte(made)}
	if _, err := generate.Sync(dir, files); err == nil {
		t.Fatal("no error")
	}
	if after := tree(t, dir); !maps.Equal(after, before) {
		t.Errorf("the folder has %v, it had %v", after, before)
	}
}

// TestSyncFailedPut: where a text can't be brought to its place, no staged text is left, and no folder that was made for one. A file of a
// person stays, whatever its name.
func TestSyncFailedPut(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.ts.new~", "by hand")
	files := generate.Files{"a.ts": []byte(made), "m": []byte(made), "m/x.ts": []byte(made), "n/y.ts": []byte(made)}
	if _, err := generate.Sync(dir, files); err == nil {
		t.Fatal("no error: a file took the place of a folder")
	}
	if got, want := tree(t, dir), map[string]string{"a.ts": made, "a.ts.new~": "by hand"}; !maps.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
}

// TestSyncAlone: of many that begin together each one does its work or says that another is at it. At the end
// the folder has the files, and nothing else.
func TestSyncAlone(t *testing.T) {
	dir := t.TempDir()
	files, want := generate.Files{}, map[string]string{"m/": ""}
	for i := range 20 {
		name := fmt.Sprintf("m/%d.ts", i)
		files[name], want[name] = []byte(made), made
	}
	errs := make(chan error)
	for range 8 {
		go func() {
			_, err := generate.Sync(dir, files)
			errs <- err
		}()
	}
	done := 0
	for range 8 {
		switch err := <-errs; {
		case err == nil:
			done++
		case !strings.Contains(err.Error(), "another process generates files in "+dir):
			t.Error(err)
		}
	}
	if got := tree(t, dir); done == 0 || !maps.Equal(got, want) {
		t.Errorf("%d have done it; the folder has %v", done, got)
	}
}

// TestSyncStaysInside: a link does not lead Sync out of its folder, neither as a file nor as a
// folder of files, and a stale file behind a link stays.
func TestSyncStaysInside(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "a.ts", made+"outside")
	for name, c := range map[string]struct{ link, to string }{
		"a folder": {"m", outside},
		"a file":   {"m.ts", filepath.Join(outside, "a.ts")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Symlink(c.to, filepath.Join(dir, c.link)); err != nil {
				t.Fatal(err)
			}
			if drift, err := generate.Sync(dir, generate.Files{"b.ts": []byte(made)}); err != nil || len(drift.Stale) > 0 {
				t.Errorf("a stale file behind a link: %+v, %v", drift, err)
			}
			if _, err := generate.Sync(dir, generate.Files{"m/a.ts": []byte(made), "m.ts": []byte(made)}); err == nil {
				t.Error("a link out of the folder is followed")
			}
			if got := tree(t, outside); !maps.Equal(got, map[string]string{"a.ts": made + "outside"}) {
				t.Errorf("outside there is %v", got)
			}
		})
	}
}

// TestStaleIsOurs: the mark counts in the first line alone, or in the first key of JSON. Hidden folders
// and the packages of others are not looked at. What a crash left between two steps is removed.
func TestStaleIsOurs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ours.py": "#" + made[2:], "ours.json": "{\n  \"$comment\": \"" + made[3:len(made)-1] + "\"\n}\n",
		"crash.ts.new~": made, "second line.ts": "\n" + made, "quoted.md": "See the line:\n" + made,
		"deep.json": "{\n\"a\": 1,\n\"b\": \"" + made[3:len(made)-1] + "\"}", "empty.ts": "",
		".git/a.ts": made, "m/.cache/a.ts": made, "node_modules/x/a.ts": made, "m/node_modules.ts": made,
	} {
		write(t, dir, name, text)
	}
	want := []string{"crash.ts.new~", "m/node_modules.ts", "ours.json", "ours.py"}
	drift, err := generate.Compare(dir, nil)
	if err != nil || !slices.Equal(drift.Stale, want) || len(drift.Changed)+len(drift.Missing) > 0 {
		t.Errorf("Compare = %+v, %v; want stale %q", drift, err, want)
	}
}

// TestCompareWithoutFolder: a folder that is not there has nothing, and Compare does not make it. A
// file in its place is an error.
func TestCompareWithoutFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	drift, err := generate.Compare(dir, generate.Files{"b.ts": nil, "a.ts": nil})
	if want := (generate.Drift{Missing: []string{"a.ts", "b.ts"}}); err != nil || !reflect.DeepEqual(drift, want) {
		t.Errorf("Compare = %+v, %v; want %+v", drift, err, want)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("Compare made the folder")
	}
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if drift, err := generate.Sync(dir, generate.Files{"a.ts": []byte(made)}); err == nil {
		t.Errorf("a file in the place of the folder: %+v", drift)
	}
}
