package journal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/records"
)

// The test program is also the process that is killed, or runs out of room.
const (
	childEnv = "MGMT_JOURNAL_CHILD"
	pathEnv  = "MGMT_JOURNAL_PATH"
)

func TestMain(m *testing.M) {
	children := map[string]func(string) error{"commits": childCommits, "full": childFull}
	if child := children[os.Getenv(childEnv)]; child != nil {
		if err := child(os.Getenv(pathEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func child(t *testing.T, what, path string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childEnv+"="+what, pathEnv+"="+path)
	return c
}

// childCommits commits numbers from where the journal ends, each as a pair of
// records and with the one before removed, and prints what was acknowledged.
func childCommits(path string) error {
	j, err := journal.Open(path, journal.Options{})
	if err != nil {
		return err
	}
	const workers = 8
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := 1; ; i++ {
				n := strconv.Itoa(i)
				writes := []records.Write{
					{Table: "left", Key: fmt.Sprint(w), Value: []byte(n)},
					{Table: "all", Key: fmt.Sprintf("%d/%08d", w, i), Value: make([]byte, i%500)},
					{Table: "all", Key: fmt.Sprintf("%d/%08d", w, i-20)},
					{Table: "right", Key: fmt.Sprint(w), Value: []byte(n)},
				}
				if err := j.Commit(context.Background(), writes); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				j.History().Append(journal.Entry{Resource: fmt.Sprint(w), Outcome: n})
				mu.Lock()
				fmt.Println(w, i)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

// TestKill: whatever was acknowledged before a SIGKILL is there after it, and each
// commit is whole.
func TestKill(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	acknowledged := 0
	for range 40 {
		path := newPath(t)
		acked := killed(t, child(t, "commits", path), 1+random.IntN(300))
		for _, n := range acked {
			acknowledged += n
		}
		opt, log := logged()
		j := open(t, path, opt)
		survived(t, j, acked)
		if log.Len() > 0 {
			t.Error(log)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if acknowledged < 1000 {
		t.Errorf("only %d commits were made", acknowledged)
	}
}

// killed runs a child, kills it after so many lines, and returns the last number
// that each worker has printed.
func killed(t *testing.T, c *exec.Cmd, lines int) map[string]int {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	c.Stderr = &complaints
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	acked := map[string]int{}
	r := bufio.NewReader(out)
	for i := 0; ; i++ {
		if i == lines {
			_ = c.Process.Kill()
		}
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break // what is cut was not acknowledged
		}
		if err != nil {
			t.Fatal(err)
		}
		w, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		if acked[w], err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Wait(); err == nil || complaints.Len() > 0 {
		t.Fatalf("the child ended with %v: %s", err, complaints.String())
	}
	return acked
}

func survived(t *testing.T, s records.Store, acked map[string]int) {
	t.Helper()
	got := map[string]map[string]string{}
	for _, table := range []string{"left", "right", "all"} {
		got[table] = map[string]string{}
		for r, err := range s.Records(t.Context(), table) {
			if err != nil {
				t.Fatal(err)
			}
			got[table][r.Key] = string(r.Value)
		}
	}
	for w, n := range acked {
		last, _ := strconv.Atoi(got["left"][w])
		if last < n || got["left"][w] != got["right"][w] {
			t.Errorf("worker %s: %d was acknowledged, there are %q and %q", w, n, got["left"][w], got["right"][w])
		}
		for i := max(1, last-19); i <= last; i++ {
			if v, ok := got["all"][fmt.Sprintf("%s/%08d", w, i)]; !ok || len(v) != i%500 {
				t.Errorf("worker %s: record %d of %d is not there or not whole", w, i, last)
			}
		}
		if _, ok := got["all"][fmt.Sprintf("%s/%08d", w, last-20)]; ok {
			t.Errorf("worker %s: record %d was deleted", w, last-20)
		}
	}
}

// TestDiskFull runs in a process of its own, whose files may not grow.
func TestDiskFull(t *testing.T) {
	if out, err := child(t, "full", newPath(t)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func childFull(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := func(n uint64) error {
		var l syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			return err
		}
		l.Cur = min(n, l.Max)
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
	}
	if err := limit(0); err != nil {
		return err
	}
	if _, err := journal.Open(path, journal.Options{}); !errors.Is(err, journal.ErrFull) {
		return fmt.Errorf("a journal without room: %w", err)
	}
	if err := limit(2 << 20); err != nil {
		return err
	}
	j, err := journal.Open(path, journal.Options{History: journal.HistoryOptions{FlushEvery: time.Millisecond, Buffer: 1 << 20}})
	if err != nil {
		return err
	}
	defer j.Close()
	ctx, n := context.Background(), 0
	write := func(i int) error {
		return j.Commit(ctx, []records.Write{{Table: "t", Key: strconv.Itoa(i), Value: make([]byte, 100_000)}})
	}
	for ; err == nil && n < 100; n++ {
		err = write(n)
	}
	if !errors.Is(err, journal.ErrFull) || n < 3 {
		return fmt.Errorf("after %d commits: %w", n, err)
	}
	seen := 0
	for _, err := range j.Records(ctx, "t") {
		if err != nil {
			return fmt.Errorf("reading: %w", err)
		}
		seen++
	}
	if seen != n-1 {
		return fmt.Errorf("%d of %d records", seen, n-1)
	}
	for range 20 {
		j.History().Append(journal.Entry{Data: make([]byte, 100_000)}) // has no room either
	}
	if err := limit(64 << 20); err != nil {
		return err
	}
	for i := range 20 {
		if err := write(n + i); err != nil {
			return fmt.Errorf("with room again: %w", err)
		}
	}
	if err := j.Close(); err != nil {
		return err
	}
	return reopenFull(path, n)
}

// reopenFull: a full disk does not stop one that exists from being opened.
func reopenFull(path string, n int) error {
	j, err := journal.Open(path, journal.Options{})
	if err != nil {
		return err
	}
	defer j.Close()
	dropped, seen := 0, 0
	for range j.Records(context.Background(), "t") {
		seen++
	}
	for e := range j.History().Query(context.Background(), journal.Query{}) {
		if e.Outcome == journal.OutcomeDropped {
			dropped++
		}
	}
	if seen != n-1+20 || dropped == 0 {
		return fmt.Errorf("%d records of %d, %d entries for dropped ones", seen, n+19, dropped)
	}
	return nil
}
