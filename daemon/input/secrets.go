package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// secretsTime is how long a program may take that gives secrets. The graph waits for it.
// A program that asks a person, such as one for a hardware key, must be done by then.
const secretsTime = 30 * time.Second

// secretsOf runs a program that gives secrets, and returns its output, at most 1 MiB. Neither the
// output nor the text on standard error is part of the error: both may have a secret in them. It
// blocks until the program ends, and kills a program that takes too long.
func secretsOf(dir string, stdin []byte, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), secretsTime)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	// The settings of such programs are variables of the environment, so it is that of mgmt.
	out := &shortOutput{left: maxSecret}
	// A child of the program may hold the output open after its end. WaitDelay bounds the wait
	// for that.
	c.Dir, c.Stdin, c.Stdout, c.WaitDelay = dir, bytes.NewReader(stdin), out, time.Second
	switch err := c.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("the program %s is not installed", argv[0])
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("the program %s took longer than %v", argv[0], secretsTime)
	case out.left < 0:
		return nil, fmt.Errorf("the program %s printed more than %d bytes", argv[0], maxSecret)
	case err != nil:
		return nil, fmt.Errorf("the program %s failed with %w; run it by hand to see what it says", argv[0], err)
	}
	return out.Bytes(), nil
}

// maxSecret is how many bytes a program may print.
const maxSecret = 1 << 20

// shortOutput keeps the output of a program up to a bound, and refuses the rest, which ends the program.
type shortOutput struct {
	bytes.Buffer
	// left is how many bytes may still come; below zero when more came.
	left int
}

// Write implements io.Writer.
// Its error has the library end the copying; the program then gets SIGPIPE or EPIPE.
func (s *shortOutput) Write(p []byte) (int, error) {
	if s.left -= len(p); s.left < 0 {
		return 0, errors.New("too much")
	}
	return s.Buffer.Write(p)
}
