package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// The tests named TestBugNN are those of docs/development/bugs.md.

// TestBug29_ChainsOfParents: whatever happens to which of the directories above a
// watched file, in whatever order, the hub knows what is there, and a file that
// comes is told of.
//
// Seen failing with: tree.go, real: the look at n.parent.dir left out (a nil
// pointer); resolve.go, spread: nothing handed on to n.kids.
func TestBug29_ChainsOfParents(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	mkdir(t, top)
	h := newHost(t, Options{})
	const depth = 5
	chain := []string{top}
	for i := range depth {
		chain = append(chain, filepath.Join(chain[i], fmt.Sprint("d", i)))
	}
	file := filepath.Join(chain[depth], "file")
	s := watch(t, h, plain, file)
	away := filepath.Join(top, "away")
	for round := range 40 {
		at := chain[1+round*7%depth]
		switch round % 4 {
		case 0:
			remove(t, at)
		case 1:
			remove(t, away)
			mkdir(t, at)
			rename(t, at, away)
		case 2:
			remove(t, at)
			mkdir(t, filepath.Dir(at))
			write(t, at, "a file in the place of a directory")
		case 3:
			remove(t, at)
			remove(t, away)
			mkdir(t, filepath.Dir(at))
			mkdir(t, away)
			symlink(t, away, at)
		}
		check(t, h)
		if round%4 == 3 {
			remove(t, at)
		}
		for _, d := range chain { // what is in the way goes
			if st, err := os.Lstat(d); err == nil && !st.IsDir() {
				remove(t, d)
			}
		}
		mkdir(t, chain[depth])
		settle(t, h, s)
		text := fmt.Sprint(round)
		write(t, file, text)
		until(t, s, "the file of round "+text+" is there", holds(file, text))
		if c := woken(t, s); c.Path == "" {
			t.Errorf("round %d: cause %+v", round, c)
		}
		check(t, h)
	}
	s.Close()
	empty(t, h)
}

// TestBug30_OverflowIsNoFailure: lost events are answered with a look at
// everything; the subscription goes on, and later events come as before.
//
// Seen failing with: hub.go, carry: ErrEventOverflow logged like any other error.
func TestBug30_OverflowIsNoFailure(t *testing.T) {
	dir := t.TempDir()
	h, f, _ := faultyHost(t, nil)
	path := filepath.Join(dir, "f")
	s := watch(t, h, plain, path)
	for round := range 3 {
		settle(t, h, s)
		f.set(nil, true)
		write(t, path, fmt.Sprint("lost ", round))
		end := filepath.Join(dir, fmt.Sprint("end", round))
		write(t, end, "")
		settleUntil(t, func() bool { return f.hasLost(end) })
		f.set(nil, false)
		f.fail(fsnotify.ErrEventOverflow)
		if c := woken(t, s); !c.Resync {
			t.Errorf("round %d: cause %+v", round, c)
		}
		settle(t, h, s)
		write(t, path, fmt.Sprint("told ", round))
		if c := woken(t, s); c.Resync || c.Path != path {
			t.Errorf("round %d: cause %+v", round, c)
		}
	}
}

// TestBug31_NoOrphansAndNoZombies: of a command that is ended, again and again,
// no descendant goes on, and none is left unburied, whether it listens or not.
//
// Seen failing with: process_linux.go, signal: the first process alone is sent it;
// command.go, exit: r.proc.end left out of the end of ctx, so that it is waited for.
func TestBug31_NoOrphansAndNoZombies(t *testing.T) {
	h := newHost(t, Options{})
	for round, prefix := range []string{"", "trap '' TERM; ", "", "trap '' TERM; "} {
		ctx, cancel := context.WithCancel(t.Context())
		c := treeCommand(t, prefix)
		c.Grace = time.Duration(round/2) * 100 * time.Millisecond
		s := start(t, ctx, h, c)
		if len(s.pids) != 4 {
			t.Fatalf("processes %v", s.pids)
		}
		cancel()
		_ = s.wait(t)
		gone(t, s.pids)
	}
	for _, x := range processes() {
		if x.parent == os.Getpid() && !x.alive {
			t.Errorf("process %d is a zombie", x.pid)
		}
	}
}
