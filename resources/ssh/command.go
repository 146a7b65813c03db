package ssh

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/reactivegraph/mgmt/engine"
)

// Command runs a command on the target. One runs at a time. It is started only when it has the lock and the connection has
// brought all of its input, and it ends with the connection.
func (t *conn) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	select {
	// The commands of one connection run one after the other, as those of one resource do on this
	// machine. The wait ends with the context.
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-t.turn }()
	session, err := t.client.NewSession()
	if err != nil {
		return nil, fmt.Errorf("the target opens no session: %w", err)
	}
	defer session.Close()
	stop := context.AfterFunc(ctx, func() { session.Close() })
	defer stop()
	x := newExchange(c)
	err = x.run(session)
	if cause := context.Cause(ctx); cause != nil {
		return x.result(), cause
	}
	return x.ended(err)
}

// exchange is one command on its way.
// It lives as long as its session.
type exchange struct {
	// c is the caller's, and is not altered.
	c engine.Command
	// out and said are the two outputs, behind the mark and without it.
	out, said captured
	ready     *marker
}

// newExchange prepares a command. It sends nothing.
func newExchange(c engine.Command) *exchange {
	limit := c.MaxOutput
	if limit <= 0 {
		limit = 1 << 20
	}
	x := &exchange{c: c, out: captured{limit: limit, each: c.Stdout}, said: captured{limit: limit, each: c.Stderr}}
	x.ready = &marker{to: &x.out, seen: make(chan struct{})}
	return x
}

// run feeds the command when it is ready, and waits for its end.
func (x *exchange) run(session *ssh.Session) error {
	// The input has a length that the script knows. A connection that breaks in the middle
	// therefore starts nothing.
	input := blob(x.c)
	session.Stdout, session.Stderr = x.ready, &x.said
	in, err := session.StdinPipe()
	if err != nil {
		return err
	}
	if err := session.Start(script(len(input))); err != nil {
		return err
	}
	var feeding sync.WaitGroup
	over := make(chan struct{})
	feeding.Go(func() { // it ends with the session at the latest
		select {
		case <-x.ready.seen:
			_, _ = in.Write(input) // the end of the session says what is wrong
		case <-over:
		}
	})
	// Wait returns when the outputs have ended, too. A process that goes on in the background with
	// them keeps it waiting: the end of the context ends that.
	err = session.Wait()
	close(over)
	session.Close()
	feeding.Wait()
	return err
}

// result is what there is of it.
func (x *exchange) result() *engine.Result {
	x.out.end()
	x.said.end()
	// A code of -1 says that no end of the command is known.
	return &engine.Result{ExitCode: -1, Stdout: x.out.buf.Bytes(), Stderr: x.said.buf.Bytes(), Truncated: x.out.cut || x.said.cut}
}

// ended says how it has ended.
func (x *exchange) ended(err error) (*engine.Result, error) {
	res := x.result()
	exit, ok := errors.AsType[*ssh.ExitError](err)
	switch {
	case err == nil:
		res.ExitCode = 0
	case ok && exit.Signal() != "":
		res.Signal = "SIG" + exit.Signal()
	case ok:
		res.ExitCode = exit.ExitStatus()
	default:
		return res, fmt.Errorf("the connection was lost while it ran: %w", err)
	}
	// Without the mark the command was never started. So a retry can do no harm, and the error has the words of the shell.
	if !x.ready.done {
		return nil, fmt.Errorf("the shell of the target has not started it: %s", strings.TrimSpace(x.said.buf.String()+x.ready.head.String()))
	}
	return res, nil
}

// mark is the line that the target prints when it is ready for the input. Earlier output of a login
// shell is dropped.
const mark = "\nmgmt: ready\n"

// maxGreeting bounds the output before the mark, in bytes.
const maxGreeting = 64 << 10

// marker waits for the mark, and hands on what comes behind it.
type marker struct {
	// to gets everything behind the mark.
	to *captured
	// head has what came before it, for an error.
	head bytes.Buffer
	done bool
	// seen is closed once, when the mark has come.
	seen chan struct{}
}

