package integration_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// startBytes and startAllocations bound what the packages of the program make before main begins. It is 1.67 MB in 9,880 allocations,
// which take about 5 ms, and a verb that asks a daemon may take 25. Of that 74 KB are the runtime's table of interfaces, which doubles where it is
// full. Tables and regular expressions of a package should be made when they are first used. GODEBUG=inittrace=1 lists the packages.
const startBytes, startAllocations = 1_700_000, 10_000

// TestFindingM8Start: verbs that answer at once allocate little before and after main begins, so packages that they do not use cost them next
// to nothing. The heap stays so small that no garbage is collected.
func TestFindingM8Start(t *testing.T) {
	if withRace() {
		t.Skip("a program that looks for races makes more")
	}
	d := newDaemon(t, t.TempDir(), "graph: g\nresources:\n  noop:\n  - name: a\n")
	d.start()
	d.says("converged")
	for _, line := range []string{"version", "status", "why noop[a]"} {
		cmd := exec.CommandContext(t.Context(), d.cmd.Path, strings.Fields(line)...)
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1,gctrace=1", "GOGC=100", "MGMT_PREFIX="+d.path("state"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
			continue
		}
		bytes, allocations := 0, 0
		for _, m := range initLine.FindAllSubmatch(out, -1) {
			b, _ := strconv.Atoi(string(m[1]))
			n, _ := strconv.Atoi(string(m[2]))
			bytes, allocations = bytes+b, allocations+n
		}
		t.Logf("%s: %d bytes, %d allocations", line, bytes, allocations)
		if bytes == 0 || bytes > startBytes || allocations > startAllocations {
			t.Errorf("%s: %d bytes in %d allocations", line, bytes, allocations)
		}
		if collection.Match(out) {
			t.Errorf("%s: the collector of garbage runs", line)
		}
	}
}

// initLine is what the runtime says of a package that has been initialised; collection, of garbage that was collected.
var (
	initLine   = regexp.MustCompile(`(?m)^init \S+ @.*, (\d+) bytes, (\d+) allocs$`)
	collection = regexp.MustCompile(`(?m)^gc \d+ @`)
)
