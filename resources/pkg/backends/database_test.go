package backends

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A stamp is another one after each change, and none where nothing is known.
func TestStamp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "status")
	databases["of a test"] = []string{file}
	defer delete(databases, "of a test")
	if got := Stamp("of a test") + Stamp("nobody"); got != "" {
		t.Errorf("%q", got)
	}
	seen := map[string]bool{}
	for _, text := range []string{"", "a", "ab"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		seen[Stamp("of a test")] = true
	}
	if len(seen) != 3 || seen[""] {
		t.Errorf("%v", seen)
	}
}

func TestFilesOf(t *testing.T) {
	got := filesOf([]string{"/.", "/etc", "/etc/x", "/etc/x/a", "/etc/xy", "diverted by z"})
	if want := []string{"/etc/x/a", "/etc/xy"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, name := range []string{"../x", "*", ""} {
		if KnownFiles(name) != nil {
			t.Errorf("files of %q", name)
		}
	}
}
