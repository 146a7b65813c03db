package metrics

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	rtmetrics "runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// ticksPerSecond is the unit of times in /proc: the same on every Linux that Go knows.
const ticksPerSecond = 100

// processFamilies tells of this process, as far as /proc does: unreadable figures
// are left out. Their names are the same in every client of Prometheus.
func processFamilies(proc string) []*family {
	families := []*family{
		limit("process_max_fds", "How many files may be open.", unix.RLIMIT_NOFILE),
		limit("process_virtual_memory_max_bytes", "How much address space may be taken.", unix.RLIMIT_AS),
	}
	if fds, err := os.ReadDir(filepath.Join(proc, "self/fd")); err == nil {
		families = append(families, gauge("process_open_fds", "Files that are open.").add(float64(len(fds))))
	}
	stat, err := readStat(filepath.Join(proc, "self/stat"))
	if err != nil {
		return families
	}
	families = append(families,
		counter("process_cpu_seconds_total", "Processor time, of the program and of the kernel for it.").add((stat.user+stat.system)/ticksPerSecond),
		gauge("process_virtual_memory_bytes", "Address space that is taken.").add(stat.virtual),
		gauge("process_resident_memory_bytes", "Memory that is taken.").add(stat.resident*float64(os.Getpagesize())))
	if boot, err := bootTime(filepath.Join(proc, "stat")); err == nil {
		families = append(families,
			gauge("process_start_time_seconds", "When the process began, in seconds since 1970.").add(boot+stat.started/ticksPerSecond))
	}
	return families
}

func limit(name, help string, resource int) *family {
	var l unix.Rlimit
	f := gauge(name, help)
	if unix.Getrlimit(resource, &l) != nil {
		return f
	}
	return f.add(float64(l.Cur))
}

// stat is what /proc/PID/stat says.
type stat struct {
	user, system, started float64 // in ticks; started is since the machine was booted
	virtual               float64 // in bytes
	resident              float64 // in pages
}

// readStat reads a stat file. The name of the program, in the second column, may have
// blanks and brackets in it.
func readStat(path string) (s stat, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	columns := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the third one
	for column, to := range map[int]*float64{14: &s.user, 15: &s.system, 22: &s.started, 23: &s.virtual, 24: &s.resident} {
		if column-3 >= len(columns) {
			return s, errors.New(path + " is cut off")
		}
		if *to, err = strconv.ParseFloat(columns[column-3], 64); err != nil {
			return s, err
		}
	}
	return s, nil
}

