package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// The bounds of a command that checks a file: how long it may run, and how many bytes of its output
// are kept.
const (
	MaxTime        = 2 * time.Minute
	validateOutput = 64 << 10
)

// Validator is a command that says whether a file may be used. The zero value says that
// all may.
type Validator struct {
	Line  string // the parameter
	Limit time.Duration
}

// ValidatorOf returns the one that a parameter means; empty for none.
func ValidatorOf(line string) Validator { return Validator{line, MaxTime} }

// argv returns the arguments for the file at a path: % in them, or %s, stands for the
// path, %% for a percent sign; without one the path comes last.
func (v Validator) argv(path string) ([]string, error) {
	argv, err := Words(v.Line)
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

// Check returns an error if the command can't be one.
func (v Validator) Check() error {
	if v.Line == "" {
		return nil
	}
	if strings.ContainsRune(v.Line, 0) {
		return errors.New("validate has a NUL byte in it")
	}
	_, err := v.argv("/")
	return err
}

// Withheld returns the texts that a validator's output must not show.
type Withheld struct {
	All  bool   // nothing of it: it may hold a secret
	Text string // no line or word of this, which is not for all users
}

// shown returns the last lines of an output as an error may tell them.
func (w Withheld) shown(t *Tail) string {
	if w.Text == "" {
		return t.String()
	}
	hidden := secrets.Texts{Least: MinHidden}
	hidden.Add(w.Text)
	for word := range strings.FieldsSeq(w.Text) {
		hidden.Add(word)
	}
	return hidden.Clean(t.String())
}

// By returns what atomicfile asks about a new file; nil for no command. It runs the
// command as mgmt itself, in /, with PATH alone in its environment. At its end no process is left of those that it has started.
func (v Validator) By(ctx context.Context, host engine.Host, hide Withheld) func(path string) error {
	if v.Line == "" {
		return nil
	}
	return func(path string) error { return v.run(ctx, host, path, hide) }
}

func (v Validator) run(ctx context.Context, host engine.Host, path string, hide Withheld) error {
	argv, err := v.argv(path)
	if err != nil {
		return err
	}
	ctx, stop := clock.WithTimeout(ctx, engine.ClockOf(host), v.Limit, fmt.Errorf("still running after %s, killed", v.Limit))
	defer stop()
	var printed Tail
	res, err := host.Command(ctx, engine.Command{
		Argv: argv, Env: []string{"PATH=" + DefaultPath}, MaxOutput: validateOutput, Stderr: printed.Add, Alone: true,
	})
	switch {
	case err != nil:
		err = fmt.Errorf("validate: %w", err)
	case res.Signal != "" || res.ExitCode < 0:
		err = fmt.Errorf("validate: %s was ended by the signal %s", argv[0], res.Signal)
	case res.ExitCode == 0:
		return nil
	default:
		err = failure.Verdict(fmt.Errorf("validate: %s refuses the new file (exit status %d), so the old one stays", argv[0], res.ExitCode))
	}
	if res != nil && printed.Empty() {
		printed.AddAll(res.Stdout)
	}
	switch {
	case printed.Empty():
		return err
	case hide.All:
		return fmt.Errorf("%w; what it printed is not shown, since the file holds a secret", err)
	default:
		return fmt.Errorf("%w: %s", err, strings.ReplaceAll(hide.shown(&printed), path, "the new file"))
	}
}

// Checking is how a textfile.File has its new text checked.
type Checking struct {
	Validator
	Context context.Context
	Host    engine.Host
	Secret  bool // the file holds a secret
}

// Of returns what atomicfile asks about a text; nil for nothing. private says that the
// file is not for all users.
func (c Checking) Of(text string, private bool) func(path string) error {
	hide := Withheld{All: c.Secret}
	if private {
		hide.Text = text
	}
	return c.By(c.Context, c.Host, hide)
}
