package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// Runner runs a command, as engine.Host.Command does.
type Runner func(context.Context, engine.Command) (*engine.Result, error)

// Call is one run of a program.
type Call struct {
	Name    string         // of the program in its errors; empty for the first of Command.Argv
	Command engine.Command // with the question as Stdin
	Timeout time.Duration  // 0 for none
	Clock   clock.Clock    // of Timeout; nil for that of the machine
	Hidden  *secrets.Texts // texts that no error may hold; nil for none
}

// Do runs the program, and waits for its end. The output is returned with an error, too. A program that goes on writing
// after Command.MaxOutput is ended.
func (c *Call) Do(ctx context.Context, run Runner) ([]byte, error) {
	if c.Timeout > 0 {
		timed, cancel := clock.WithTimeout(ctx, clock.Or(c.Clock), c.Timeout, fmt.Errorf("it has not ended within %s", c.Timeout))
		defer cancel()
		ctx = timed
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	r, err := run(ctx, c.bounded(end))
	if r == nil {
		return nil, notRun(err)
	}
	switch {
	case err != nil:
	case r.Signal != "":
		err = c.failure(r, "was ended by "+r.Signal)
	case r.ExitCode != 0:
		err = c.failure(r, fmt.Sprintf("ended with code %d", r.ExitCode))
	case r.Truncated:
		err = c.tooMuch()
	}
	return r.Stdout, err
}

// bounded returns the command, which is ended when its lines are far more than is kept of them. A line counts one byte more
// than it has, so that empty lines count too; and so do the pieces of a long line.
func (c *Call) bounded(end context.CancelCauseFunc) engine.Command {
	cmd := c.Command
	var written atomic.Int64
	count := func(pass func([]byte)) func([]byte) {
		return func(line []byte) {
			if pass != nil {
				pass(line)
			}
			if most := int64(cmd.MaxOutput); written.Add(int64(len(line))+1)/2 > most && most > 0 {
				end(c.tooMuch())
			}
		}
	}
	cmd.Stdout, cmd.Stderr = count(cmd.Stdout), count(cmd.Stderr)
	return cmd
}

func (c *Call) tooMuch() error {
	return &Failure{Name: c.name(), How: "has written more than " + size(c.Command.MaxOutput)}
}

// notRun is the error of a Runner that returned no result.
func notRun(err error) error {
	if err == nil {
		return errors.New("it was not run")
	}
	return err
}

func (c *Call) name() string {
	if c.Name != "" || len(c.Command.Argv) == 0 {
		return c.Name
	}
	return c.Command.Argv[0]
}

// size is a number of bytes for people.
func size(n int) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Failure says how a program has failed.
type Failure struct {
	Name string
	How  string // such as: ended with code 3
	Said string // the end of its standard error, without hidden texts; may be empty
}

// Error returns one sentence.
func (f *Failure) Error() string { return strings.TrimSuffix(f.Name+" "+f.How+": "+f.Said, ": ") }

// Unsaid is Error without the output of the program, which may hold a secret that is not known yet.
// The reason says why it is not shown.
func (f *Failure) Unsaid(reason string) error {
	if f.Said == "" {
		return f
	}
	return fmt.Errorf("%s %s; what it said is not shown, %s", f.Name, f.How, reason)
}

func (c *Call) failure(r *engine.Result, how string) *Failure {
	said := string(r.Stderr)
	switch {
	case c.Hidden == nil:
	case r.Truncated:
		said = c.Hidden.CleanPart(said)
	default:
		said = c.Hidden.Clean(said)
	}
	return &Failure{Name: c.name(), How: how, Said: Tail(said)}
}

// maxTail bounds the output of a program in an error, in bytes.
const maxTail = 1 << 10

// Tail returns the end of a text for an error. The text must be clean of secrets before, since a part
// of a secret is not recognised.
func Tail(text string) string {
	return strings.TrimSpace(strings.ToValidUTF8(text[max(0, len(text)-maxTail):], "?"))
}

// Line writes a value as one line of JSON, with its end. The value must be one that JSON has a form
// for: of text that is no UTF-8, strictjson.IsText tells before.
func Line(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// SearchPath is the PATH of a program, where nothing else is said.
const SearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Environment returns variables for engine.Command.Env, with SearchPath if there is no PATH.
func Environment(vars map[string]string) []string {
	env := []string{}
	if _, ok := vars["PATH"]; !ok {
		env = append(env, "PATH="+SearchPath)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}
