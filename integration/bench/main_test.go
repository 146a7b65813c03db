package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
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

// TestFindingM1PeersMissing: where the other libraries can't be built, the row says so.
func TestFindingM1PeersMissing(t *testing.T) {
	if got := peers(t.TempDir()); !strings.Contains(got, "not measured") {
		t.Errorf("%q", got)
	}
}

// TestNumbers: the numbers of all kinds of figures are found, times whatever their unit.
func TestNumbers(t *testing.T) {
	for figure, want := range map[string][]number{
		"422.8ms = 2.25 x":                {{422.8e6, "ns"}, {2.25, "x"}},
		"1m2.5s, 1 instance":              {{62.5e9, "ns"}, {1, ""}},
		"4.14 KiB each, CPU 0.02 %":       {{4.14, "KiB"}, {0.02, "%"}},
		"p50 1.5µs, p99 20ns":             {{1500, "ns"}, {20, "ns"}},
		"33.3 MB":                         {{33.3, "MB"}},
		"p50 64ns, 1 run and 0.5 edges; ": {{64, "ns"}, {1, ""}, {0.5, ""}},
		"":                                nil,
	} {
		if got := numbers(figure); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", figure, got, want)
		}
	}
}

// TestCompare: a pair has one run of each side, and what costs over a tenth more is not good.
func TestCompare(t *testing.T) {
	const name = "cold converge of 10,000 files"
	say := func(figure string) side {
		self := filepath.Join(t.TempDir(), "bench")
		if err := os.WriteFile(self, []byte("#!/bin/sh\necho '{\"Figure\":\""+figure+"\"}'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return side{self: self, at: t.TempDir()}
	}
	for figure, want := range map[string]string{
		"105ms = 1.1 x": "| 100ms | 105ms | +5.0 % | ok |",
		"120ms = 1.1 x": "| 100ms | 120ms | +20.0 % | **more** |",
		"50ms = 1.1 x":  "| 100ms | 50ms | -50.0 % | ok |",
	} {
		var out bytes.Buffer
		c := comparison{dir: t.TempDir(), ours: say(figure), theirs: say("100ms = 1.1 x"), pairs: 3, words: []string{name}, mostMore: 10}
		good := c.compare(&out)
		if !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "| 1.1 x | 1.1 x | +0.0 % | ok |") || good == strings.Contains(want, "more") {
			t.Errorf("%s: %t\n%s", figure, good, &out)
		}
	}
	var out bytes.Buffer
	bad := comparison{dir: t.TempDir(), ours: say("1s"), theirs: side{self: "/does/not/exist"}, pairs: 1, words: []string{name}}
	if bad.compare(&out) || !strings.Contains(out.String(), "**failed**") {
		t.Errorf("a side that can't run: %s", &out)
	}
	if _, err := sideOf(t.TempDir()); err == nil {
		t.Error("an empty folder was taken for a checkout")
	}
}
