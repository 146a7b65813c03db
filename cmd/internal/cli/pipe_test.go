package cli

import (
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
		SignalHooks: SignalHooks{Tell: func(os.Signal, string) {}},
		cancel:      func(error) { cancelled++ },
		outputs:     outputs((&App{Out: out, Err: out})),
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
