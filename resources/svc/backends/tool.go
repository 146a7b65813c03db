package backends

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// NameArgs is one service, for backends without services of users. A call with
// session: true is refused by the module, since the struct has no such field.
type NameArgs struct {
	Name string `yaml:"name" mgmt:"required" doc:"The name of the service."`
}

// logLines is how much of a program's output is shown.
const logLines = 10

// tool runs the programs of a service manager. It is embedded by each backend
// without a bus. Programs are given argument lists, and no shell.
type tool struct{ host engine.Host }

// reply is the answer of a program that has ended.
type reply struct {
	argv []string
	code int
	text string // all of it
	out  string // its standard output alone
}

// Any exit code is a reply, and not an error. At most 256 KiB of the output are kept. ctx ends
// the program.
func (t tool) run(ctx context.Context, argv ...string) (reply, error) {
	r, err := t.host.Command(ctx, engine.Command{Argv: argv, MaxOutput: 256 << 10})
	if err != nil {
		return reply{}, err
	}
	said := string(r.Output)
	if said == "" {
		said = string(r.Stdout) + string(r.Stderr)
	}
	return reply{argv, r.ExitCode, strings.TrimSpace(said), string(r.Stdout)}, nil
}

// must runs a program that has to succeed.
func (t tool) must(ctx context.Context, argv ...string) (reply, error) {
	r, err := t.run(ctx, argv...)
	if err == nil && r.code != 0 {
		err = r.failed()
	}
	return r, err
}

// failed is the error that the program has failed, with the end of its output. At
// most logLines lines are shown, the last ones.
func (r reply) failed() error {
	lines := strings.Split(r.text, "\n")
	text := strings.Join(lines[max(0, len(lines)-logLines):], "\n")
	return fmt.Errorf("%s: exit status %d: %s", strings.Join(r.argv, " "), r.code, text)
}

// lister is the part of a backend that answers questions. Both methods ask the
// machine anew.
type lister interface {
	// look returns the state of a service; the error is virtual.ErrNotFound if it is not there.
	look(ctx context.Context, name string) (Info, error)
	// all returns the names of all services, and of the enabled ones.
	all(ctx context.Context) (names, enabled []string, err error)
}

// questions are the functions of a backend that only ask. They need no more than a
// lister.
type questions struct{ lister }

// The record has the name as the caller has written it.
func (q questions) info(ctx context.Context, args NameArgs) (Info, error) {
	name, err := checked(args.Name)
	if err != nil {
		return Info{}, err
	}
	i, err := q.look(ctx, name)
	i.Name = args.Name
	return i, err
}

// checked returns the name of a service as the tools have it.
func checked(name string) (string, error) { return BaseName(name), CheckName(name) }

// A missing service has the answer no, and not an error.
func (q questions) ask(ctx context.Context, args NameArgs, which func(Info) bool) (bool, error) {
	i, err := q.info(ctx, args)
	if err != nil {
		return false, absent(err)
	}
	return which(i), nil
}

func (q questions) status(ctx context.Context, args NameArgs) (bool, error) {
	return q.ask(ctx, args, func(i Info) bool { return i.Running })
}

func (q questions) enabled(ctx context.Context, args NameArgs) (bool, error) {
	return q.ask(ctx, args, func(i Info) bool { return i.Enabled })
}

func (q questions) disabled(ctx context.Context, args NameArgs) (bool, error) {
	return q.ask(ctx, args, func(i Info) bool { return !i.Enabled })
}

func (q questions) available(ctx context.Context, args NameArgs) (bool, error) {
	return q.ask(ctx, args, func(Info) bool { return true })
}

// missing is not the opposite of available for a name that is refused: then both
// fail.
func (q questions) missing(ctx context.Context, args NameArgs) (bool, error) {
	_, err := q.info(ctx, args)
	return errors.Is(err, virtual.ErrNotFound), absent(err)
}

// life is of use where the manager tells of the life of a service next to its state.
func (q questions) life(ctx context.Context, args NameArgs) (l LifeInfo, err error) {
	i, err := q.info(ctx, args)
	if t, ok := q.lister.(interface{ lifeOf(Info) LifeInfo }); ok && err == nil {
		l = t.lifeOf(i)
	}
	return l, err
}

// reason has no more than the state: no tool knows what a service wrote.
func (q questions) reason(ctx context.Context, args NameArgs) (string, error) {
	i, err := q.info(ctx, args)
	if err != nil || i.Detail == nil {
		return "", err
	}
	return "it is " + *i.Detail, nil
}

func (q questions) getAll(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	names, _, err := q.all(ctx)
	return sorted(names), err
}

func (q questions) getEnabled(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	_, enabled, err := q.all(ctx)
	return sorted(enabled), err
}

func (q questions) getDisabled(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	names, enabled, err := q.all(ctx)
	rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(enabled, n) })
	return sorted(rest), err
}

// sorted returns a sorted copy in which each name stands once.
func sorted(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return slices.Compact(list)
}

// queryMethods are the functions of a backend that embeds questions.
func queryMethods[B interface{ asks() questions }]() []virtual.Method[B] {
	return []virtual.Method[B]{
		question[B]("info", questions.info),
		question[B]("status", questions.status),
		question[B]("enabled", questions.enabled),
		question[B]("disabled", questions.disabled),
		question[B]("available", questions.available),
		question[B]("missing", questions.missing),
		question[B]("life", questions.life),
		question[B]("reason", questions.reason),
		question[B]("get_all", questions.getAll),
		question[B]("get_enabled", questions.getEnabled),
		question[B]("get_disabled", questions.getDisabled),
	}
}

// question makes a function of a question, so that each backend need not repeat the
// eleven of them.
func question[B interface{ asks() questions }, A, R any](name string, f func(questions, context.Context, A) (R, error)) virtual.Method[B] {
	return virtual.Func(name, func(b B, ctx context.Context, args A) (R, error) { return f(b.asks(), ctx, args) })
}

// deed makes a function of a method that does something to a service that is there.
// It checks the name and looks first, so f gets the state and does nothing where
// that is reached. A missing service is an error.
func deed[B interface{ asks() questions }](name string, f func(b B, ctx context.Context, name string, now Info) error) virtual.Method[B] {
	return virtual.Func(name, func(b B, ctx context.Context, args NameArgs) (none virtual.Nothing, err error) {
		name, err := checked(args.Name)
		if err != nil {
			return none, err
		}
		now, err := b.asks().look(ctx, name)
		if err != nil {
			return none, notThere(args.Name, err)
		}
		return none, f(b, ctx, name, now)
	})
}
