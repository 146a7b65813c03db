package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/internal/nstest"
	"golang.org/x/sys/unix"
)

func watchFacts(t *testing.T, h *Host) events.Subscription {
	t.Helper()
	sub, err := h.WatchFacts(t.Context())
	must(t, err)
	return sub
}

// setAddress gives an address to the loopback link of the namespace.
func setAddress(t *testing.T, address [4]byte) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	must(t, err)
	must(t, r.SetInet4Addr(address[:]))
	must(t, unix.IoctlIfreq(fd, unix.SIOCSIFADDR, r))
}

// TestFactsAreEvents: whatever a fact comes from, files, the kernel's hostname or its
// addresses, a change of it wakes, and Facts says what is true then.
func TestFactsAreEvents(t *testing.T) {
	if !nstest.InNamespaces(t, unix.CLONE_NEWUTS|unix.CLONE_NEWNET) {
		return
	}
	etc := t.TempDir()
	must(t, os.WriteFile(filepath.Join(etc, "os-release"), []byte("ID=debian\nVERSION_ID=12\n"), 0o644))
	must(t, unix.Mount(etc, "/etc", "", unix.MS_BIND, ""))
	h := newHost(t, Options{})
	sub := watchFacts(t, h)
	for _, name := range []string{"one", "two", "three"} {
		must(t, unix.Sethostname([]byte(name)))
		until(t, sub, "the hostname "+name, func() bool { return h.Facts().Hostname == name })
	}
	for n := range 3 {
		n := byte(n + 1)
		setAddress(t, [4]byte{192, 0, 2, n})
		until(t, sub, "an address", func() bool { return slices.Equal(h.Facts().Addresses, []string{fmt.Sprint("192.0.2.", n)}) })
	}
	must(t, os.WriteFile(filepath.Join(etc, "os-release"), []byte("ID=alpine\nVERSION_ID=3.20\n"), 0o644))
	until(t, sub, "the distribution", func() bool { return h.Facts().OS == "Alpine" })
	must(t, os.WriteFile(filepath.Join(etc, "hosts"), []byte("192.0.2.3 three.example.org\n"), 0o644))
	until(t, sub, "the domain", func() bool { return h.Facts().FQDN == "three.example.org" })
	if c := sub.Cause(); c.Source != "facts" {
		t.Errorf("the cause is %+v", c)
	}
}

// TestFactsAfterAFlood: more addresses than the kernel keeps messages of, and then one more.
func TestFactsAfterAFlood(t *testing.T) {
	if !nstest.InNamespaces(t, unix.CLONE_NEWNET) {
		return
	}
	h := newHost(t, Options{})
	sub := watchFacts(t, h)
	for i := range 3 {
		for n := range 1500 {
			setAddress(t, [4]byte{192, 0, byte(2 + n%2), byte(i)})
		}
		want := []string{fmt.Sprint("192.0.3.", i)}
		until(t, sub, "the last address", func() bool { return slices.Equal(h.Facts().Addresses, want) })
	}
}

// TestFactsThatStay: a write that changes no fact wakes nobody. It is followed by one that does,
// so that the first one would have been told by then.
func TestFactsThatStay(t *testing.T) {
	if !nstest.InNamespaces(t, unix.CLONE_NEWUTS|unix.CLONE_NEWNET) {
		return
	}
	h := newHost(t, Options{})
	first, err := os.Hostname()
	must(t, err)
	sub := watchFacts(t, h)
	must(t, unix.Sethostname([]byte(first)))
	setAddress(t, [4]byte{127, 0, 0, 9}) // reaches no further than the machine
	must(t, unix.Sethostname([]byte("other")))
	until(t, sub, "the hostname", func() bool { return h.Facts().Hostname == "other" })
	if n := sub.Cause().Merged; n > 1 {
		t.Errorf("%d changes were told, one was made", n)
	}
}

// TestFactsAreFollowedWhileWatched: the first subscription starts what follows, the last one
// ends it, and a new one starts it again; addresses are asked for in between.
func TestFactsAreFollowedWhileWatched(t *testing.T) {
	if !nstest.InNamespaces(t, unix.CLONE_NEWUTS|unix.CLONE_NEWNET) {
		return
	}
	h := newHost(t, Options{})
	for i := range 3 {
		a, b := watchFacts(t, h), watchFacts(t, h)
		must(t, unix.Sethostname([]byte{'h', byte('a' + i)}))
		woken(t, a)
		woken(t, b)
		a.Close()
		a.Close()
		if !h.feed.on.Load() {
			t.Fatal("it ended while somebody watches")
		}
		b.Close()
		if h.feed.on.Load() {
			t.Fatal("nobody watches, and it is followed still")
		}
		setAddress(t, [4]byte{192, 0, 2, byte(10 + i)})
		if got := h.Facts().Addresses; !slices.Equal(got, []string{"192.0.2.1" + string(rune('0'+i))}) {
			t.Fatalf("the addresses are %v", got)
		}
	}
}

// TestFactsOfAClosedHost: a Host that has ended wakes nobody and follows nothing.
func TestFactsOfAClosedHost(t *testing.T) {
	h, err := New(t.Context(), Options{})
	must(t, err)
	sub := watchFacts(t, h)
	must(t, h.Close())
	sub.Close()
	if _, err := h.WatchFacts(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("it says %v", err)
	}
	done, end := context.WithCancel(t.Context())
	end()
	if _, err := newHost(t, Options{}).WatchFacts(done); err == nil {
		t.Error("it watches for a context that has ended")
	}
}
