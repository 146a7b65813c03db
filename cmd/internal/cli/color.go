package cli

import (
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
)

// StyleOf returns how to write to standard output. Without the flag NO_COLOR, TERM and the
// terminal decide about colour.
// Of a terminal, its width does not count: an event is never cut.
func StyleOf(c Choice, a *App) render.Style {
	return render.Style{Color: Colored(c, a.Out), Short: TerminalSize(a.Out) != nil}
}

// ColorFlag adds the flags for colors.
func ColorFlag(cmd *cobra.Command, c *Choice) {
	Bind(cmd, "color", c)
	cmd.Flags().BoolFunc("no-color", "", func(text string) error {
		never, err := strconv.ParseBool(text)
		if err != nil || !never {
			return err
		}
		return cmd.Flags().Set("color", "never")
	})
	_ = cmd.Flags().MarkHidden("no-color") // the usage of --color tells of it
}

// Colored says whether to write to w in colour.
// NO_COLOR and TERM=dumb are customs that most programs heed, see no-color.org.
func Colored(c Choice, w io.Writer) bool {
	switch c.Word {
	case "always":
		return true
	case "never":
		return false
	default:
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && TerminalSize(w) != nil
	}
}

// TerminalSize returns a function that asks for the size of the terminal that
// w is, or nil.
func TerminalSize(w io.Writer) func() (columns, rows int) {
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

// OnTerminal returns a text of several lines for an output: made visible for a terminal, and as it is for a file or a pipe.
func OnTerminal(w io.Writer, text string) string {
	if TerminalSize(w) == nil {
		return text
	}
	return render.VisibleLines(text)
}
