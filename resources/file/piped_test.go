package file

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// Who closes a content that is written meanwhile waits for the end of that.
func TestPipedEnds(t *testing.T) {
	ended := false
	body := piped(func(w io.Writer) error {
		for {
			if _, err := w.Write([]byte("x")); err != nil {
				time.Sleep(20 * time.Millisecond) // what it has to clean up
				ended = true
				return err
			}
		}
	})
	in, err := body.open()
	kindtest.Must(t, err)
	_, err = in.Read(make([]byte, 1))
	kindtest.Must(t, err)
	kindtest.Must(t, in.Close())
	if !ended {
		t.Error("it is still written")
	}
}

// A content that panics is an error, and nothing is left of the file.
func TestMadeFileFails(t *testing.T) {
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/x", "old")
	f := enginetest.NewInit(t)
	for _, body := range []func(io.Writer) error{
		func(io.Writer) error { panic("broken") },
		func(w io.Writer) error { _, _ = w.Write([]byte("half")); return errors.New("broken") },
	} {
		ok, err := Made{Path: dir + "/x"}.checkApply(t.Context(), f.Init(), true, piped(body))
		if ok || err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("%t, %v", ok, err)
		}
		if got := kindtest.Have(t, dir); got != "001/ 0755\n001/x 0600 old" {
			t.Errorf("left is %q", got)
		}
	}
	kindtest.Must(t, os.MkdirAll(dir+"/d", 0o700))
	if _, err := (Made{Path: dir + "/d"}).checkApply(t.Context(), f.Init(), true, textBody("x")); err == nil || !strings.Contains(err.Error(), "is a folder and not a file") {
		t.Error(err)
	}
}
