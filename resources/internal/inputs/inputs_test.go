package inputs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/inputs"
)

// at is a host whose clock stands.
type at struct {
	engine.Host
	now time.Time
}

func (h at) Clock() clock.Clock { return h }

func (h at) Now() time.Time { return h.now }

func (at) AfterFunc(time.Duration, func()) func() bool { return func() bool { return true } }

func lookAt(t *testing.T, now time.Time, paths ...string) inputs.Look {
	t.Helper()
	l := inputs.NewRecorder(&engine.Init{Host: at{enginetest.NewHost(), now}})
	for _, p := range paths {
		st, err := atomicfile.Follow(p)
		if err != nil {
			t.Fatal(err)
		}
		st.Ctime -= st.Ctime % int64(time.Second) // as on a file system that keeps only seconds
		l.Add(p, st)
	}
	return l.End()
}

// TestLook: two looks are equal while neither a name nor a file has changed.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, p := range []string{a, b} {
		if err := os.WriteFile(p, []byte("one"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	later := time.Now().Add(time.Hour)
	first := lookAt(t, later, a, b)
	if again := lookAt(t, later, a, b); first != again || !first.Settled() {
		t.Errorf("%v, and again %v", first, again)
	}
	if lookAt(t, later, b, a) == first || lookAt(t, later, a) == first {
		t.Error("a look at other inputs is equal")
	}
	if err := os.WriteFile(b, []byte("longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if lookAt(t, later, a, b) == first {
		t.Error("a change does not show")
	}
	if (inputs.Look{}) == inputs.NewRecorder(&engine.Init{Host: enginetest.NewHost()}).End() {
		t.Error("a look at nothing is like none")
	}
}

// TestSettled: a look in the moment of a change proves nothing.
func TestSettled(t *testing.T) {
	p := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(p, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := atomicfile.Follow(p)
	if err != nil {
		t.Fatal(err)
	}
	early := lookAt(t, time.Unix(0, st.Ctime), p)
	if early.Settled() {
		t.Error("settled in the moment of the change")
	}
	late := lookAt(t, time.Unix(0, st.Ctime).Add(time.Hour), p)
	for s, want := range map[inputs.Seen]bool{{In: early, Out: late}: false, {In: late, Out: early}: false, {In: late, Out: late}: true} {
		if s.Settled() != want {
			t.Errorf("%v: %t", s, !want)
		}
	}
}
