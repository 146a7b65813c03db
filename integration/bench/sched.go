package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// figures are what one benchmark has reported, by unit.
// Units are those of testing.B.ReportMetric, such as ns/op or p50-ns.
type figures map[string]float64

// of returns the figure in a unit, and ends the row if there is none.
// A benchmark that was renamed must not pass as a figure of zero.
func (f figures) of(unit string) float64 {
	x, ok := f[unit]
	if !ok {
		panic(fmt.Sprintf("the benchmark reports no %s", unit))
	}
	return x
}

// time returns a figure in nanoseconds.
// It is at least 1 ns, so that a ratio to it exists.
func (f figures) time(unit string) time.Duration { return time.Duration(max(f.of(unit), 1)) }

// schedRow judges the mean of one of the scheduler's own benchmarks.
// The name is that of the benchmark without its prefix, and must match it whole.
func schedRow(name string, limit time.Duration) func(*bench) result {
	return func(*bench) result {
		return under(schedBench(name + "$")[name].time("ns/op"), limit)
	}
}

// schedBench runs the scheduler's own benchmarks of a name, the package being
// internal to the reactor, and returns the figures of each.
// It needs the go command and the sources, and panics with the output of both streams.
func schedBench(pattern string) map[string]figures {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^Benchmark"+pattern, "./engine/reactor/internal/sched")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		panic(fmt.Sprintf("%v: %s%s", err, out, &stderr))
	}
	return parseBench(string(out))
}

// The number of processors behind the name is not part of it.
var benchLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// parseBench reads what go test -bench prints.
// Other words than numbers are skipped together with their units.
func parseBench(text string) map[string]figures {
	all := map[string]figures{}
	for _, m := range benchLine.FindAllStringSubmatch(text, -1) {
		f := figures{}
		for words := strings.Fields(m[2]); len(words) > 1; words = words[2:] {
			if x, err := strconv.ParseFloat(words[0], 64); err == nil {
				f[words[1]] = x
			}
		}
		all[m[1]] = f
	}
	return all
}
