package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// logFlags say how the program tells what it does. All of that goes to standard
// error.
type logFlags struct {
	format string
	color  string
	debug  bool
	quiet  bool
}

func (f *logFlags) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.format, "log-format", "text", "how to log to standard error: text or json")
	fl.BoolVar(&f.debug, "debug", false, "log much more")
	fl.BoolVar(&f.quiet, "quiet", false, "log only warnings and errors")
	colorFlag(cmd, &f.color)
	cmd.MarkFlagsMutuallyExclusive("debug", "quiet")
	complete(cmd, "log-format", "text", "json")
}

func colorFlag(cmd *cobra.Command, color *string) {
	cmd.Flags().StringVar(color, "color", "auto", "whether to write in colour: auto (on a terminal, unless NO_COLOR is set), always or never")
	complete(cmd, "color", "auto", "always", "never")
}

// complete offers the words that a flag takes to the shell.
func complete(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// colored says whether to write to w in colour.
func colored(when string, w io.Writer) (bool, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto", "":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminalWidth(w) != nil, nil
	default:
		return false, fmt.Errorf("--color=%s: write auto, always or never", when)
	}
}

// terminalWidth returns a function that asks for the width of the terminal that
// w is, or nil.
func terminalWidth(w io.Writer) func() int {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil || width < 1 {
			return 80
		}
		return width
	}
}

func (f *logFlags) level() slog.Level {
	switch {
	case f.debug:
		return slog.LevelDebug
	case f.quiet:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// presenter returns what shows a run. Close it.
func (f *logFlags) presenter(a *app) (*presenter, error) {
	p := &presenter{began: time.Now(), level: f.level(), troubled: map[string]bool{}}
	switch f.format {
	case "json":
		p.json = true
		p.screen = &screen{w: a.err}
		p.logger = slog.New(slog.NewJSONHandler(a.err, &slog.HandlerOptions{Level: p.level}))
		return p, nil
	case "text":
	default:
		return nil, fmt.Errorf("--log-format=%s: write text or json", f.format)
	}
	color, err := colored(f.color, a.err)
	if err != nil {
		return nil, err
	}
	width := terminalWidth(a.err)
	p.screen = &screen{w: a.err, width: width}
	p.style = style{color: color, short: width != nil}
	p.logger = slog.New(&lineHandler{screen: p.screen, style: p.style, level: p.level})
	return p, nil
}

// diagnose returns the error with which the program ends when a graph can't be
// used: its findings are printed one on each line, as they are.
func (f *logFlags) diagnose(a *app, err error) error {
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok {
		return err
	}
	if f.format == "json" {
		log := slog.New(slog.NewJSONHandler(a.err, nil))
		log.LogAttrs(context.Background(), slog.LevelError, "graph refused", diagnosticsAttr(ds))
	} else {
		printDiagnostics(a.err, ds)
	}
	return withCode(exitUsage, nil)
}