func (m *marker) Write(p []byte) (int, error) {
	if m.done {
		return m.to.Write(p)
	}
	m.head.Write(p)
	if _, rest, ok := bytes.Cut(m.head.Bytes(), []byte(mark)); ok {
		m.done = true
		close(m.seen)
		_, _ = m.to.Write(rest)
	} else if m.head.Len() > maxGreeting {
		return 0, errors.New("the shell of the target says too much at a login")
	}
	return len(p), nil
}

// captured keeps the first bytes of a stream, and tells its lines.
type captured struct {
	buf bytes.Buffer
	// limit is in bytes. The rest is counted as cut, and is told by lines all the same.
	limit int
	cut   bool
	// each gets a line without its end; nil for none. The line is valid during the call only.
	each func([]byte)
	line []byte
}

// maxLine is the length in bytes at which a line is told in parts, so that an endless line needs
// no endless memory.
const maxLine = 64 << 10

func (w *captured) Write(p []byte) (int, error) {
	room := min(w.limit-w.buf.Len(), len(p))
	w.buf.Write(p[:room])
	w.cut = w.cut || room < len(p)
	if w.each == nil {
		return len(p), nil
	}
	for _, b := range p {
		if b != '\n' {
			w.line = append(w.line, b)
		}
		if b == '\n' || len(w.line) >= maxLine {
			w.each(w.line)
			w.line = w.line[:0]
		}
	}
	return len(p), nil
}

// end tells a last line without an end.
func (w *captured) end() {
	if w.each != nil && len(w.line) > 0 {
		w.each(w.line)
	}
	w.line = nil
}

// searchPath is the PATH of a command that has no environment of its own. It is fixed, since that
// of a login shell differs from target to target.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// script is what the login shell of the target runs. It holds nothing of the command: everybody on the target can see it.
func script(input int) string {
	return "exec env -i HOME=\"$HOME\" PATH=" + searchPath + " /bin/sh -c " + quote(fmt.Sprintf(wrapper, input))
}

// wrapper takes the lock, says that it is ready, reads the input, and starts the command if that is complete. Then it waits for the
// end of the command, or of the connection, which is its standard input: that ends the command with all that it has started.
var wrapper = strings.Join([]string{
	`cd /`,
	`exec 3<&0`,
	`if command -v flock >/dev/null; then exec 9<"${HOME:-/}" && flock 9; fi`,
	`own=$(command -v setsid)`,
	`printf '\nmgmt: ready\n'`,
	`p=$(head -c %[1]d <&3)`,
	`[ ${#p} -eq %[1]d ] || exit 125`,
	`printf %%s "${p#*:}" | base64 -d | (eval "$(printf %%s "${p%%%%:*}" | base64 -d)") 9<&- 3<&- & pid=$!`,
	`(cat <&3; kill -TERM $pid -$pid; sleep 5; kill -KILL $pid -$pid) >/dev/null 2>&1 9<&- & watch=$!`,
	`wait $pid; code=$?`,
	`kill $watch`,
	`exit $code`,
}, "\n")

// blob is the input of the wrapper: the start of the command, and its standard input.
func blob(c engine.Command) []byte {
	env := c.Env
	if env == nil {
		env = []string{"PATH=" + searchPath}
	}
	var b strings.Builder
	b.WriteString("unset HOME PATH PWD OLDPWD")
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprintf(&b, "; export %s=%s", name, quote(value))
	}
	if c.Dir != "" {
		fmt.Fprintf(&b, "; cd %s || exit 126", quote(c.Dir))
	}
	b.WriteString("; exec $own")
	for _, arg := range c.Argv {
		b.WriteString(" " + quote(arg))
	}
	enc := base64.StdEncoding
	return []byte(enc.EncodeToString([]byte(b.String())) + ":" + enc.EncodeToString(c.Stdin))
}

// quote makes one word of a text for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
