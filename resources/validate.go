package resources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// The bounds of a command that checks a file: how long it may run, and how many bytes of
// what it prints are kept.
const (
	validateTime   = 2 * time.Minute
	validateOutput = 64 << 10
)

// validator is a command that says whether a file may be used. The zero value says that
// all may.
type validator struct {
	line  string // the parameter
	limit time.Duration
}

// validatorOf returns the one that a parameter means; empty for none.
func validatorOf(line string) validator { return validator{line, validateTime} }

// argv returns the arguments for the file at a path: % in them, or %s, stands for the
// path, %% for a percent sign; without one the path comes last.
func (v validator) argv(path string) ([]string, error) {
	argv, err := splitWords(v.line)
	if err == nil && (len(argv) == 0 || argv[0] == "") {
		err = errors.New("there is no command")
	}
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	named := false
	for i, word := range argv {
		argv[i] = percents(word, path, &named)
	}
	if !named {
		argv = append(argv, path)
	}
	return argv, nil
}

// percents puts a path in the place of each percent sign.
func percents(word, path string, named *bool) string {
	if !strings.Contains(word, "%") {
		return word
	}
	const one = "\x00"
	word = strings.ReplaceAll(word, "%%", one)
	word = strings.ReplaceAll(word, "%s", "%")
	*named = *named || strings.Contains(word, "%")
	return strings.ReplaceAll(strings.ReplaceAll(word, "%", path), one, "%")
}

// check returns an error if the command can't be one.
func (v validator) check() error {
	if v.line == "" {
		return nil
	}
	if strings.ContainsRune(v.line, 0) {
		return errors.New("validate has a NUL byte in it")
	}
	_, err := v.argv("/")
	return err
}

// withheld says what must not be shown of what a validator prints.
type withheld struct {
	all  bool   // nothing of it: it may hold a secret
	text string // no line or word of this, which is not for all users
}

// shown returns the last lines of an output as an error may tell them.
func (w withheld) shown(t *tail) string {
	if w.text == "" {
		return t.String()
	}
	hidden := secrets.Texts{Least: minHidden}
	hidden.Add(w.text)
	for word := range strings.FieldsSeq(w.text) {
		hidden.Add(word)
	}
	return hidden.Clean(t.String())
}

// by returns what atomicfile asks about a new file; nil for no command. It runs the
// command as mgmt itself, in /, with PATH alone in its environment.
func (v validator) by(ctx context.Context, host engine.Host, hide withheld) func(path string) error {
	if v.line == "" {
		return nil
	}
	return func(path string) error { return v.run(ctx, host, path, hide) }
}

func (v validator) run(ctx context.Context, host engine.Host, path string, hide withheld) error {
	argv, err := v.argv(path)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(ctx, v.limit, fmt.Errorf("still running after %s, killed", v.limit))
	defer stop()
	var printed tail
	res, err := host.Command(ctx, engine.Command{
		Argv: argv, Env: []string{"PATH=" + defaultPath}, MaxOutput: validateOutput, Stderr: printed.add,
	})
	switch {
	case err != nil:
		err = fmt.Errorf("validate: %w", err)
	case res.Signal != "" || res.ExitCode < 0:
		err = fmt.Errorf("validate: %s was ended by the signal %s", argv[0], res.Signal)
	case res.ExitCode == 0:
		return nil
	default:
		err = engine.Verdict(fmt.Errorf("validate: %s refuses the new file (exit status %d), so the old one stays", argv[0], res.ExitCode))
	}
	if res != nil && printed.empty() {
		printed.addAll(res.Stdout)
	}
	switch {
	case printed.empty():
		return err
	case hide.all:
		return fmt.Errorf("%w; what it printed is not shown, since the file holds a secret", err)
	default:
		return fmt.Errorf("%w: %s", err, strings.ReplaceAll(hide.shown(&printed), path, "the new file"))
	}
}

// checking is how a textFile has its new text checked.
type checking struct {
	validator
	ctx    context.Context
	host   engine.Host
	secret bool // the file holds a secret
}

// of returns what atomicfile asks about a text; nil for nothing. private says that the
// file is not for all users.
func (c checking) of(text string, private bool) func(path string) error {
	hide := withheld{all: c.secret}
	if private {
		hide.text = text
	}
	return c.by(c.ctx, c.host, hide)
}
