package cmd

import (
	"bytes"
	"os"
	"syscall"
	"testing"
)

// TestBrokenPipes: a reader of an answer that has gone ends the program, a client of
// the socket does not. A daemon goes on: see TestFindingC6 in integration.
func TestBrokenPipes(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	cancelled := 0
	l := &listening{
		signalHooks: signalHooks{tell: func(os.Signal, string) {}},
		cancel:      func(error) { cancelled++ },
		outputs:     (&app{out: out, err: out}).outputs(),
	}
	l.take(syscall.SIGPIPE)
	if cancelled != 0 {
		t.Error("a client that has gone ends the program")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	l.take(syscall.SIGPIPE)
	if cancelled != 1 {
		t.Error("nobody reads, and it goes on")
	}
}

// TestReadersThatHaveEnough: who has read the first lines of an answer and gone, as
// head does, is told nothing. Seen failing without leftAlone, and with a word for each
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
		code := (&app{in: &bytes.Buffer{}, out: out, err: &said}).main(t.Context(), verb)
		if code != exitPipe || said.Len() > 0 {
			t.Errorf("%v ended with %d, and said %q", verb, code, &said)
		}
		_ = out.Close()
	}
}
