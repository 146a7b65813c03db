package ask

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// resumeFlags are the flags of resume.
// A resume of everything also lets a graph through that the limit of removals holds.
type resumeFlags struct{ remote.Daemon }

// NewResume makes the verb resume.
// Its only flags are those of the connection and of the output.
func NewResume(a *cli.App) *cobra.Command {
	f := &resumeFlags{}
	cmd := &cobra.Command{
		Use:   "resume [SELECTION]",
		Short: "End pauses, and release held changes",
		Long: `Resume ends the pauses of the selected resources, and releases those that a limit
holds. Without a selection, it ends every pause, releases everything that is held,
and resets the change budget. If a resource is neither paused nor held, resume only
shows its state.

Run by root or the daemon's user, it also ends the undo of the selected resources;
without a selection, a rollback and every undo.

` + cli.SelectionHelp,
		Example: `  mgmt resume 'file[/etc/motd]'
  mgmt resume module:web
  mgmt resume`,
		Args:              resourceArg(0),
		ValidArgsFunction: f.CompleteResource,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	f.Flags(cmd, control.Done{})
	return cmd
}

// run ends pauses and lets held changes through.
// It ends with code 0 also if there was nothing to resume, so a script may call it twice.
func (f *resumeFlags) run(ctx context.Context, a *cli.App, args []string) error {
	var req control.ResumeRequest
	if len(args) > 0 {
		req.Resource = args[0]
	}
	done, err := f.Client().Resume(ctx, req)
	if err != nil {
		return unknown(err, req.Resource)
	}
	return f.Output.Write(a.Out, done, func(w io.Writer) error { return resumedText(w, done) })
}

// resumedText tells of what goes on now.
func resumedText(w io.Writer, done *control.Done) (err error) {
	if done.Resources != nil {
		if len(done.Resources) == 0 {
			_, err = fmt.Fprintln(w, "of the selection nothing was paused or held")
			return err
		}
		return writeEach(w, done.Resources, "is resumed")
	}
	// The daemon answers so where the resource was neither paused nor held. That ends with code
	// 0.
	if done.State != "" {
		_, err = fmt.Fprintln(w, notHeldText(done))
		return err
	}
	_, err = fmt.Fprintln(w, doneText(done, "resumed"))
	return err
}

// notHeldText says that there was nothing to resume.
// For a failed resource it names the verb that helps.
// The word of the state is that of status.
func notHeldText(d *control.Done) string {
	text := render.Visible(d.Resource) + " was neither paused nor held: it is " + d.State
	if d.State == resgraph.StateFailed.String() {
		text += " (mgmt retry tries it again)"
	}
	return text
}
