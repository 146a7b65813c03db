package top

import (
	"context"
	"errors"
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/engine/clock"
)

// topFlags are the flags of top.
type topFlags struct {
	remote.Daemon
	color cli.Choice
}

// New makes the verb top.
func New(a *cli.App) *cobra.Command {
	f := &topFlags{}
	cmd := &cobra.Command{
		Use:   "top [SELECTION]",
		Short: "Watch and steer the running daemon in a terminal",
		Long: `Top shows the running daemon's resources in a terminal and keeps the list up to date:
states, how often each one runs, how long it takes and how restless it is. It opens
one resource with its declared and actual values, its last runs and their causes, what
it waits for and who depends on it. It pauses, resumes and retries a resource, and
approves or rejects its change, after it has asked for a reason and shown what it
will do. The key ? shows all keys.

If the daemon goes away, top says so, and continues when it is back.

` + cli.SelectionHelp,
		Example: `  mgmt top
  mgmt top module:web
  ssh -t web1 mgmt top`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: f.CompleteResource,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), a, append(args, "")[0])
		},
	}
	f.Reach(cmd)
	cli.ColorFlag(cmd, &f.color)
	return cmd
}

// run shows the daemon until the user quits, or a signal comes.
func (f *topFlags) run(ctx context.Context, a *cli.App, selects string) error {
	in, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || cli.TerminalSize(a.Out) == nil || os.Getenv("TERM") == "dumb" {
		return errors.New("top needs a terminal for its input and output (with ssh: ssh -t HOST mgmt top); elsewhere use mgmt status --watch, mgmt events or mgmt status -o json")
	}
	m := newModel(f.Client(), clock.System{}, cli.StyleOf(f.color, a))
	m.selects = selects
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	return show(ctx, m, tea.WithInput(a.In), tea.WithOutput(a.Out))
}

// frames is how often the screen is drawn in a second, at most.
const frames = 10

// show runs a model on a terminal. However it ends, the terminal is as it was before.
func show(ctx context.Context, m *model, opts ...tea.ProgramOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.ctx = ctx
	p := tea.NewProgram(m, append(opts, tea.WithFPS(frames), tea.WithoutSignalHandler())...)
	defer context.AfterFunc(ctx, p.Quit)()
	wait := newFeed(m, p.Send).start(ctx)
	_, err := p.Run()
	cause := context.Cause(ctx) // of a signal, if one has ended it
	cancel()
	if failed := wait(); failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("the screen is given up: %w", err)
	}
	return cause
}
