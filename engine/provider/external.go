package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/program"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// External is a provider of two commands, so that a type needs no Go. They are given
// lines of JSON at their standard input, and answer with lines of JSON at their
// standard output. Their standard error is logged as warnings.
//
// The get command is given one line,
//
//	{"type": "apt_key", "names": null}
//
// where names is null for all, or a list of names: of a type with one namevar its
// values, else objects of the namevars. It writes a record a line: an object with the
// attributes of one thing that exists. More than the names is allowed; a thing that
// is not written is absent.
//
// The set command is given a line for each change,
//
//	{"title": "x", "name": "x", "is": {"ensure": "present", "v": 1}, "should": {"ensure": "present", "v": 2}, "noop": false}
//
// where is null says that the thing is absent, and without is nothing is known of it. It
// may write, at any time,
//
//	{"title": "x", "status": "updated", "message": "why"}      created, updated, deleted, unchanged, processed, failed
//	{"title": "x", "attribute": "v", "from": 1, "to": 2}       what it has changed; before the status
//	{"level": "notice", "title": "x", "message": "a word"}     debug, info, notice, warning, err; the title may be missing
//	{"title": "x", "context": "updating"}                      creating, updating, deleting, processing, failing
//
// They are logged as they come. A context lasts until its title has a status, or else until the command ends: then the title gets that of the
// context, or has failed. In the meantime attribute and level lines without a title are about that of the context which was opened last. Where one
// line is about several resources, it has "titles", a list, instead of "title".
//
// A change without a written status is done if it ends with code 0, and has
// failed else. With the feature noop_handler it must change nothing where noop is true.
//
// The canonicalize command is given a record a line, as a graph wants it, and writes as
// many lines in their order: the same records in canonical form. The custom_insync command is
// given one line,
//
//	{"name": "x", "attribute": "v", "is": {"v": 1}, "should": {"v": 2}}
//
// and writes one: {"insync": true}, false or null, where null has them compared as usual. A key
// "message" may say why not. Both must alter nothing, and run for a plan, too.
//
// Where JSON has no form for a value it is text, as in a graph: a Timespan is 1h30m, a
// Binary base64. A change that holds text which is not UTF-8 fails without a line. Sensitive values are in the lines in clear, and
// nowhere else: neither in arguments nor in the environment.
type External struct {
	Get, Set []string // the commands, with their arguments; no shell

	// Canonicalize and InSync are commands for the features canonicalize and custom_insync;
	// nil for a type without.
	Canonicalize, InSync []string

	Env     map[string]string // what their environment has besides PATH
	Timeout time.Duration     // of each call; 0 for DefaultTimeout
}

// DefaultTimeout is how long a command of an External may run.
const DefaultTimeout = 10 * time.Minute

// Bounds of the output of a command of an External.
const (
	maxAnswer  = 64 << 20 // bytes in all
	maxLine    = 1 << 20  // bytes of one line
	maxRecords = 1 << 18
)

func (e *External) timeout() time.Duration {
	if e.Timeout <= 0 {
		return DefaultTimeout
	}
	return e.Timeout
}

// New is the constructor of the provider.
func (e *External) New() Provider {
	x := external{e}
	switch {
	case e.Canonicalize != nil && e.InSync != nil:
		return &struct {
			*external
			canonicalizing
			comparing
		}{&x, canonicalizing{&x}, comparing{&x}}
	case e.Canonicalize != nil:
		return &struct {
			*external
			canonicalizing
		}{&x, canonicalizing{&x}}
	case e.InSync != nil:
		return &struct {
			*external
			comparing
		}{&x, comparing{&x}}
	default:
		return &x
	}
}

// commands is a provider of commands.
type commands interface{ timeout() time.Duration }

// external is an External at work.
type external struct{ *External }

