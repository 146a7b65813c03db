package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRowLeavesNothing: a row works in a folder of its own, also if it fails.
func TestRowLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	for want, end := range map[string]func() result{
		`"Figure":"1s"`: func() result { return result{Figure: "1s"} },
		`"Err":"oh"`:    func() result { panic("oh") },
	} {
		var out bytes.Buffer
		r := row{run: func(b *bench) result {
			must(os.WriteFile(filepath.Join(b.dir, "litter"), nil, 0o600))
			return end()
		}}
		if err := r.runIn(&out, bench{dir: dir}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s, %v, want %s", &out, err, want)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// TestRowsHaveOneName: a row is found by its name.
func TestRowsHaveOneName(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows() {
		if seen[r.name] || r.name == "" || r.limit == "" || r.run == nil {
			t.Errorf("%q is there twice, or is not whole", r.name)
		}
		seen[r.name] = true
		if got, err := rowNamed(r.name); err != nil || got.clock != r.clock {
			t.Errorf("%q is not found: %v", r.name, err)
		}
	}
	if _, err := rowNamed("no such row"); err == nil {
		t.Error("a row that is not there: no error")
	}
}

// TestParseBench: each benchmark has its figures, whatever the number of processors.
func TestParseBench(t *testing.T) {
	got := parseBench(`goos: linux
BenchmarkHeld-2   	  500000	 812.5 ns/op	 1.5e+03 max-ns	 700 p50-ns
BenchmarkQuiet/1000        	 7	 64 ns/op
BenchmarkQuiet/1000000-16  	 7	 65 ns/op	 0 looks/event
PASS
ok  	x	1.2s
`)
	want := map[string]figures{
		"Held":          {"ns/op": 812.5, "max-ns": 1500, "p50-ns": 700},
		"Quiet/1000":    {"ns/op": 64},
		"Quiet/1000000": {"ns/op": 65, "looks/event": 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
