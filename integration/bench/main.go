// Command bench prints one table: the costs of the engine, measured in one run on one machine. Each row
// has the floor or the limit that it is held to.
//
// A floor is the same work without an engine: for files, two goroutines that make the same system
// calls in a loop. Every row says where its clock starts. Each row runs in a process of its own, so
// that none leaves a heap or a warm cache to the next.
//
//	go run ./integration/bench [-dir FOLDER] [-quick] [-markdown FILE] [ROW ...]
//	go run ./integration/bench -pairs 9 -against CHECKOUT [ROW ...]
//
// The second form compares with another checkout, whose bin/bench and bin/mgmt have been built:
// pairs of runs, one of each, whose order alternates. It prints medians and differences, and the
// exit code is 1 when a number is more than a tenth above the other's.
//
// The folder should be on a file system in memory: on a disk, the disk is what is measured. The
// exit code is 1 when a row misses its limit.
//
// # Laws of a row
//
//   - Its name is the key by which tables and comparisons find it. It keeps its name as long as it
//     measures the same work.
//   - It works in a folder of its own, which is removed also when the row fails.
//   - It checks the work and not the time alone: wrong files, a lost event or a second transaction
//     miss the limit, however fast they came.
//   - Random choices have a fixed seed. Equal checkouts do equal work.
//   - Work that is not measured, such as making the graph, is done before the clock starts.
//   - A wait has an end: after it the row panics, and the panic is the error of its result.
//
// # How to read a figure
//
// A time with a floor is given as a ratio too, and the limit is on the ratio: it hardly changes from
// one machine to the next. Floor and engine alternate in such a row, so that both meet the same
// neighbours. A time without a floor has a limit for one machine, that of docs/development. Times
// of the processor (CPU) vary less than times of a clock on the wall, but leave out waits for a disk.
//
// KiB and MiB are powers of two, KB and MB are powers of ten. Memory is resident memory above that
// of the same process before the row, after a collection of garbage whose pages went back to the
// kernel. "p50" is the median and "p99" the time that one try in a hundred exceeds.
//
// # How to add a row
//
// Write a function that takes a *bench and returns a result, and put it into one of the lists that
// function rows joins. Say in the clock where the time starts and where it stops. Use versus where
// a floor exists, under where none does. Try it with -quick -row NAME, which shortens the waits.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// row is one line of the table.
// Its name is its key in the table and on the command line, so it stays as it is between
// releases.
type row struct {
	name  string
	part  part
	clock string // where the clock starts and stops
	limit string
	run   func(*bench) result
}

// part is what of mgmt a row runs.
// A row of the scheduler costs no goroutine, a row of the program includes the start of a
// process: their figures do not compare.
type part string

const (
	scheduler part = "scheduler" // package sched alone, without goroutines and resources
	library   part = "library"   // the engine in the process that measures
	program   part = "program"   // bin/mgmt, a process of its own
)

// result is what a row measured.
// It crosses from the process of the row to that of the table as JSON.
type result struct {
	Figure string
	Floor  string // empty when there is none
	OK     bool
	Err    string
}

// bench is what a row needs to know.
// A row leaves its folder as it likes, since runIn removes it.
type bench struct {
	dir    string // a folder of its own, removed afterwards
	binary string // the program, for rows that run it
	quick  bool   // shorter waits, for trying the benchmark itself
}

// The order is that of the printed table.
func rows() []row {
	return slices.Concat(fileRows(), journalRows(), repairRows(), graphRows(), eventRows(), swapRows(), typescriptRows(), memoryRows(), programRows(), largeRows(), doorRows(), daemonRows(), typeRows(), serviceRows(), userRows(), packageRows(), partRows(), pushRows(), modelRows(), objectRows(), expressionRows(), fleetRows(), providerRows())
}

// main parses the flags and does one of the tasks: a row, all rows, a comparison, or the other end of a row.
func main() {
	var (
		dir      = flag.String("dir", defaultDir(), "where to work")
		only     = flag.String("row", "", "run this row in this process and print JSON")
		quick    = flag.Bool("quick", false, "shorter waits; the memory rows then mean little")
		markdown = flag.String("markdown", "", "also write the table to this file")
		profile  = flag.String("cpuprofile", "", "with -row: write where the time goes to this file")
		act      = flag.String("outside", "", "do this to the files in dir and print how long each repair took")
		watch    = flag.Bool("guard", false, "be the floor of repairs: watch the folder and put back what changes, until the input ends")
		binary   = flag.String("binary", "bin/mgmt", "the program")
		pairs    = flag.Int("pairs", 9, "with -against: how many runs of each row and side")
		against  = flag.String("against", "", "compare with the checkout in this folder")
	)
	flag.Parse()
	if os.Getenv(asProvider) != "" {
		if err := serveMade(); err != nil {
			fail(err)
		}
		return
	}
	if *watch {
		guardFor(*dir, os.Stdin)
		return
	}
	if *act != "" {
		actOutside(*dir, *act)
		return
	}
	if *only != "" {
		r, err := rowNamed(*only)
		if err != nil {
			fail(err)
		}
		stop := profileTo(*profile)
		err = r.runIn(os.Stdout, bench{dir: *dir, binary: *binary, quick: *quick})
		stop()
		if err != nil {
			fail(err)
		}
		return
	}
	out := io.Writer(os.Stdout)
	if *markdown != "" {
		f, err := os.Create(*markdown)
		if err != nil {
			fail(err)
		}
		defer f.Close()
		out = io.MultiWriter(os.Stdout, f)
	}
	c := comparison{dir: *dir, pairs: max(1, *pairs), quick: *quick, words: flag.Args(), mostMore: 10}
	if !c.print(out, *binary, *against) {
		os.Exit(1)
	}
}

