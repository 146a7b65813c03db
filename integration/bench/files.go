package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt"
	"golang.org/x/sys/unix"
)

// They write and then watch real files. The second row also sees whether all folders share
// the groups of watches, because a user has 128 of them by default.
func fileRows() []row {
	return []row{
		{"cold converge of 10,000 files", library, "graph in Go handed to Run, to converged; then CPU", "1.35 x floor", func(b *bench) result { return coldConverge(b, 10_000, 10_000, 7) }},
		{"cold converge of 100,000 files", library, "graph in Go handed to Run, to converged", "complete, 2 groups of watches", manyFiles},
	}
}

// coldFloor writes n files as a loop of two workers.
// Two workers stand for the two cores of the machine on which the limits were set. The
// sync at the end makes the floor leave nothing to the next round.
func coldFloor(dir string, n, perDir int) time.Duration {
	for i := 0; i < n; i += perDir {
		must(os.MkdirAll(filepath.Dir(filePath(dir, i, perDir)), 0o755))
	}
	start := time.Now()
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := w; i < n; i += 2 {
				replace(filePath(dir, i, perDir), content(i))
			}
		})
	}
	wg.Wait()
	syncFS(dir)
	return time.Since(start)
}

// replace writes a file as an engine has to: next to it, then over it.
// It opens with O_EXCL as the engine does, and does not sync: neither does the engine by
// default.
func replace(path, text string) {
	temp := path + "~"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	must(err)
	_, err = f.WriteString(text)
	must(err)
	must(f.Close())
	must(os.Rename(temp, path))
}

// It blocks until the file system of dir has everything on its disk.
// syncFS leaves no dirty page to the next measurement.
func syncFS(dir string) {
	f, err := os.Open(dir)
	must(err)
	defer f.Close()
	must(unix.Syncfs(int(f.Fd())))
}

// coldConverge takes the median ratio of alternating pairs.
// The pairs follow each other closely, so a slow phase of the machine hits both. Every
// file is compared at the end, outside of the clock. The floor waits for its folder, and the
// engine for a processor: where others need the processors, the ratio of the times rises, and
// that of the CPU rises less.
func coldConverge(b *bench, n, perDir, pairs int) result {
	var got, floor, gotCPU, floorCPU []time.Duration
	for i := range pairs {
		dir := filepath.Join(b.dir, fmt.Sprint("floor", i))
		before := cpu()
		floor = append(floor, coldFloor(dir, n, perDir))
		floorCPU = append(floorCPU, cpu()-before)
		must(os.RemoveAll(dir))
		dir = filepath.Join(b.dir, fmt.Sprint("engine", i))
		decls := files(dir, n, perDir)
		before = cpu()
		begin := time.Now()
		r := start(graphOf(decls), mgmt.Options{})
		got = append(got, r.rest().Sub(begin))
		gotCPU = append(gotCPU, cpu()-before)
		checkFiles(dir, n, perDir)
		r.close()
		must(os.RemoveAll(dir))
	}
	took, used := versus(median(got), median(floor), 1.35), versus(median(gotCPU), median(floorCPU), 0)
	took.Figure += ", CPU " + used.Figure
	took.Floor += ", CPU " + used.Floor
	return took
}

// manyFiles is a graph whose folders alone would use up the groups of a user, if each took one.
// It has no limit in time: it must end with right files, and with two groups: of changes, and of what is being written.
func manyFiles(b *bench) result {
	const n, perDir = 100_000, 1000
	decls := files(b.dir, n, perDir)
	begin := time.Now()
	r := start(graphOf(decls), mgmt.Options{})
	took := r.rest().Sub(begin)
	groups := watchGroups()
	checkFiles(b.dir, n, perDir)
	r.close()
	return result{Figure: fmt.Sprintf("%s, %d groups", round(took), groups), OK: groups == 2}
}