// bootTime returns when the machine was booted, in seconds since 1970.
func bootTime(path string) (float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut("\n"+string(text), "\nbtime ")
	if !ok {
		return 0, errors.New(path + " does not say when the machine was booted")
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseFloat(strings.TrimSpace(line), 64)
}

// goMetrics are the metrics of Go's runtime under the names that dashboards know: each
// is a sum of some of runtime/metrics.
var goMetrics = []struct {
	make       func(name, help string) *family
	name, help string
	of         []string
}{
	{gauge, "go_goroutines", "Goroutines.", []string{"/sched/goroutines:goroutines"}},
	{gauge, "go_threads", "Threads of the operating system.", []string{"/sched/threads/total:threads"}},
	{gauge, "go_sched_gomaxprocs_threads", "How many threads may run Go at the same time.", []string{"/sched/gomaxprocs:threads"}},
	{gauge, "go_gc_gogc_percent", "By how much the heap may grow between collections.", []string{"/gc/gogc:percent"}},
	{gauge, "go_gc_gomemlimit_bytes", "How much memory Go tries to do with.", []string{"/gc/gomemlimit:bytes"}},
	{gauge, "go_memstats_next_gc_bytes", "Size of the heap at which the next collection ends.", []string{"/gc/heap/goal:bytes"}},

	{gauge, "go_memstats_sys_bytes", "Memory from the operating system, as address space.", []string{"/memory/classes/total:bytes"}},
	{gauge, "go_memstats_alloc_bytes", "Memory of objects in the heap.", []string{objectBytes}},
	{gauge, "go_memstats_heap_alloc_bytes", "Memory of objects in the heap; the same as go_memstats_alloc_bytes.", []string{objectBytes}},
	{gauge, "go_memstats_heap_inuse_bytes", "Memory of parts of the heap that have objects.", []string{objectBytes, unusedBytes}},
	{gauge, "go_memstats_heap_idle_bytes", "Memory of parts of the heap that have none.", []string{releasedBytes, freeBytes}},
	{gauge, "go_memstats_heap_released_bytes", "Memory of the heap that was given back.", []string{releasedBytes}},
	{gauge, "go_memstats_heap_sys_bytes", "Memory of the heap, as address space.", []string{objectBytes, unusedBytes, releasedBytes, freeBytes}},
	{gauge, "go_memstats_heap_objects", "Objects in the heap.", []string{"/gc/heap/objects:objects"}},
	{counter, "go_memstats_alloc_bytes_total", "Memory of all objects that there ever were.", []string{"/gc/heap/allocs:bytes"}},
	{counter, "go_memstats_mallocs_total", "Objects that there ever were.", []string{"/gc/heap/allocs:objects", tinyObjects}},
	{counter, "go_memstats_frees_total", "Objects that were given back.", []string{"/gc/heap/frees:objects", tinyObjects}},

	{gauge, "go_memstats_stack_inuse_bytes", "Memory of the stacks of goroutines.", []string{stackBytes}},
	{gauge, "go_memstats_stack_sys_bytes", "Memory of the stacks of goroutines and threads.", []string{stackBytes, "/memory/classes/os-stacks:bytes"}},
	{gauge, "go_memstats_mspan_inuse_bytes", "Memory for mspan structures in use.", []string{mspanBytes}},
	{gauge, "go_memstats_mspan_sys_bytes", "Memory for mspan structures.", []string{mspanBytes, "/memory/classes/metadata/mspan/free:bytes"}},
	{gauge, "go_memstats_mcache_inuse_bytes", "Memory for mcache structures in use.", []string{mcacheBytes}},
	{gauge, "go_memstats_mcache_sys_bytes", "Memory for mcache structures.", []string{mcacheBytes, "/memory/classes/metadata/mcache/free:bytes"}},
	{gauge, "go_memstats_gc_sys_bytes", "Memory for what the collector notes.", []string{"/memory/classes/metadata/other:bytes"}},
	{gauge, "go_memstats_buck_hash_sys_bytes", "Memory for profiles.", []string{"/memory/classes/profiling/buckets:bytes"}},
	{gauge, "go_memstats_other_sys_bytes", "Memory for anything else.", []string{"/memory/classes/other:bytes"}},
}

const (
	objectBytes   = "/memory/classes/heap/objects:bytes"
	unusedBytes   = "/memory/classes/heap/unused:bytes"
	releasedBytes = "/memory/classes/heap/released:bytes"
	freeBytes     = "/memory/classes/heap/free:bytes"
	stackBytes    = "/memory/classes/heap/stacks:bytes"
	mspanBytes    = "/memory/classes/metadata/mspan/inuse:bytes"
	mcacheBytes   = "/memory/classes/metadata/mcache/inuse:bytes"
	tinyObjects   = "/gc/heap/tiny/allocs:objects"
)

// goFamilies tells of Go's runtime, as of one moment. It does not stop the program.
// Figures that this Go does not know are left out.
func goFamilies() []*family {
	var samples []rtmetrics.Sample
	for _, g := range goMetrics {
		for _, name := range g.of {
			samples = append(samples, rtmetrics.Sample{Name: name})
		}
	}
	rtmetrics.Read(samples)
	families := append(collections(), gauge("go_info", "Always 1; the label says which Go built this.").add(1, "version", runtime.Version()))
	for _, g := range goMetrics {
		n := len(g.of)
		if v, ok := sum(samples[:n]); ok {
			families = append(families, g.make(g.name, g.help).add(v))
		}
		samples = samples[n:]
	}
	return families
}

// sum adds up; not ok means that one of them is not known.
func sum(samples []rtmetrics.Sample) (v float64, ok bool) {
	for _, s := range samples {
		if s.Value.Kind() != rtmetrics.KindUint64 {
			return 0, false
		}
		v += float64(s.Value.Uint64())
	}
	return v, true
}

// collections tells of garbage collections.
func collections() []*family {
	s := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&s)
	var points []point
	for i, q := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		points = append(points, point{"", label("quantile", q), s.PauseQuantiles[i].Seconds()})
	}
	points = append(points, point{"_sum", "", s.PauseTotal.Seconds()}, point{"_count", "", float64(s.NumGC)})
	pauses := &family{name: "go_gc_duration_seconds", help: "How long collections stopped the program.", typ: "summary"}
	return []*family{
		pauses.addPoints(points),
		gauge("go_memstats_last_gc_time_seconds", "When the last collection ended, in seconds since 1970.").add(float64(s.LastGC.UnixNano()) / 1e9),
	}
}
