package cmd

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/service"
)

// logFlags say how the program tells what it does. All of that goes to standard
// error.
type logFlags struct {
	format choice
	color  choice
	// A reload may change debug, verbose and quiet, and never the format.
	debug   bool
	verbose bool
	quiet   bool
}

// flags adds the flags of the log; debug, verbose and quiet exclude each other.
func (f *logFlags) flags(cmd *cobra.Command) {
	bind(cmd, "log_format", &f.format)
	bind(cmd, "debug", &f.debug)
	bind(cmd, "verbose", &f.verbose)
	bind(cmd, "quiet", &f.quiet)
	colorFlag(cmd, &f.color)
	exclude(cmd, "debug", "verbose", "quiet")
}

// colorFlag adds the flags for colors.
func colorFlag(cmd *cobra.Command, c *choice) {
	bind(cmd, "color", c)
	cmd.Flags().BoolFunc("no-color", "", func(text string) error {
		never, err := strconv.ParseBool(text)
		if err != nil || !never {
			return err
		}
		return cmd.Flags().Set("color", "never")
	})
	_ = cmd.Flags().MarkHidden("no-color") // the usage of --color tells of it
}

// colored says whether to write to w in colour.
// NO_COLOR and TERM=dumb are customs that most programs heed, see no-color.org.
func colored(c choice, w io.Writer) bool {
	switch c.word {
	case "always":
		return true
	case "never":
		return false
	default:
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminalSize(w) != nil
	}
}

// terminalSize returns a function that asks for the size of the terminal that
// w is, or nil.
func terminalSize(w io.Writer) func() (columns, rows int) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return func() (int, int) {
		columns, rows, err := term.GetSize(int(file.Fd()))
		if err != nil || columns < 1 || rows < 1 {
			return 80, 24
		}
		return columns, rows
	}
}

// levelVerbose is that of information, and says more: a terminal gets a line for each change, as a pipe does.
const levelVerbose = slog.LevelInfo - 1

// level is the least level that is shown.
func (f *logFlags) level() slog.Level {
	switch {
	case f.debug:
		return slog.LevelDebug
	case f.verbose:
		return levelVerbose
	case f.quiet:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// presenter returns the presenter of a run. Close it.
// Standard error that is systemd's journal gets entries with fields instead of lines. The
// caller closes the presenter before the program ends.
// It never fails: where the journal cannot be reached, lines go to standard error.
func (f *logFlags) presenter(a *app) *presenter {
	p := &presenter{program: a.program(), began: time.Now(), level: new(slog.LevelVar), troubled: map[string]string{}}
	p.level.Set(f.level())
	if f.format.word == "json" {
		p.json = true
		// JSON goes through the screen, too, so that a slow reader of standard error holds nothing
		// up.
		p.screen = newScreen(a.err, nil)
		p.logger = slog.New(slog.NewJSONHandler(p.screen, &slog.HandlerOptions{Level: p.level}))
		return p
	}
	size := terminalSize(a.err)
	p.style = style{color: colored(f.color, a.err), short: size != nil}
	if !p.style.color {
		size = nil // no escapes: plain lines
	}
	p.screen = newScreen(a.err, size)
	if service.IsJournal(a.err) {
		if j, err := service.OpenJournal(cmp.Or(a.journal, service.JournalSocket)); err == nil {
			p.journal = j
			p.logger = slog.New(j.Handler(p.level, style{}.text))
			return p
		}
	}
	p.logger = slog.New(lineLog(p.screen, p.style, p.level))
	return p
}

// end returns the error with which the program ends. In JSON it is logged.
// A reader of JSON would stumble over a line of text, so it is a record too.
func (f *logFlags) end(a *app, code int, err error) error {
	if f.format.word != "json" {
		return withCode(code, err)
	}
	// The record goes to standard error directly, since the presenter of a run may be closed by then.
	slog.New(slog.NewJSONHandler(a.err, nil)).Error("ended", "error", err.Error())
	return withCode(code, nil)
}

// diagnose returns the error with which the program ends when a graph can't be
// used. Its findings are printed as they are, one on each line.
// The code is 1 in each case, and no line of summary follows the findings.
func (f *logFlags) diagnose(a *app, err error) error {
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok {
		return f.end(a, exitUsage, err)
	}
	if f.format.word == "json" {
		log := slog.New(slog.NewJSONHandler(a.err, nil))
		log.LogAttrs(context.Background(), slog.LevelError, "graph refused", diagnosticsAttr(ds))
	} else {
		printDiagnostics(a.err, a.program(), ds)
	}
	return withCode(exitUsage, nil)
}
