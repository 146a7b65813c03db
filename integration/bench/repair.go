package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt"
)

// All of them are in one folder, so that one watch serves them.
// watched is the number of files that the engine and the floor guard.
const watched = 1000

// damage are the ways to change a file from outside.
// Each leads to other events: the end of a write, a deletion, or a move onto the name. do returns the
// moment before the change is complete: before the close, the start of rm, or the rename. extra is what a repair may
// take beyond its share of the floor: of what was removed, nobody knows at once that nothing is to follow.
var damage = []struct {
	name  string
	limit float64
	extra time.Duration
	do    func(path string) time.Time
}{
	{"overwrite", 1.3, 0, func(p string) time.Time {
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		must(err)
		_, err = f.WriteString("drift\n")
		must(err)
		begin := time.Now()
		must(f.Close())
		return begin
	}},
	{"delete", 1, 3 * time.Millisecond, func(p string) time.Time {
		begin := time.Now()
		must(exec.Command("rm", p).Run()) // a process that ends, as that of most who remove a file
		return begin
	}},
	{"rename over", 1.5, 0, func(p string) time.Time {
		other := filepath.Join(filepath.Dir(filepath.Dir(p)), "other")
		must(os.WriteFile(other, []byte("drift\n"), 0o644))
		begin := time.Now()
		must(os.Rename(other, p))
		return begin
	}},
}

// A repair is the whole way: the event of the kernel, the queue, CheckApply, and a new
// file under the name. None may be lost, which is why each try waits for its content.
// repairRows compare the engine with a floor: a small program that does the same with inotify alone.
func repairRows() []row {
	var list []row
	for i, d := range damage {
		list = append(list, row{
			"repair after " + d.name, library, "before the close, the start of rm, or the rename outside, to the right content; one of 1,000, 1,000 tries",
			fmt.Sprintf("p50 %g x floor%s, p99 5ms%[2]s, none lost", d.limit, more(d.extra)), func(b *bench) result { return repair(b, i) },
		})
	}
	return append(list,
		row{"repair of 1,000 at once", library, "before the first outside write, to the last right content", "1.5 x floor", repairAll},
		row{"slowest of 1,000 repairs on a disk", program, "before the close of the outside write, to the right content; 1,000 tries, each beside one of the floor at the same moment", "20ms more than the slowest of the floor", slowestRepair},
	)
}

// more says what a limit has beyond its share of the floor.
func more(extra time.Duration) string {
	if extra == 0 {
		return ""
	}
	return " and " + extra.String()
}

// guard starts the floor: a process of its own that watches the folder and puts changed files back.
// It returns when the watch is set. The floor runs in another process, as the engine does
// seen from the writer.
func guard(dir string) (stop func()) {
	self, err := os.Executable()
	must(err)
	cmd := exec.Command(self, "-guard", "-dir", dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(err)
	out, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	_, err = out.Read(make([]byte, 1)) // it watches
	must(err)
	return func() { must(in.Close()); must(cmd.Wait()) }
}

// guardFor is the other end of guard.
// It looks at a file when its writer has closed it, at a file that was moved there, and at a name that has gone.
// Two workers repair files, as in the engine. Temporary files of its own end in "~" and are
// not looked at.
func guardFor(dir string, until io.Reader) {
	dir = filepath.Join(dir, "0")
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(err)
	events := os.NewFile(uintptr(fd), "inotify") // its reads end with Close
	_, err = unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_DELETE)
	must(err)
	fmt.Println("ready")
	names := make(chan string, 100_000)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for path := range names {
				mend(path)
			}
		})
	}
	wg.Go(func() {
		defer close(names)
		buf := make([]byte, 64<<10)
		for {
			n, err := events.Read(buf)
			if err != nil {
				return
			}
			for b := buf[:n]; len(b) > 0; {
				end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
				if name := string(bytes.TrimRight(b[unix.SizeofInotifyEvent:end], "\x00")); name != "" && !strings.HasSuffix(name, "~") {
					names <- filepath.Join(dir, name)
				}
				b = b[end:]
			}
		}
	})
	_, _ = io.Copy(io.Discard, until)
	must(events.Close())
	wg.Wait()
}

// A file whose content is right was repaired by itself a moment ago. The name of the
// temporary file is random, since both workers may have the same path.
// mend is the repair of the floor: it looks at a file, and puts the right content in its place by a rename.
func mend(path string) {
	var i int
	if _, err := fmt.Sscanf(filepath.Base(path), "f%06d", &i); err != nil {
		return
	}
	want := content(i)
	if got, err := os.ReadFile(path); err == nil && string(got) == want {
		return
	}
	temp := fmt.Sprintf("%s%d~", path, rand.Uint32())
	if os.WriteFile(temp, []byte(want), 0o644) == nil {
		_ = os.Rename(temp, path)
	}
}

