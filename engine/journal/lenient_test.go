package journal_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/journal/storetest"
	"github.com/reactivegraph/mgmt/engine/records"
)

// failing is a store that a test fills up.
type failing struct {
	*journal.Memory
	err   error
	tries atomic.Int32
}

func (f *failing) Commit(ctx context.Context, writes []records.Write) error {
	f.tries.Add(1)
	if f.err != nil {
		return cmp.Or(journal.NewMemory().Commit(ctx, writes), f.err)
	}
	return f.Memory.Commit(ctx, writes)
}

func written(key, value string) []records.Write {
	return []records.Write{{Table: "t", Key: key, Value: []byte(value)}}
}

func keysOf(t *testing.T, s records.Store) string {
	t.Helper()
	var list []string
	for rec, err := range s.Records(t.Context(), "t") {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rec.Key+"="+string(rec.Value))
	}
	return strings.Join(list, " ")
}

// TestLenient: a full disk costs one warning, and what came meanwhile is there when
// there is room again; all the while it can be read.
func TestLenient(t *testing.T) {
	var out strings.Builder
	disk := &failing{Memory: journal.NewMemory()}
	clock := enginetest.NewClock()
	l := journal.NewLenient(disk, slog.New(slog.NewTextHandler(&out, nil)), clock)
	commit := func(ws []records.Write) {
		t.Helper()
		if err := l.Commit(t.Context(), ws); err != nil {
			t.Fatal(err)
		}
	}
	commit(append(written("a", "1"), written("b", "1")...))
	disk.err = fmt.Errorf("no room: %w", journal.ErrFull)
	commit(written("a", "2"))
	commit(written("c", ""))
	commit([]records.Write{{Table: "t", Key: "b"}})
	if got := keysOf(t, l); got != "a=2 c=" {
		t.Errorf("it shows %s", got)
	}
	if got := keysOf(t, disk); got != "a=1 b=1" || disk.tries.Load() != 2 {
		t.Errorf("after %d tries the disk has %s", disk.tries.Load(), got)
	}
	clock.Advance(time.Second)
	commit(written("d", "1")) // tried again, in vain
	disk.err = nil
	commit(written("e", "1")) // too soon
	if got := keysOf(t, disk); got != "a=1 b=1" || disk.tries.Load() != 3 {
		t.Errorf("after %d tries the disk has %s", disk.tries.Load(), got)
	}
	clock.Advance(time.Second)
	commit(written("f", "1"))
	if got := keysOf(t, disk); got != "a=2 c= d=1 e=1 f=1" {
		t.Errorf("when there is room the disk has %s", got)
	}
	if n := strings.Count(out.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, &out)
	}
	disk.err = errors.New("something else")
	if err := l.Commit(t.Context(), written("g", "1")); !errors.Is(err, disk.err) {
		t.Errorf("another error: %v", err)
	}
}

// TestLenientAtTheEnd: what is owed is written at the end, if it can be.
func TestLenientAtTheEnd(t *testing.T) {
	for _, room := range []bool{false, true} {
		disk := &failing{Memory: journal.NewMemory(), err: journal.ErrUnwritable}
		l := journal.NewLenient(disk, slog.New(slog.DiscardHandler), clock.System{})
		if err := l.Commit(t.Context(), written("a", "1")); err != nil {
			t.Fatal(err)
		}
		want := ""
		if room {
			disk.err, want = nil, "a=1"
		}
		if err := l.Close(); err != nil {
			t.Errorf("room %t: %v", room, err)
		}
		if got := keysOf(t, disk); got != want {
			t.Errorf("room %t: the disk has %q", room, got)
		}
	}
}

// TestLenientIsAStore: it keeps the laws of one, with room and without.
func TestLenientIsAStore(t *testing.T) {
	for _, err := range []error{nil, journal.ErrFull} {
		storetest.Run(t, storetest.Backend{Open: func(*testing.T) records.Store {
			return journal.NewLenient(&failing{Memory: journal.NewMemory(), err: err}, slog.New(slog.DiscardHandler), clock.System{})
		}})
	}
}

// hanging is a disk without room at first, on which a later write hangs.
type hanging struct {
	*journal.Memory
	commits atomic.Int32
	hangs   chan struct{}
	goOn    chan struct{}
}

func (h *hanging) Commit(context.Context, []records.Write) error {
	if h.commits.Add(1) == 1 {
		return journal.ErrFull
	}
	close(h.hangs)
	<-h.goOn
	return nil
}

// TestFindingQ10OwedWhileItHangs: what is owed can be told while a write of it hangs.
func TestFindingQ10OwedWhileItHangs(t *testing.T) {
	h := &hanging{Memory: journal.NewMemory(), hangs: make(chan struct{}), goOn: make(chan struct{})}
	l := journal.NewLenient(h, slog.New(slog.DiscardHandler), enginetest.NewClock())
	if err := l.Commit(t.Context(), written("a", "1")); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	<-h.hangs
	if _, why := l.Owed(); !errors.Is(why, journal.ErrFull) {
		t.Errorf("owed because of %v", why)
	}
	close(h.goOn)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, why := l.Owed(); why != nil {
		t.Errorf("still owed because of %v", why)
	}
}
