package entries

import (
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
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
				kindtest.Lay(t, dir+"/f", "old\n")
			}
			f, err := textfile.At(dir+"/f", 0o640)
			kindtest.Must(t, err)
			calls := 0
			kindtest.Must(t, f.Edit(func(old string) (string, error) {
				if calls++; calls == 1 {
					kindtest.Must(t, meddle(dir+"/f"))
				}
				return old + "ours\n", nil
			}))
			kindtest.WantFile(t, dir+"/f", "theirs\nours\n")
			if calls != 2 {
				t.Errorf("it was made %d times", calls)
			}
		})
	}
}

// Who meddles each time wins, and is told of.
func TestTextFileNeverAtRest(t *testing.T) {
	dir := t.TempDir()
	f, err := textfile.At(dir+"/f", 0o640)
	kindtest.Must(t, err)
	n := 0
	err = f.Edit(func(old string) (string, error) {
		n++
		kindtest.Must(t, os.RemoveAll(dir+"/f"))
		kindtest.Lay(t, dir+"/f", strings.Repeat("x", n))
		return old + "ours", nil
	})
	if err == nil || !strings.Contains(err.Error(), atomicfile.ErrChanged.Error()) || n != 5 {
		t.Errorf("after %d times: %v", n, err)
	}
}

func TestTextFileTooLarge(t *testing.T) {
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/f", strings.Repeat("#", textfile.MaxText+1))
	f, err := textfile.At(dir+"/f", 0o640)
	kindtest.Must(t, err)
	if text, _, err := f.Read(); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("read were %d bytes, %v", len(text), err)
	}
	kindtest.Must(t, os.Truncate(dir+"/f", textfile.MaxText))
	if _, _, err := f.Read(); err != nil {
		t.Error(err)
	}
	if err := f.Edit(func(old string) (string, error) { return old + "#", nil }); err == nil || !strings.Contains(err.Error(), "is not written") {
		t.Errorf("got %v", err)
	}
}