// awaitContent spins until file i is right. It panics after a while: then the
// change was lost.
// It spins because a sleep would be longer than the repair. It runs in the process
// outside, so it takes only one of two cores.
func awaitContent(dir string, i int) {
	for begin := time.Now(); !isRight(dir, i); runtime.Gosched() {
		mustBeInTime(begin, i)
	}
}

// isRight reports whether file i has its content.
func isRight(dir string, i int) bool {
	got, err := os.ReadFile(filePath(dir, i, watched))
	return err == nil && string(got) == content(i)
}

// mustBeInTime panics ten seconds after the beginning of a wait for file i.
func mustBeInTime(begin time.Time, i int) {
	if time.Since(begin) > 10*time.Second {
		panic(fmt.Sprintf("file %d was not repaired: the change was lost", i))
	}
}

// outside alters the files in a process of its own, as in life: waits there do not take part in our
// scheduling.
// The times come back as JSON, in nanoseconds.
func outside(dir, what string) []time.Duration {
	self, err := os.Executable()
	must(err)
	cmd := exec.Command(self, "-outside", what, "-dir", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(err)
	var took []time.Duration
	must(json.Unmarshal(out, &took))
	return took
}

// actOutside is the other end of outside.
// The text is "KIND:COUNT" with a number of the list damage, "pairs:COUNT" for two
// folders at a time, or "all" for every file at once.
func actOutside(dir, what string) {
	var took []time.Duration
	if n, ok := strings.CutPrefix(what, "pairs:"); ok {
		count, err := strconv.Atoi(n)
		must(err)
		took = triesInPairs(dir, count)
	} else if kind, n, ok := strings.Cut(what, ":"); ok {
		k, err := strconv.Atoi(kind)
		must(err)
		count, err := strconv.Atoi(n)
		must(err)
		took = tries(dir, k, count)
	} else {
		took = []time.Duration{corruptAll(dir)}
	}
	must(json.NewEncoder(os.Stdout).Encode(took))
}

// The seed is that of the kind, so both sides get the same files in the same order.
// tries damages n random files, one after the other, and returns the time until each is right.
func tries(dir string, kind, n int) []time.Duration {
	rng := rand.New(rand.NewPCG(1, uint64(kind)))
	var took []time.Duration
	for range n {
		i := rng.IntN(watched)
		begin := damage[kind].do(filePath(dir, i, watched))
		awaitContent(dir, i)
		took = append(took, time.Since(begin))
		time.Sleep(500 * time.Microsecond) // let the guard's own event pass
	}
	return took
}

// Floor and engine alternate five times, with a fresh folder each. The median is held to
// a share of the floor, the slowest hundredth to 5 ms.
// repair is the row of one kind of damage.
func repair(b *bench, kind int) result {
	const rounds = 5
	what := fmt.Sprintf("%d:%d", kind, watched/rounds)
	var got, floor []time.Duration
	for range rounds {
		dir := filepath.Join(b.dir, "x")
		files(dir, watched, watched)
		coldFloor(dir, watched, watched)
		stop := guard(dir)
		floor = append(floor, outside(dir, what)...)
		stop()
		r := start(graphOf(files(dir, watched, watched)), mgmt.Options{})
		r.rest()
		got = append(got, outside(dir, what)...)
		r.close()
		must(os.RemoveAll(dir))
	}
	d := damage[kind]
	res := versus(median(got), median(floor), d.limit+float64(d.extra)/float64(median(floor)))
	p99 := quantile(got, 0.99)
	res.Figure += fmt.Sprintf(", p99 %s", round(p99))
	res.Floor += fmt.Sprintf(", p99 %s", round(quantile(floor, 0.99)))
	res.OK = res.OK && p99 < 5*time.Millisecond+d.extra
	return res
}

// A thousand events arrive faster than one repair takes, so this is about the queue and
// not about delay.
// repairAll is the row of many changes at once.
func repairAll(b *bench) result {
	const rounds = 9
	var got, floor []time.Duration
	for range rounds {
		dir := filepath.Join(b.dir, "x")
		files(dir, watched, watched)
		coldFloor(dir, watched, watched)
		stop := guard(dir)
		floor = append(floor, outside(dir, "all")...)
		stop()
		r := start(graphOf(files(dir, watched, watched)), mgmt.Options{})
		r.rest()
		got = append(got, outside(dir, "all")...)
		r.close()
		must(os.RemoveAll(dir))
	}
	return versus(median(got), median(floor), 1.5)
}

// The clock runs from the first write, and the writer competes with the repairs.
// corruptAll overwrites all files, and returns the time until the last one is right.
func corruptAll(dir string) time.Duration {
	begin := time.Now()
	for i := range watched {
		damage[0].do(filePath(dir, i, watched))
	}
	for i := range watched {
		awaitContent(dir, i)
	}
	return time.Since(begin)
}
