package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
)

// pauseFlags are the flags of pause. A pause has an end, so that a forgotten one does no harm.
type pauseFlags struct {
	remote.Daemon
	// span has no default: the flag --for must be given, and is at most ten years.
	span cli.Seconds
	// reason is free text of a person, which the daemon keeps and shows.
	reason string
}

// NewPause makes the verb pause.
// The verb only asks: the daemon keeps the pause in its state folder.
func NewPause(a *cli.App) *cobra.Command {
	f := &pauseFlags{}
	cmd := &cobra.Command{
		Use:   "pause [SELECTION] --for TIME",
		Short: "Pause resources, or everything, for a while",
		Long: `Pause stops the running daemon from checking and repairing the selected resources,
or without a selection all of them. Paused resources are still watched; once one
drifts, its dependents wait. A pause ends by itself, survives restarts of the
daemon, is shown by status, and replaces an earlier pause. Resources that a later
graph adds are not paused.

` + cli.SelectionHelp,
		Example: `  mgmt pause 'file[/etc/motd]' --for 2h --reason "moving the disks"
  mgmt pause 'file[/etc/nginx/*]' --for 10m
  mgmt pause --for 30m`,
		Args:              resourceArg(0),
		ValidArgsFunction: f.CompleteResource,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	f.Flags(cmd, control.Done{})
	cmd.Flags().Var(&f.span, "for", "length of the pause")
	cmd.Flags().StringVar(&f.reason, "reason", "", "`text` to show in status and the history")
	return cmd
}

// run asks for a pause. Its length must be said, since a forgotten pause would leave a
// machine unmanaged.
// A selection of nothing is an error. A member of an automatic group pauses its
// whole group, and the answer names the resource that runs it. Where no daemon answers, the code
// is 1.
func (f *pauseFlags) run(ctx context.Context, a *cli.App, args []string) error {
	if f.span == 0 {
		return errors.New("write how long to pause, as in --for 2h")
	}
	// The daemon has the same bound, and here the error names the flag.
	if d := time.Duration(f.span); d > control.MaxPause {
		return fmt.Errorf("--for=%s is too long, the maximum is %s (ten years)", d, control.MaxPause)
	}
	req := control.PauseRequest{For: time.Duration(f.span).Seconds(), Reason: f.reason}
	if len(args) > 0 {
		req.Resource = args[0]
	}
	done, err := f.Client().Pause(ctx, req)
	if err != nil {
		return unknown(err, req.Resource)
	}
	return f.Output.Write(a.Out, done, func(w io.Writer) error {
		until := " until " + cli.StyleOf(cli.Choice{}, a).Moment(done.Until)
		if done.Resources != nil {
			return writeEach(w, done.Resources, "is paused"+until)
		}
		_, err := fmt.Fprintln(w, doneText(done, "paused")+until)
		return err
	})
}

// writeEach says of each selected resource what became of it. Many more than a person reads are counted.
func writeEach(w io.Writer, resources []string, what string) error {
	var b strings.Builder
	for _, r := range resources[:min(len(resources), maxShown)] {
		b.WriteString(render.Visible(r) + " " + what + "\n")
	}
	if more := len(resources) - maxShown; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// doneText says to what something was done. The second argument is a participle, such as paused.
// The name in it is the daemon's, which may be that of the owner of a group.
func doneText(d *control.Done, what string) string {
	if d.Resource == "" {
		return "everything is " + what
	}
	return render.Visible(d.Resource) + " is " + what
}
