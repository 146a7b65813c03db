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
type figures map[string]float64

// of returns the figure in a unit, and ends the row if there is none.
func (f figures) of(unit string) float64 {
	x, ok := f[unit]
	if !ok {
		panic(fmt.Sprintf("the benchmark reports no %s", unit))
	}
	return x
}

// time returns a figure in nanoseconds.
func (f figures) time(unit string) time.Duration { return time.Duration(max(f.of(unit), 1)) }

// schedRow judges the mean of one of the scheduler's own benchmarks.
func schedRow(name string, limit time.Duration) func(*bench) result {
	return func(*bench) result {
		return under(schedBench(name + "$")[name].time("ns/op"), limit)
	}
}

// schedBench runs the scheduler's own benchmarks of a name, the package being
// internal to the reactor, and returns the figures of each.
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

var benchLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// parseBench reads what go test -bench prints.
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
