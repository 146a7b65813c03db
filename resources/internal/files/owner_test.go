package files

import (
	"os"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestFileSharedIDs(t *testing.T) {
	s := New(nil)
	for range 2 {
		if id, err := s.UID("root"); id != 0 || err != nil {
			t.Errorf("root is %d, %v", id, err)
		}
		if id, err := s.GID("root"); id != 0 || err != nil {
			t.Errorf("root is %d, %v", id, err)
		}
	}
}

func TestFileTable(t *testing.T) {
	calls := 0
	table := table{}
	passwd := t.TempDir() + "/passwd"
	put(t, passwd, "1")
	look := func(string) (int, error) { calls++; return calls, nil }
	for _, c := range []struct{ edit, want int }{{0, 1}, {0, 1}, {1, 2}, {0, 2}} {
		if c.edit > 0 {
			put(t, passwd, "22")
		}
		if id, err := table.find(passwd, "ada", look); id != c.want || err != nil {
			t.Errorf("ada is %d, %v, not %d", id, err, c.want)
		}
	}
}

func TestFileModeKeepsSpecialBits(t *testing.T) {
	for perm := range uint32(0o10000) {
		if got := FromMode(ToMode(perm)); got != perm {
			t.Fatalf("%o became %o", perm, got)
		}
	}
	for _, c := range []struct {
		mode   schema.Mode
		old    uint32
		folder bool
		want   int
	}{{"", 0o644, false, -1}, {"0600", 0o4755, false, 0o600}, {"u+s", 0o755, false, 0o4755}, {"a+X", 0o640, true, 0o751}, {"a+X", 0o640, false, 0o640}} {
		if got, err := Perm(c.mode, c.old, c.folder); err != nil || got != c.want {
			t.Errorf("%+v gives %o, %v", c, got, err)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
