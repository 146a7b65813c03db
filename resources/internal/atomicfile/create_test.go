package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func newFile(dir, text string, fill func(io.Writer) error) *New {
	if fill == nil {
		fill = func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	return &New{Dir: At(dir), Name: "f", Mode: 0o640, UID: -1, GID: -1, Size: int64(len(text)), Fill: fill}
}

// TestCreateShowsNothingBeforeItsEnd: a new file has no name, not even a
// temporary one, before it is complete; and a failure leaves nothing.
func TestCreateShowsNothingBeforeItsEnd(t *testing.T) {
	dir := t.TempDir()
	res, err := newFile(dir, "new", func(w io.Writer) error {
		if _, err := io.WriteString(w, "new"); err != nil {
			return err
		}
		if list := names(t, dir); len(list) != 0 {
			t.Errorf("while it is written there is %v", list)
		}
		return nil
	}).create()
	if errors.Is(err, errNamed) {
		t.Log("this file system has no files without a name")
		return
	}
	if err != nil || !res.Sure {
		t.Fatalf("%+v, %v", res, err)
	}
	st, err := os.Stat(filepath.Join(dir, "f"))
	if err != nil || st.Mode().Perm() != 0o640 || st.Size() != 3 {
		t.Errorf("%v, %v", st, err)
	}
	failed := t.TempDir()
	if _, err := newFile(failed, "", func(io.Writer) error { return errors.New("no content") }).Write(); err == nil {
		t.Error("the failure of Fill was lost")
	}
	if list := names(t, failed); len(list) != 0 {
		t.Errorf("a failure has left %v", list)
	}
}

// TestCreateRemovesWhatAKilledProcessLeft.
func TestCreateRemovesWhatAKilledProcessLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, tempName("f")), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newFile(dir, "whole", nil).Write(); err != nil {
		t.Fatal(err)
	}
	if list := names(t, dir); len(list) != 1 || list[0] != "f" {
		t.Errorf("there is %v", list)
	}
}
