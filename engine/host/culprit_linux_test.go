package host

import (
	"os"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// withoutDescriptors does something while the process can get no further descriptor.
func withoutDescriptors(t *testing.T, do func()) {
	t.Helper()
	var was syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	none := was
	none.Cur = 3
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	defer func() { must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)) }()
	do()
}

// TestFindingK2FewDescriptors: while descriptors are short, nothing is known of a process that nobody has read before, and it does not
// count as gone. One that was read stays known.
func TestFindingK2FewDescriptors(t *testing.T) {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return // nothing tells who writes
	}
	var c culprits
	a := newActor(os.Getpid(), fd)
	defer a.release()
	withoutDescriptors(t, func() {
		if by := c.of(a); by != nil {
			t.Errorf("it is %+v", by)
		}
	})
	by := c.of(a)
	if by == nil || by.Gone {
		t.Fatalf("with descriptors, it is %+v", by)
	}
	withoutDescriptors(t, func() {
		if now := c.of(a); now != by {
			t.Errorf("it was read, and is %+v", now)
		}
	})

	// The kernel had no descriptor for the event either: it says -2 then.
	var all actors
	defer all.shut()
	short := all.of(os.Getpid(), -2)
	defer short.release()
	if by := c.of(short); by != nil || short.ended() {
		t.Errorf("the kernel could not tell, and it is %+v, ended: %t", by, short.ended())
	}
	fd, err = unix.PidfdOpen(os.Getpid(), 0)
	must(t, err)
	lives := all.of(os.Getpid(), fd)
	defer lives.release()
	again := all.of(os.Getpid(), -2)
	defer again.release()
	if by := c.of(again); again != lives || by == nil || by.Gone {
		t.Errorf("a process that lives has its number still, and it is %+v", by)
	}
}