// Get runs the get command.
func (x *external) Get(ctx context.Context, rt *Runtime, f Filter) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		c := x.exchange(rt, "get", x.External.Get)
		out, err := c.run(ctx, c.question(f))
		if err != nil {
			yield(nil, err)
			return
		}
		n := 0
		for line := range c.lines(out) {
			if n++; n > maxRecords {
				yield(nil, c.errorf("it has written more than %d records", maxRecords))
				return
			}
			if rec, err := c.record(line); !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// Set runs the set command.
func (x *external) Set(ctx context.Context, rt *Runtime, changes []Change) error {
	c := x.exchange(rt, "set", x.External.Set)
	for _, ch := range changes {
		c.changes[ch.Title] = ch
		c.learn(ch.Is.Record)
		c.learn(ch.Should)
	}
	orders := c.orders(changes)
	if len(orders) == 0 {
		return nil
	}
	heard := &hearing{c: c}
	c.stdout = heard.line
	out, err := c.run(ctx, orders)
	for line := range c.lines(out) {
		if line.number > heard.lines {
			heard.errs = append(heard.errs, c.report(line))
		}
	}
	err = errors.Join(append(heard.errs, err)...)
	c.leave(err)
	return err
}

// exchange is one call of a command.
type exchange struct {
	*External
	rt      *Runtime
	what    string // which one
	argv    []string
	changes map[string]Change
	open    []dialogue   // of the set command, in the order in which it opened them
	stdout  func([]byte) // gets its lines as they come; nil for no reader
	secrets secrets.Texts
	guarded bool // a line may hold a secret that is not known yet
	pieces  bool // the last line was a piece of a longer one
}

func (x *external) exchange(rt *Runtime, what string, argv []string) *exchange {
	return &exchange{External: x.External, rt: rt, what: what, argv: argv, changes: map[string]Change{}, guarded: rt.Type.sensitive()}
}

// learn keeps the secrets of a record out of messages.
func (c *exchange) learn(r Record) {
	for name, v := range r {
		a := c.rt.Type.byName[name]
		c.secrets.Learn(v, a != nil && a.secret)
	}
}

func (c *exchange) errorf(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return fmt.Errorf("the %s command of %s (%s): %s", c.what, c.rt.Type.Name(), c.argv[0], c.secrets.Clean(text))
}

// run runs the command with lines at its standard input, and returns its output,
// also with an error.
func (c *exchange) run(ctx context.Context, stdin []byte) ([]byte, error) {
	call := program.Call{
		Name: "it", Timeout: c.timeout(), Clock: engine.ClockOf(c.rt.Host), Hidden: &c.secrets,
		Command: engine.Command{
			Argv: slices.Clone(c.argv), Env: c.environment(), Stdin: stdin, MaxOutput: maxAnswer,
			Stdout: c.stdout, Stderr: func(line []byte) { c.warn(string(line)) },
		},
	}
	out, err := call.Do(ctx, c.command)
	if f, ok := errors.AsType[*program.Failure](err); ok && c.guarded && c.what != "set" {
		err = f.Unsaid("the type has sensitive attributes")
	}
	if err != nil {
		err = c.errorf("%v", err)
	}
	return out, err
}

// command runs a command where the things are: on this machine; on a target, if the transport runs commands there; else
// here, with a line before all others that says how to reach the target.
func (c *exchange) command(ctx context.Context, cmd engine.Command) (*engine.Result, error) {
	at := c.rt.at
	if at == nil || !at.target.over.local {
		return c.rt.Host.Command(ctx, cmd)
	}
	c.secrets.AddAll(at.hidden)
	return at.Transport.(*externalLink).run(ctx, cmd)
}

// environment returns the environment of a command; nil for PATH alone.
func (c *exchange) environment() []string {
	if len(c.Env) == 0 {
		return nil
	}
	return program.Environment(c.Env)
}

// searchPath is where commands are looked for.
const searchPath = program.SearchPath

// warn logs a line of standard error.
func (c *exchange) warn(line string) {
	if c.guarded && c.what != "set" {
		return // its secret parts are not known; an error repeats nothing of it either
	}
	clean := c.secrets.Clean
	if c.pieces || len(line) >= pieceOfLine {
		clean = c.secrets.CleanPart
	}
	c.pieces = len(line) >= pieceOfLine
	c.rt.Log.Warning(shorten(clean(line)))
}

// pieceOfLine is the length from which a line may be a piece of a longer one.
const pieceOfLine = 64 << 10

// answer is one line that a command has written.
type answer struct {
	number int
	text   []byte
}

// lines yields the lines of an output, without empty ones.
func (c *exchange) lines(out []byte) iter.Seq[answer] {
	return func(yield func(answer) bool) {
		n := 0
		for line := range strings.Lines(string(out)) {
			n++
			if line = strings.TrimSpace(line); line != "" && !yield(answer{n, []byte(line)}) {
				return
			}
		}
	}
}

// bad is the error of a line.
func (c *exchange) bad(line answer, problem string) error {
	if c.guarded {
		return c.errorf("line %d of its output: %s (it is not shown, the type has sensitive attributes)", line.number, problem)
	}
	return c.errorf("line %d of its output: %s: %s", line.number, problem, shorten(string(line.text)))
}
