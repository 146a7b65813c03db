// Command bench prints one table: the costs of the engine, each row beside the floor or the limit
// that it is held to, measured in one run on one machine.
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
type row struct {
	name  string
	part  part
	clock string // where the clock starts and stops
	limit string
	run   func(*bench) result
}

// part is what of mgmt a row runs.
type part string

const (
	scheduler part = "scheduler" // package sched alone, without goroutines and resources
	library   part = "library"   // the engine in the process that measures
	program   part = "program"   // bin/mgmt, a process of its own
)

// result is what a row measured.
type result struct {
	Figure string
	Floor  string // empty when there is none
	OK     bool
	Err    string
}

// bench is what a row needs to know.
type bench struct {
	dir    string // a folder of its own, removed afterwards
	binary string // the program, for rows that run it
	quick  bool   // shorter waits, for trying the benchmark itself
}

func rows() []row {
	return slices.Concat(fileRows(), journalRows(), repairRows(), graphRows(), eventRows(), swapRows(), memoryRows(), programRows(), largeRows(), doorRows(), daemonRows(), typeRows(), serviceRows(), userRows(), packageRows(), partRows())
}

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

func defaultDir() string {
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(2)
}

// table runs the rows whose names contain one of the words, all without any.
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

func guarded(r row, b *bench) (res result) {
	defer func() {
		if p := recover(); p != nil {
			res = result{Err: fmt.Sprint(p)}
		}
	}()
	return r.run(b)
}

// must ends the row with an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
