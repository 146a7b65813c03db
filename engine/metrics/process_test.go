package metrics

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProcess: what /proc says is told, and what it does not say is left out.
func TestProcess(t *testing.T) {
	const stat = "42 (a) b (c) R 1 42 42 0 -1 4194304 1 2 3 4 250 50 7 8 20 0 9 0 3000 1048576 3 18446744073709551615 1\n"
	whole := map[string]float64{
		"process_cpu_seconds_total": 3, "process_virtual_memory_bytes": 1 << 20, "process_resident_memory_bytes": 3 * float64(os.Getpagesize()),
		"process_start_time_seconds": 1_700_000_030, "process_open_fds": 2,
	}
	without := func(names ...string) map[string]float64 {
		m := maps.Clone(whole)
		for _, name := range names {
			delete(m, name)
		}
		return m
	}
	nothing := without("process_cpu_seconds_total", "process_virtual_memory_bytes", "process_resident_memory_bytes", "process_start_time_seconds")
	for name, c := range map[string]struct {
		self, boot string
		want       map[string]float64
	}{
		"all":              {stat, "cpu 1 2\nintr 3\nbtime 1700000000\nprocesses 1\n", whole},
		"no boot time":     {stat, "cpu 1 2\nxbtime 1\n", without("process_start_time_seconds")},
		"broken boot time": {stat, "btime x\n", without("process_start_time_seconds")},
		"cut off":          {stat[:strings.Index(stat, " 1048576")], "btime 1\n", nothing},
		"no number":        {strings.Replace(stat, "250", "x", 1), "btime 1\n", nothing},
		"no bracket":       {"42", "btime 1\n", nothing},
		"empty":            {"", "", nothing},
	} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			if err := os.MkdirAll(filepath.Join(proc, "self/fd"), 0o755); err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{"self/fd/0": "", "self/fd/1": "", "self/stat": c.self, "stat": c.boot} {
				if err := os.WriteFile(filepath.Join(proc, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, ofProc(proc)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if diff := cmp.Diff(map[string]float64{}, ofProc(t.TempDir())); diff != "" {
		t.Error("without /proc: " + diff)
	}
}

// ofProc are the metrics that a /proc says, without the limits, which it does not.
func ofProc(proc string) map[string]float64 {
	got := map[string]float64{}
	for _, f := range processFamilies(proc) {
		if !strings.Contains(f.name, "_max_") {
			got[f.name] = f.series[0].points[0].value
		}
	}
	return got
}

// TestRuntime: this Go knows all that is asked of it.
func TestRuntime(t *testing.T) {
	got := map[string]bool{}
	for _, f := range goFamilies() {
		got[f.name] = true
	}
	for _, g := range goMetrics {
		if !got[g.name] {
			t.Errorf("%s: Go does not know one of %v", g.name, g.of)
		}
	}
}