// print prints the table of this checkout, or of both if there is another one.
// It reports false when a row failed, missed its limit, or is dearer than the other
// side's.
func (c comparison) print(w io.Writer, binary, against string) (good bool) {
	self, err := os.Executable()
	if err != nil {
		fail(err)
	}
	c.ours = side{self: self, binary: binary}
	if against == "" {
		return table(w, c.dir, c.ours, c.quick, c.words)
	}
	if c.theirs, err = sideOf(against); err != nil {
		fail(err)
	}
	return c.compare(w)
}

// profileTo writes a profile until the returned function is called.
// Without a path it does nothing, so that callers need no condition.
func profileTo(path string) (stop func()) {
	if path == "" {
		return func() {}
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fail(err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}
}

// A file system in memory keeps the disk out of the figures.
func defaultDir() string {
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

// Exit code 2 means that it could not measure, 1 that a limit was missed.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(2)
}

// table runs the rows whose names contain one of the words, all without any.
// It prints each row as soon as it is measured: the whole table takes minutes.
func table(w io.Writer, dir string, s side, quick bool, words []string) bool {
	fmt.Fprintf(w, "# Speed and memory\n\nMeasured on %s, %s, files in a %s file system, %s.\n", machine(), runtime.Version(), fsName(dir), time.Now().Format(time.DateOnly))
	fmt.Fprintf(w, "Printed by `make bench`; read ratios, not single figures.\n"+
		"Measured is the scheduler alone, the library in the process that measures, or the program as a process of its own.\n\n")
	fmt.Fprintln(w, "| row | measured | clock | figure | floor | limit | |\n| --- | --- | --- | --- | --- | --- | --- |")
	good := true
	for _, r := range rows() {
		if !chosen(r.name, words) {
			continue
		}
		res := s.spawn(r.name, dir, quick)
		verdict := "ok"
		if !res.OK {
			verdict, good = "**missed**", false
		}
		if res.Err != "" {
			res.Figure = "failed: " + strings.ReplaceAll(res.Err, "\n", " ")
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", r.name, r.part, r.clock, res.Figure, res.Floor, r.limit, verdict)
	}
	return good
}

// chosen reports whether a row has one of the words in its name; without any, all have.
func chosen(name string, words []string) bool {
	return len(words) == 0 || slices.ContainsFunc(words, func(s string) bool { return strings.Contains(name, s) })
}

// spawn runs a row in a process of its own.
// A row that fails is a result with Err, so that the other rows still run. The folder is
// removed in any case.
func (s side) spawn(name, dir string, quick bool) (res result) {
	work, err := os.MkdirTemp(dir, "mgmt-bench-")
	if err != nil {
		return result{Err: err.Error()}
	}
	defer os.RemoveAll(work)
	cmd := exec.Command(s.self, "-row", name, "-dir", work, "-binary", s.binary, fmt.Sprintf("-quick=%t", quick))
	cmd.Dir, cmd.Stderr = s.at, os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &res)
	}
	if err != nil {
		return result{Err: err.Error()}
	}
	return res
}

// The whole name counts here, while words on the command line may be parts of it.
func rowNamed(name string) (row, error) {
	for _, r := range rows() {
		if r.name == name {
			return r, nil
		}
	}
	return row{}, fmt.Errorf("no row %q", name)
}

// runIn runs a row in this process, in a folder of its own below that of b, and
// writes its result as JSON.
func (r row) runIn(w io.Writer, b bench) error {
	work, err := os.MkdirTemp(b.dir, "row-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	b.dir = work
	return json.NewEncoder(w).Encode(guarded(r, &b))
}

// A panic is how a row gives up, see must; here it becomes the error of its result.
func guarded(r row, b *bench) (res result) {
	defer func() {
		if p := recover(); p != nil {
			res = result{Err: fmt.Sprint(p)}
		}
	}()
	return r.run(b)
}

// must ends the row with an error.
// Rows have no error to return: each step is one line, and the first failure is the whole
// story.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
