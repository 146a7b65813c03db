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
)

// pluginRemote has the flags of the verbs about the providers of a running daemon. The processes belong to the daemon alone, so these
// verbs ask it over its socket, as status does. They need no folder of descriptors.
type pluginRemote struct{ remote.Daemon }

// NewPluginStatus makes the verb that shows how the providers do. It is apart from list, which reads the folder: a descriptor that was
// changed meanwhile may not be in effect yet.
func NewPluginStatus(a *cli.App) *cobra.Command {
	f := &pluginRemote{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the status of the running daemon's providers",
		Long: `Status shows the phase, the process and the number of starts of each provider of the
running daemon. The phase is stopped (no resource needs it), starting, ready, backoff
(waiting before another start), or broken, which is followed by its last output.`,
		Example: `  mgmt plugin status`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.status(cmd.Context(), a) },
	}
	f.Flags(cmd, []control.Provider{})
	return cmd
}

// status asks the daemon, and writes a line for each provider. The errors come below the table, since the last lines of a program
// have no place in a column. Names and errors are from outside, so signs that steer a terminal are made visible.
// The times are texts as RFC 3339 has them, as the daemon gives them. Where no daemon answers,
// the error says how to reach one, with code 1.
func (f *pluginRemote) status(ctx context.Context, a *cli.App) error {
	all, err := f.Client().Providers(ctx)
	if err != nil {
		return remote.Explained(err)
	}
	return f.Output.Write(a.Out, all.Providers, func(w io.Writer) error { return providersText(w, all.Providers) })
}

// providersText writes a row for each provider, and the errors below.
func providersText(w io.Writer, all []control.Provider) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "the daemon has no providers")
		return err
	}
	t := render.Table{{"NAME", "VERSION", "PHASE", "PID", "STARTS", "SINCE"}}
	for _, p := range all {
		t.Row(p.Name, p.Version, p.Phase, pidText(p), p.Starts, p.Since)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	for _, p := range all {
		if p.Error != "" {
			if _, err := fmt.Fprintf(w, "%s: %s\n", render.Visible(p.Name), render.Visible(p.Error)); err != nil {
				return err
			}
		}
	}
	return nil
}

// pidText says which process a provider is. A provider in a debugger has a process too, but not one that the daemon may end, so its
// number is left out.
func pidText(p control.Provider) string {
	switch {
	case p.Attached:
		return "attached"
	case p.PID == 0:
		return "-"
	}
	return fmt.Sprint(p.PID)
}

// NewPluginRestart makes the verb that restarts a provider. It returns before the new process is there: a resource that needs the
// provider waits for it anyway.
// A provider that no resource needs has no process, and the daemon's error says that.
func NewPluginRestart(a *cli.App) *cobra.Command {
	f := &pluginRemote{}
	cmd := &cobra.Command{
		Use:   "restart PROVIDER",
		Short: "Restart a provider of the running daemon",
		Long: `Restart makes the running daemon stop a provider and start it again at once, even if it
is in backoff or broken. Use it after replacing the program. Calls in flight may finish
first, and no resource fails because of the restart.`,
		Example:           `  mgmt plugin restart aws`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := f.Client().RestartProvider(cmd.Context(), args[0])
			if err != nil {
				return remote.Explained(err)
			}
			return f.Output.Write(a.Out, done, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, render.Visible(done.Provider)+" is started anew")
				return err
			})
		},
	}
	f.Flags(cmd, control.Restarted{})
	return cmd
}

// complete offers the providers of the daemon, for the one argument that the verb takes. A daemon that does not answer offers nothing, since a shell shows no errors.
func (f *pluginRemote) complete(cmd *cobra.Command, args []string, _ string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if all, err := f.Client().Providers(cmd.Context()); err == nil && len(args) == 0 {
		for _, p := range all.Providers {
			list = append(list, p.Name)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
