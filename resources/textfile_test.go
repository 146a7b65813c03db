package resources

import (
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// What somebody else writes meanwhile is not lost: the text is made anew of it.
func TestTextFileChangedMeanwhile(t *testing.T) {
	for name, meddle := range map[string]func(path string) error{
		"written": func(path string) error { return os.WriteFile(path, []byte("theirs\n"), 0o600) },
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", []byte("theirs\n"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
		"made": func(path string) error { return os.WriteFile(path, []byte("theirs\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if name != "made" {
				lay(t, dir+"/f", "old\n")
			}
			f, err := textAt(dir+"/f", 0o640)
			must(t, err)
			calls := 0
			must(t, f.edit(func(old string) (string, error) {
				if calls++; calls == 1 {
					must(t, meddle(dir+"/f"))
				}
				return old + "ours\n", nil
			}))
			wantFile(t, dir+"/f", "theirs\nours\n")
			if calls != 2 {
				t.Errorf("it was made %d times", calls)
			}
		})
	}
}

// Who meddles each time wins, and is told of.
func TestTextFileNeverAtRest(t *testing.T) {
	dir := t.TempDir()
	f, err := textAt(dir+"/f", 0o640)
	must(t, err)
	n := 0
	err = f.edit(func(old string) (string, error) {
		n++
		must(t, os.RemoveAll(dir+"/f"))
		lay(t, dir+"/f", strings.Repeat("x", n))
		return old + "ours", nil
	})
	if err == nil || !strings.Contains(err.Error(), atomicfile.ErrChanged.Error()) || n != 5 {
		t.Errorf("after %d times: %v", n, err)
	}
}

func TestTextFileTooLarge(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir+"/f", strings.Repeat("#", maxText+1))
	f, err := textAt(dir+"/f", 0o640)
	must(t, err)
	if text, _, err := f.read(); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("read were %d bytes, %v", len(text), err)
	}
	must(t, os.Truncate(dir+"/f", maxText))
	if _, _, err := f.read(); err != nil {
		t.Error(err)
	}
	if err := f.edit(func(old string) (string, error) { return old + "#", nil }); err == nil || !strings.Contains(err.Error(), "is not written") {
		t.Errorf("got %v", err)
	}
}
