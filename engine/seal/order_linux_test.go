package seal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/seal"
)

// TestFindingQ10Order: the order to make another identity works in a file of any mode, since a shell keeps the mode of the file before. It stays until the other identity
// is there.
func TestFindingQ10Order(t *testing.T) {
	open := filepath.Join(t.TempDir(), "age.key")
	if err := os.WriteFile(open, []byte("new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	i, err := seal.Open(open, nil)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(open); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v: %v", info, err)
	}
	if again, err := seal.Open(open, nil); err != nil || again.Recipient() != i.Recipient() {
		t.Errorf("it comes back as %v: %v", again, err)
	}

	// The longest path that Linux takes has no room for the name of another file in its folder.
	dir := t.TempDir()
	const longest = 4095 - len("/age.key")
	for left := longest - len(dir); left > 0; left = longest - len(dir) {
		n := min(left-1, 200)
		if left-1-n == 1 { // a slash needs a name behind it
			n--
		}
		dir += "/" + strings.Repeat("d", n)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	path := dir + "/age.key"
	if err := os.WriteFile(path, []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if i, err := seal.Open(path, nil); err == nil {
		t.Errorf("an identity is made where no file can be: %v", i)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "new\n" {
		t.Errorf("the order is %q: %v", text, err)
	}
}
