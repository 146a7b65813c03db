package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/selection"
	"github.com/reactivegraph/mgmt/engine/statedir"
)

// Socket names the socket of the API.
type Socket struct{ daemon.Socket }

// Flag adds the flag for the socket of the daemon.
func (f *Socket) Flag(cmd *cobra.Command) {
	cli.Bind(cmd, "socket", (*cli.Place)(&f.Path))
	_ = cmd.MarkFlagFilename("socket", "sock")
}

// Daemon connects a verb to the daemon.
type Daemon struct {
	Socket Socket
	// The state folder gives one place of the socket, and the history where no daemon answers.
	State  inputs.StateFlags
	Output cli.Output
}

// Flags adds the flags of a verb that asks a daemon, and writes this document; see cli.Forms.
func (d *Daemon) Flags(cmd *cobra.Command, doc any) {
	d.Reach(cmd)
	cli.Forms(cmd, &d.Output, "output format", doc, "text")
}

// Reach adds the flags that say where the daemon is.
func (d *Daemon) Reach(cmd *cobra.Command) {
	d.Socket.Flag(cmd)
	d.State.PrefixFlag(cmd)
}

// Client returns a client of the first daemon that answers: on the sockets of the flags or the user, then on the machine's.
func (d *Daemon) Client() *control.Client {
	places := d.Socket.Places(d.State.Place)
	// An ordinary user without a daemon means that of the machine. A named folder or socket means
	// just that.
	unnamed := d.Socket.Path == "" && d.State.Prefix == "" && os.Getenv("MGMT_PREFIX") == ""
	if unnamed && len(places) > 0 && !slices.Contains(places, daemon.SystemSocket) {
		places = append(places, daemon.SystemSocket)
	}
	return control.NewClient(places...)
}

// Answerer reads past events from a daemon, or from the history that one left behind.
// Verbs such as log and why take either, so they work after a crash.
type Answerer interface {
	Log(context.Context, control.Query) (*control.Log, error)
	Why(ctx context.Context, resource string, n int) (*control.Why, error)
	// Choose returns the resources of a selection, at most limit.
	Choose(ctx context.Context, selection string, limit int) (*control.Names, error)
}

// Ask calls question with the daemon, or, if none answers, with the history in the state folder; then past is true and a
// note goes to standard error. If the command line names a socket, Ask tries that daemon only.
func (d *Daemon) Ask(a *cli.App, question func(Answerer) error) (past bool, err error) {
	err = question(d.Client())
	// A refused right shows that there is a daemon, whose answer is newer than the history on disk.
	if none, ok := errors.AsType[*control.NoDaemonError](err); !ok || d.Socket.Path != "" || errors.Is(none, fs.ErrPermission) {
		return false, err
	}
	dir, bad := d.State.Path()
	if bad != nil {
		return false, err
	}
	history, bad := statedir.HistoryIn(dir)
	switch {
	case errors.Is(bad, fs.ErrNotExist):
		return false, err
	case bad != nil:
		return false, fmt.Errorf("%w, and the history that the last one has left cannot be read: %w", err, bad)
	}
	fmt.Fprintf(a.Err, "%s: %v; this is the history that the last one has left in %s\n", a.Program(), err, dir)
	return true, question(control.Past{History: history})
}

// Explained adds a hint to err if it says that no daemon answers.
func Explained(err error) error {
	none, ok := errors.AsType[*control.NoDaemonError](err)
	switch {
	case ok && errors.Is(none, fs.ErrPermission):
		return fmt.Errorf("%w; it answers only root, its own user and the group of its socket", none)
	case ok:
		return fmt.Errorf("%w, start one with: mgmt run FILE; or name its socket with --socket", none)
	}
	return err
}

// CompleteResources completes each of several selections.
func (d *Daemon) CompleteResources(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return d.CompleteResource(cmd, nil, word)
}

// CompleteResource completes a selection by asking the daemon: names, kinds, modules and labels, in each term.
// Without a daemon, or when it takes more than 300 ms, the shell gets no names and no
// error.
func (d *Daemon) CompleteResource(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompletionWait)
	defer cancel()
	names, err := d.Client().Names(ctx, word)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := append(names.Resources, names.Terms...)
	before, last := selection.Last(word)
	if len(list) == 0 && before != "" {
		if names, err = d.Client().Names(ctx, last); err == nil {
			for _, id := range names.Resources {
				list = append(list, before+selection.Exact(id).String())
			}
			for _, term := range names.Terms {
				list = append(list, before+term)
			}
		}
	}
	for _, state := range selection.States() {
		if term := "state:" + state; strings.HasPrefix(term, last) && last != "" {
			list = append(list, before+term)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// Picked returns the resources that a verb shows one by one: word itself, or if word is a pattern, its matches.
// more counts the matches that were omitted.
func Picked(ctx context.Context, who Answerer, word string) (names []string, more int, err error) {
	list, err := who.Choose(ctx, word, cli.MostSelected)
	if err == nil && !list.One {
		return list.Resources, list.All - len(list.Resources), nil
	}
	// The history may know a resource of that very name, or of the one that it is written for.
	sel, _ := selection.Parse(word)
	id, _ := sel.ID()
	for _, name := range []string{word, id} {
		if _, e := who.Why(ctx, name, 1); name != "" && e == nil {
			return []string{name}, 0, nil
		}
	}
	return []string{word}, 0, err
}
