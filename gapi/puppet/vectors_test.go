package puppet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
)

// expected is what Puppet made of a sample.
type expected struct {
	Cycle bool
	Edges []puppet.Pair
	Order []string `json:"evaluation_order"`
}

// deviation is an outcome that is not Puppet's of a catalog that has a text, and why.
type deviation struct{ has, what, reason string }

var deviations = []deviation{
	{`"Resources[`, "order", "resources { purge } makes a resource of each host that the machine has; it is refused here"},
}

// vectorFolder is where the samples are: a folder that VECTORS names holds
// puppet/catalogs with others of the same form.
func vectorFolder() (dir string, others bool) {
	folder, others := os.LookupEnv("VECTORS")
	if !others {
		folder = "testdata"
	}
	return filepath.Join(folder, "puppet", "catalogs"), others
}

// samples returns the names of the samples in a folder; none is an error.
func samples(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.expected.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no sample, that is no file *.expected.json", dir)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".expected.json")
	}
	return files, nil
}

func readExpected(path string) (e expected, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	if e.Edges == nil {
		return e, fmt.Errorf("%s holds no edges", path)
	}
	return e, nil
}

// TestVectors: relations, order and cycles are those that Puppet has found in the
// same catalogs, or deviate for a stated reason.
func TestVectors(t *testing.T) {
	dir, others := vectorFolder()
	names, err := samples(dir)
	must(t, err)
	used := map[deviation]bool{}
	for _, name := range names {
		want, err := readExpected(filepath.Join(dir, name+".expected.json"))
		must(t, err)
		files, err := filepath.Glob(filepath.Join(dir, name+"*.catalog.*.json"))
		must(t, err)
		if len(files) == 0 {
			t.Errorf("%s has no catalog", name)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				src, err := os.ReadFile(file)
				must(t, err)
				for what, diff := range compare(t, file, src, want) {
					i := slices.IndexFunc(deviations, func(d deviation) bool { return d.what == what && bytes.Contains(src, []byte(d.has)) })
					if i < 0 {
						t.Errorf("%s: %s", what, diff)
						continue
					}
					used[deviations[i]] = true
				}
			})
		}
	}
	for _, d := range deviations {
		if !others && !used[d] {
			t.Errorf("nothing deviates by %+v", d)
		}
	}
}

// TestVectorsMustBeThere: nothing passes for want of samples.
func TestVectorsMustBeThere(t *testing.T) {
	if list, err := samples(t.TempDir()); err == nil {
		t.Errorf("an empty folder holds %v", list)
	}
	path := filepath.Join(t.TempDir(), "x.expected.json")
	for _, text := range []string{"{", "{}"} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := readExpected(path); err == nil {
			t.Errorf("%s is an outcome", text)
		}
	}
}

// path is how Puppet names a resource in the order: with what contains it.
var inOrder = regexp.MustCompile(`^/.*?/([A-Z][\w:]*\[.*\])$`)

// compare returns the differences to what Puppet did, by what they are about.
func compare(t *testing.T, file string, src []byte, want expected) map[string]string {
	pairs, order, ds := puppet.Relations(file, src, kinds)
	if len(ds) > 0 {
		t.Errorf("%v", ds)
	}
	diffs := map[string]string{}
	note := func(what string, a, b any) {
		if diff := cmp.Diff(a, b); diff != "" {
			diffs[what] = diff
		}
	}
	note("cycle", want.Cycle, order == nil)
	note("edges", want.Edges, append([]puppet.Pair{}, pairs...))
	if len(want.Order) > 0 { // what failed before anything ran has none
		var list []string
		for _, entry := range want.Order {
			if m := inOrder.FindStringSubmatch(entry); m != nil {
				list = append(list, m[1])
			}
		}
		note("order", list, order)
	}
	d, err := puppet.Read(file, src, kinds, puppet.Options{Lenient: true})
	must(t, err)
	g, ds := gapi.Build(kinds, d)
	note("graph", want.Cycle, g == nil)
	if want.Cycle != strings.Contains(ds.Error(), "cycle: ") {
		diffs["message"] = ds.Error()
	}
	for _, d := range ds {
		if d.Pos.Line == 0 || !strings.HasSuffix(d.Pos.File, ".pp") {
			t.Errorf("a finding without the line of the manifest: %v", d)
		}
	}
	return diffs
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
			t.Fatalf("%d findings:\n%v", len(ds), ds)
		}
		t.Fatal(err)
	}
}
