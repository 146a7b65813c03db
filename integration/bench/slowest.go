package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A disk stops all writers of a file system now and then, for longer than any repair takes:
// it writes back, or it discards freed blocks. By turns, chance decides whose repair such a
// stop meets. So each repair of the program has one of the floor at the same moment, on the
// same file system.
//
// pairDirs are the folders of the two, the program's first.
var pairDirs = [2]string{"program", "floor"}

// slowestRepair compares the slowest repairs of the program and of the floor, where a disk can make both wait.
// It works next to the program file, because the bench folder is mostly in memory. The
// slowest repair may take 20 ms more than the slowest of the floor.
func slowestRepair(b *bench) result {
	dir, err := os.MkdirTemp(filepath.Dir(b.binary), "bench-")
	must(err)
	defer os.RemoveAll(dir)
	dir, err = filepath.Abs(dir)
	must(err)
	if fsName(dir) == "tmpfs" {
		return result{Figure: inMemory}
	}
	const rounds = 5
	var took [2][]time.Duration
	for range rounds {
		for i, d := range repairPairs(b, filepath.Join(dir, "x"), watched/rounds) {
			took[i%2] = append(took[i%2], d)
		}
	}
	got, floor := took[0], took[1]
	worst, least := slices.Max(got), slices.Max(floor)
	return result{
		Figure: fmt.Sprintf("%s, p50 %s, p99 %s", round(worst), round(median(got)), round(quantile(got, 0.99))),
		Floor:  fmt.Sprintf("%s, p50 %s, p99 %s", round(least), round(median(floor)), round(quantile(floor, 0.99))),
		OK:     worst <= least+20*time.Millisecond,
	}
}

// repairPairs has the program and the floor guard a folder each, and returns the times of
// n repairs of both by turns.
func repairPairs(b *bench, dir string, n int) []time.Duration {
	program, floor := filepath.Join(dir, pairDirs[0]), filepath.Join(dir, pairDirs[1])
	files(floor, watched, watched)
	coldFloor(floor, watched, watched)
	stop := guard(floor)
	d := startDaemon(b, program, false)
	took := outside(dir, fmt.Sprintf("pairs:%d", n))
	d.stop()
	stop()
	must(os.RemoveAll(dir))
	return took
}

// triesInPairs damages the same file of both folders at once, n times, and returns the times
// until each is right: the program's and the floor's by turns. Which of the two is first
// alternates.
func triesInPairs(dir string, n int) []time.Duration {
	rng := rand.New(rand.NewPCG(1, 0))
	took := make([]time.Duration, 0, 2*n)
	for k := range n {
		i := rng.IntN(watched)
		var pair [2]time.Duration
		var begin [2]time.Time
		for n := range pair {
			s := (n + k) % 2
			begin[s] = damage[0].do(filePath(filepath.Join(dir, pairDirs[s]), i, watched))
		}
		var wg sync.WaitGroup
		for s := range pair {
			wg.Go(func() {
				pollContent(filepath.Join(dir, pairDirs[s]), i)
				pair[s] = time.Since(begin[s])
			})
		}
		wg.Wait()
		took = append(took, pair[:]...)
		time.Sleep(500 * time.Microsecond) // let the guards' own events pass
	}
	return took
}

// pollContent waits as awaitContent does, but sleeps between two looks: two that spin would
// leave no processor to the guards. The tenth of a millisecond is nothing beside the limit.
func pollContent(dir string, i int) {
	for begin := time.Now(); !isRight(dir, i); time.Sleep(100 * time.Microsecond) {
		mustBeInTime(begin, i)
	}
}
