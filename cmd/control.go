package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/selection"
	"github.com/reactivegraph/mgmt/engine/statedir"
)

// socketFlag names the socket of the API.
type socketFlag struct{ daemon.Socket }

// flag adds the flag for the socket of the daemon.
func (f *socketFlag) flag(cmd *cobra.Command) {
	bind(cmd, "socket", (*place)(&f.Path))
	_ = cmd.MarkFlagFilename("socket", "sock")
}

// remote is how a verb reaches the daemon.
type remote struct {
	socket socketFlag
	// The state folder gives one place of the socket, and the history where no daemon answers.
	state  stateFlags
	output choice
}

// flags adds the flags of a verb that asks a daemon.
func (d *remote) flags(cmd *cobra.Command) {
	d.reach(cmd)
	forms(cmd, &d.output, "how to write it", "text")
}

// reach adds the flags that say where the daemon is.
func (d *remote) reach(cmd *cobra.Command) {
	d.socket.flag(cmd)
	d.state.prefixFlag(cmd)
}

// client asks the daemon on the first socket that answers: where one of ours would
// have it, and where the machine's own has it.
// The client tries the places in order.
func (d *remote) client() *control.Client {
	places := d.socket.Places(d.state.Place)
	// An ordinary user without a daemon means that of the machine. A named folder or socket means
	// just that.
	if system := daemon.SystemSocket; len(places) > 0 && d.socket.Path == "" && d.state.Prefix == "" && os.Getenv("MGMT_PREFIX") == "" && !slices.Contains(places, system) {
		places = append(places, system)
	}
	return control.NewClient(places...)
}

// answerer tells past events: it is a daemon, or the history that a daemon has left.
// Verbs such as log and why work with both, so an operator can ask after a crash.
type answerer interface {
	Log(context.Context, control.Query) (*control.Log, error)
	Why(ctx context.Context, resource string, n int) (*control.Why, error)
	// Choose returns the resources of a selection, at most limit.
	Choose(ctx context.Context, selection string, limit int) (*control.Names, error)
}

// ask asks the daemon, and where there is none, the history in the state folder. It says on
// standard error when the answer comes from there; past is true then. A call that names a
// socket asks that daemon only.
func (d *remote) ask(a *app, question func(answerer) error) (past bool, err error) {
	err = question(d.client())
	// A refused right shows that there is a daemon, whose answer is newer than the history on disk.
	if none, ok := errors.AsType[*control.NoDaemonError](err); !ok || d.socket.Path != "" || errors.Is(none, fs.ErrPermission) {
		return false, err
	}
	dir, bad := d.state.Path()
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
	fmt.Fprintf(a.err, "%s: %v; this is the history that the last one has left in %s\n", a.program(), err, dir)
	return true, question(control.Past{History: history})
}

// explained adds the way out to an error where no daemon answers.
func explained(err error) error {
	none, ok := errors.AsType[*control.NoDaemonError](err)
	switch {
	case ok && errors.Is(none, fs.ErrPermission):
		return fmt.Errorf("%w; it answers root, the user that it runs as, and the group that its socket has", none)
	case ok:
		return fmt.Errorf("%w, start one with: mgmt run FILE; or name its socket with --socket", none)
	}
	return err
}

// completeResource completes a selection by asking the daemon: names, kinds, modules and labels, in each term.
// Without a daemon, or when it takes more than 300 ms, the shell gets no names and no
// error.
func (d *remote) completeResource(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionWait)
	defer cancel()
	names, err := d.client().Names(ctx, word)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := append(names.Resources, names.Terms...)
	before, last := selection.Last(word)
	if len(list) == 0 && before != "" {
		if names, err = d.client().Names(ctx, last); err == nil {
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
