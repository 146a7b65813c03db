package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// These rows need bin/mgmt, built as a release is.
// programRows measure the program as a user has it: a process is started for each figure.
func programRows() []row {
	return []row{
		{"mgmt run of one file", program, "the process is started, to its end after converging", "50ms", runOne},
		{"size of the binary", program, "", "58 MB", binarySize},
	}
}

// Each round has a folder of its own, so none finds its file right already.
// runOne measures the whole life of a short run, with the start of the process.
func runOne(b *bench) result {
	// The times of all rounds count, and the median is told: the first one reads the program from the disk.
	var took []time.Duration
	for i := range 15 {
		dir := filepath.Join(b.dir, fmt.Sprint(i))
		must(os.MkdirAll(dir, 0o755))
		graph := filepath.Join(dir, "graph.yaml")
		target := filepath.Join(dir, "hello")
		must(os.WriteFile(graph, fmt.Appendf(nil, "graph: one\nresources:\n  file:\n  - name: %s\n    content: hello\n", target), 0o644))
		cmd := exec.Command(b.binary, "run", "--yaml", graph, "--tmp-prefix", "--converged-exit")
		begin := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return result{Err: fmt.Sprintf("%v: %s", err, out)}
		}
		took = append(took, time.Since(begin))
		if _, err := os.Stat(target); err != nil {
			return result{Err: err.Error()}
		}
	}
	return under(median(took), 50*time.Millisecond)
}

// The limit is in MB of 1,000,000 bytes, as a download shows it.
// binarySize reads the size of the program file.
func binarySize(b *bench) result {
	st, err := os.Stat(b.binary)
	must(err)
	// The design counts in millions of bytes, as disks are sold, and not in MiB.
	mb := float64(st.Size()) / 1e6
	return result{Figure: fmt.Sprintf("%.1f MB", mb), OK: mb <= 38}
}
