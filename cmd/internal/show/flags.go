package show

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/service"
)

// Flags say how the program tells what it does. All of that goes to standard
// error.
type Flags struct {
	format cli.Choice
	Color  cli.Choice
	// A reload may change debug, verbose and quiet, and never the format.
	Debug   bool
	Verbose bool
	Quiet   bool
}

// Flags adds the flags of the log; debug, verbose and quiet exclude each other.
func (f *Flags) Flags(cmd *cobra.Command) {
	cli.Bind(cmd, "log_format", &f.format)
	cli.Bind(cmd, "debug", &f.Debug)
	cli.Bind(cmd, "verbose", &f.Verbose)
	cli.Bind(cmd, "quiet", &f.Quiet)
	cli.ColorFlag(cmd, &f.Color)
	cli.Exclude(cmd, "debug", "verbose", "quiet")
}

// levelVerbose is that of information, and says more: a terminal gets a line for each change, as a pipe does.
const levelVerbose = slog.LevelInfo - 1

// Level is the least level that is shown.
func (f *Flags) Level() slog.Level {
	switch {
	case f.Debug:
		return slog.LevelDebug
	case f.Verbose:
		return levelVerbose
	case f.Quiet:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// Presenter returns the presenter of a run. Close it.
// Standard error that is systemd's journal gets entries with fields instead of lines. The
// caller closes the presenter before the program ends.
// It never fails: where the journal cannot be reached, lines go to standard error.
func (f *Flags) Presenter(a *cli.App) *Presenter {
	p := &Presenter{program: a.Program(), began: time.Now(), Level: new(slog.LevelVar), engine: make(chan *mgmt.Engine, 1), troubled: map[string]string{}}
	p.Level.Set(f.Level())
	if f.format.Word == "json" {
		p.json = true
		// JSON goes through the screen, too, so that a slow reader of standard error holds nothing
		// up.
		p.screen = NewScreen(a.Err, nil)
		p.Logger = slog.New(slog.NewJSONHandler(p.screen, &slog.HandlerOptions{Level: p.Level}))
		return p
	}
	size := cli.TerminalSize(a.Err)
	p.style = render.Style{Color: cli.Colored(f.Color, a.Err), Short: size != nil}
	if !p.style.Color {
		size = nil // no escapes: plain lines
	}
	p.screen = NewScreen(a.Err, size)
	if service.IsJournal(a.Err) {
		if j, err := service.OpenJournal(cmp.Or(a.Journal, service.JournalSocket)); err == nil {
			p.journal = j
			p.Logger = slog.New(j.Handler(p.Level, render.Style{}.Text))
			return p
		}
	}
	p.Logger = slog.New(LineLog(p.screen, p.style, p.Level))
	return p
}

// End returns the error with which the program ends. In JSON it is logged.
// A reader of JSON would stumble over a line of text, so it is a record too.
func (f *Flags) End(a *cli.App, code int, err error) error {
	if f.format.Word != "json" {
		return cli.WithCode(code, err)
	}
	// The record goes to standard error directly, since the presenter of a run may be closed by then.
	slog.New(slog.NewJSONHandler(a.Err, nil)).Error("ended", "error", cli.ErrorText(err))
	return cli.WithCode(code, nil)
}

// Diagnose returns the error with which the program ends when a graph can't be
// used. Its findings are printed as they are, one on each line.
// The code is 1 in each case, and no line of summary follows the findings.
func (f *Flags) Diagnose(a *cli.App, err error) error {
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok {
		return f.End(a, cli.ExitUsage, err)
	}
	if f.format.Word == "json" {
		log := slog.New(slog.NewJSONHandler(a.Err, nil))
		log.LogAttrs(context.Background(), slog.LevelError, "graph refused", render.DiagnosticsAttr(ds))
	} else {
		render.PrintDiagnostics(a.Err, a.Program(), ds)
	}
	return cli.WithCode(cli.ExitUsage, nil)
}
