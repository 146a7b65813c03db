package cmd

import (
	"bytes"
	"os"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestReadersThatHaveEnough: who has read the first lines of an answer and gone, as
// head does, is told nothing. Seen failing without LeftAlone, and with a word for each
// signal.
func TestReadersThatHaveEnough(t *testing.T) {
	for _, verb := range [][]string{{"facts"}, {"doc", "file"}, {"resource", "user"}, {"import", "group"}} {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		code := execute(t.Context(), (&cli.App{In: &bytes.Buffer{}, Out: out, Err: &said}), verb)
		if code != cli.ExitPipe || said.Len() > 0 {
			t.Errorf("%v ended with %d, and said %q", verb, code, &said)
		}
		_ = out.Close()
	}
}
