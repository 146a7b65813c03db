package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// daemonRows measure the program with everything on: a state folder with its
// journal, the socket, and metrics on a port.
// They show the price of the parts that rows of the library leave out: records on a disk,
// a listener, and a log.
func daemonRows() []row {
	return []row{
		{"the daemon idle on 1,000 files", program, "resident memory a minute after convergence; journal, metrics and socket on", "30 MB", idleDaemon},
		{"repair with everything on", program, "before the close of the outside write, to the right content; one of 1,000, 1,000 tries", "p50 1.6 x floor", func(b *bench) result { return repairDaemon(b, false) }},
		// A notify edge makes each repair write an intent to the journal before the
		// refresh, so its floor adds one synced write.
		{"repair with everything on, and a notify edge", program, "the same; the floor also syncs one record", "p50 1.6 x floor and a synced write", func(b *bench) result { return repairDaemon(b, true) }},
	}
}

// daemon is the program that keeps a graph of files.
// The caller of startDaemon owns it and calls stop.
type daemon struct {
	cmd  *exec.Cmd
	done chan error
	out  bytes.Buffer
}

// startDaemon runs the program and waits until every file is right.
// The status file is how a script learns of convergence, so the wait polls it every 10
// ms. It gives up after a minute, with the output of the program.
func startDaemon(b *bench, dir string, notify bool) *daemon {
	var g strings.Builder
	g.WriteString("resources:\n  noop:\n  - name: told\n  file:\n")
	for i := range watched {
		fmt.Fprintf(&g, "  - {name: %s, content: %q", filePath(dir, i, watched), content(i))
		if notify {
			g.WriteString(`, notify: ["noop[told]"]`)
		}
		g.WriteString("}\n")
	}
	must(os.MkdirAll(filepath.Join(dir, "0"), 0o755))
	graph := filepath.Join(dir, "graph.yaml")
	must(os.WriteFile(graph, []byte(g.String()), 0o600))
	d := &daemon{done: make(chan error, 1)}
	status := filepath.Join(dir, "converged")
	d.cmd = exec.Command(b.binary, "run", "--yaml", graph, "--prefix", filepath.Join(dir, "state"),
		"--prometheus=127.0.0.1:0", "--converged-status-file", status)
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.out
	must(d.cmd.Start())
	go func() { d.done <- d.cmd.Wait() }()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(status); err == nil && strings.Contains(string(text), "true") {
			return d
		}
		if time.Since(begin) > time.Minute {
			panic("the daemon has not converged in a minute: " + d.out.String())
		}
	}
}

// The interrupt is the orderly end: an error of the program ends the row.
func (d *daemon) stop() {
	must(d.cmd.Process.Signal(os.Interrupt))
	must(<-d.done)
}

// The minute lets the runtime give pages back to the kernel. VmRSS is in KiB, the figure
// in MB of 1,000,000 bytes.
func idleDaemon(b *bench) result {
	d := startDaemon(b, b.dir, false)
	defer d.stop()
	wait := time.Minute
	if b.quick {
		wait = time.Second
	}
	time.Sleep(wait)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	must(err)
	for l := range strings.Lines(string(text)) {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "VmRSS:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			must(err)
			mb := kib * 1024 / 1e6
			return result{Figure: fmt.Sprintf("%.1f MB", mb), OK: mb < 30}
		}
	}
	panic("no VmRSS")
}

// repairDaemon compares the program with the floor that repairRows use.
// Floor and program alternate, five times, so that a slow phase of the machine hits both.
// The limit is 1.6 times the floor's median.
func repairDaemon(b *bench, notify bool) result {
	const rounds = 5
	what := fmt.Sprintf("0:%d", watched/rounds)
	var got, floor []time.Duration
	for range rounds {
		dir := filepath.Join(b.dir, "x")
		files(dir, watched, watched)
		coldFloor(dir, watched, watched)
		stop := guard(dir)
		floor = append(floor, outside(dir, what)...)
		stop()
		must(os.RemoveAll(dir))
		d := startDaemon(b, dir, notify)
		got = append(got, outside(dir, what)...)
		d.stop()
		must(os.RemoveAll(dir))
	}
	base := median(floor)
	limit := time.Duration(1.6 * float64(base))
	r := result{Floor: round(base)}
	if notify {
		synced := syncedWrite(b.dir)
		limit += synced
		r.Floor += " and " + round(synced)
	}
	took := median(got)
	r.Figure = fmt.Sprintf("%s = %.2f x, p99 %s", round(took), float64(took)/float64(base), round(quantile(got, 0.99)))
	r.OK = took <= limit
	return r
}

// syncedWrite is how long it takes to write one page and have it on the disk: the
// median of many.
// It overwrites the same page, so the file system has no new block to find. The folder is
// that of the other files, since a disk is slower than memory.
func syncedWrite(dir string) time.Duration {
	f, err := os.Create(filepath.Join(dir, "synced"))
	must(err)
	defer f.Close()
	page := make([]byte, os.Getpagesize())
	var took []time.Duration
	for range 1000 {
		begin := time.Now()
		_, err := f.WriteAt(page, 0)
		must(err)
		must(unix.Fdatasync(int(f.Fd())))
		took = append(took, time.Since(begin))
	}
	return median(took)
}
