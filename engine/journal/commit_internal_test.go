package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/records"
)

func openHere(t *testing.T, opt Options) *Journal {
	t.Helper()
	j, err := Open(filepath.Join(t.TempDir(), "j"), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// waiting returns when n commits wait for a group.
func (j *Journal) waiting(n int) {
	for {
		j.queue.mu.Lock()
		got := len(j.queue.list)
		j.queue.mu.Unlock()
		if got == n {
			return
		}
		runtime.Gosched()
	}
}

// begin starts a Commit.
func (j *Journal) begin(ctx context.Context, key string, size int) <-chan error {
	c := make(chan error, 1)
	go func() { c <- j.Commit(ctx, []records.Write{{Table: "t", Key: key, Value: make([]byte, size)}}) }()
	return c
}

func (j *Journal) keys(t *testing.T) (keys string) {
	t.Helper()
	for r, err := range j.Records(t.Context(), "t") {
		if err != nil {
			t.Fatal(err)
		}
		keys += r.Key + " "
	}
	return keys
}

// hold makes the goroutine that commits wait with a group until j.mu is let go.
func (j *Journal) hold(t *testing.T) *request {
	t.Helper()
	r := &request{done: make(chan error, 1), writes: []records.Write{{Table: "t", Key: "held", Value: []byte{1}}}}
	j.mu.Lock()
	if err := j.queue.add(r); err != nil {
		t.Fatal(err)
	}
	j.waiting(0)
	return r
}

// TestCommitContext: a context ends a Commit whose group has not begun, and no
// other.
func TestCommitContext(t *testing.T) {
	j := openHere(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	begun, stop := context.WithCancel(t.Context())
	held := j.hold(t)
	a := j.begin(begun, "a", 1)
	j.waiting(1)
	group := j.queue.take(nil)
	b := j.begin(ctx, "b", 1)
	j.waiting(1)
	c := j.begin(t.Context(), "c", 1)
	j.waiting(2)
	cancel()
	if err := <-b; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that waited: %v", err)
	}
	stop()
	j.mu.Unlock()
	if err := errors.Join(<-held.done, <-c); err != nil {
		t.Error(err)
	}
	select {
	case err := <-a:
		t.Errorf("the one that had begun was not waited for: %v", err)
	default:
	}
	j.commit(group)
	if err := <-a; err != nil {
		t.Error(err)
	}
	if got := j.keys(t); got != "a c held " {
		t.Errorf("there are %s", got)
	}
}

// TestGroup: what waits is one transaction, and a big one that has no room fails
// alone.
func TestGroup(t *testing.T) {
	j := openHere(t, Options{MaxFile: 1 << 20})
	held := j.hold(t)
	var small []<-chan error
	for i := range 20 {
		small = append(small, j.begin(t.Context(), strconv.Itoa(i), 1))
	}
	j.waiting(20)
	big := j.begin(t.Context(), "big", 4<<20)
	j.waiting(21)
	j.mu.Unlock()
	if err := <-held.done; err != nil {
		t.Error(err)
	}
	if err := <-big; !errors.Is(err, ErrFull) {
		t.Errorf("the big one: %v", err)
	}
	for _, c := range small {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
}

func TestOneTransaction(t *testing.T) {
	j := openHere(t, Options{})
	before := j.txid(t)
	held := j.hold(t)
	all := []<-chan error{held.done}
	for i := range 50 {
		all = append(all, j.begin(t.Context(), strconv.Itoa(i), 1))
	}
	j.waiting(50)
	j.mu.Unlock()
	for _, c := range all {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	if n := j.txid(t) - before; n != 2 {
		t.Errorf("51 commits were %d transactions", n)
	}
	// What changes nothing is none.
	if err := j.Commit(t.Context(), []records.Write{{Table: "t", Key: "never"}, {Table: "u", Key: "never"}}); err != nil {
		t.Error(err)
	}
	if n := j.txid(t) - before; n != 2 {
		t.Errorf("deleting nothing was %d transactions", n-2)
	}
}

func (j *Journal) txid(t *testing.T) uint64 {
	t.Helper()
	f, err := os.Open(j.open.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := boltfile.ReadMeta(f)
	if err != nil {
		t.Fatal(err)
	}
	return m.TxID
}

// TestPanic: a panic over a file that looks sound is answered by opening it again,
// and by setting it aside when it comes back. Its records, which are whole, go on in the new file.
func TestPanic(t *testing.T) {
	for times, aside := range map[int]bool{1: false, 2: true} {
		j := openHere(t, Options{})
		if err := j.Commit(t.Context(), []records.Write{{Table: "t", Key: "k", Value: []byte{1}}}); err != nil {
			t.Fatal(err)
		}
		calls := 0
		err := j.use(func(*boltfile.File) error {
			if calls++; calls <= times {
				return &boltfile.Damage{What: "told"}
			}
			return nil
		})
		if err != nil || calls != times+1 {
			t.Errorf("%d times: %v after %d calls", times, err, calls)
		}
		if got := j.keys(t); got != "k " {
			t.Errorf("%d times: there are %q", times, got)
		}
		if _, err := os.Stat(j.open.Path + ".damaged-1"); (err == nil) != aside {
			t.Errorf("%d times: set aside: %v", times, err)
		}
	}
}

// TestBoundedCheck: a check that ends at its bound has found nothing wrong, and
// does not call the file wasteful.
func TestBoundedCheck(t *testing.T) {
	j := openHere(t, Options{})
	for i := range 50 {
		if err := <-j.begin(t.Context(), strconv.Itoa(i), 10_000); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(j.open.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for limit, complete := range map[int64]bool{50_000: false, boltfile.CheckLimit: true} {
		n := 0
		u, err := boltfile.Check(f, limit, func(_, _, _ []byte) error { n++; return nil })
		if err != nil || u.Complete != complete || u.Used > u.Size || complete != (n == 52) {
			t.Errorf("limit %d: %+v with %d records, %v", limit, u, n, err)
		}
	}
}

// TestCloseDoesWaitingCommits: a journal that is shut waits for the callers whose commits are accepted,
// and each of them is durable. A later caller is refused.
func TestCloseDoesWaitingCommits(t *testing.T) {
	j := openHere(t, Options{})
	held := j.hold(t)
	all := []<-chan error{held.done}
	for i := range 20 {
		all = append(all, j.begin(t.Context(), strconv.Itoa(i), 1))
	}
	j.waiting(20)
	closed := make(chan error, 1)
	go func() { closed <- j.shut() }() // the history has nothing to write
	for !j.isRefusing() {
		runtime.Gosched()
	}
	if err := <-j.begin(t.Context(), "late", 1); !errors.Is(err, ErrClosed) {
		t.Errorf("a late caller: %v", err)
	}
	j.mu.Unlock()
	for _, c := range all {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	again, err := Open(j.open.Path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n := len(strings.Fields(again.keys(t))); n != 21 {
		t.Errorf("%d of 21 records are there", n)
	}
}

// isRefusing reports whether Close has begun.
func (j *Journal) isRefusing() bool {
	j.queue.mu.Lock()
	defer j.queue.mu.Unlock()
	return j.queue.closed
}
