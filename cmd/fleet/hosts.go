package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// hostsFlags are those of the verb hosts.
// The flags --socket and --world exclude each other: one of them answers.
type hostsFlags struct {
	remote.Daemon
	store remote.Direct
}

// NewHosts makes the verb for the hosts that share a store. Its own verbs are in files of their own.
func NewHosts(a *cli.App) *cobra.Command {
	f := &hostsFlags{}
	cmd := &cobra.Command{
		Use:   "hosts [NAME...]",
		Short: "Show the hosts that share a store, and their states",
		Long: `Hosts shows the hosts that share the store of the running daemon, or of --world: those that
are present, and absent ones that have a record from mgmt hosts allow. A host that dies is
gone once its lease ends, and stays listed until mgmt hosts remove. With names, only these
hosts are shown. JSON and YAML include the facts of each host.

With --server, hosts asks the daemon of another machine, which answers from the tables
hosts, admitted and seen: see mgmt api list hosts.

A host is converged if all resources are as declared, failing if some failed or are
blocked, and working until its graph has settled. For a gone host, SINCE is when it last
reported, by its own clock; hosts report every minute and when their daemon stops.

The exit code is 4 if a host is gone, and 1 if a named host is neither present nor has a
record.`,
		Example: `  mgmt hosts
  mgmt hosts web1 -o yaml
  mgmt hosts --world etcd://192.0.2.1:2379 --cert me.pem --key me.key --ca ca.pem -o json
  mgmt hosts --server web1.example.org:7443 --cert me.pem --key me.key --ca ca.pem`,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			// The flags before the cursor are parsed already, so the completion asks the same store
			// as the verb.
			return f.names(cmd.Context(), a), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	f.Reach(cmd)
	cli.Forms(cmd, &f.Output, "how to write them", control.Hosts{}, "table")
	f.store.ServerFlags(cmd)
	cli.Exclude(cmd, "world", "socket")
	cli.Exclude(cmd, "server", "socket")
	cmd.AddCommand(newHostsAllow(a), newHostsProtect(a), newHostsAdmit(a), newHostsRemove(a))
	return cmd
}

// names offers the hosts to the shell.
// A daemon or a store that does not answer offers nothing, since a shell shows no errors.
func (f *hostsFlags) names(ctx context.Context, a *cli.App) (list []cobra.Completion) {
	all, err := f.ask(ctx, a)
	if err != nil {
		return nil
	}
	for _, h := range all.Hosts {
		list = append(list, h.Name)
	}
	return list
}

// ask returns the hosts, from the store or from the daemon.
// A store that is opened here is closed before it returns.
func (f *hostsFlags) ask(ctx context.Context, a *cli.App) (*control.Hosts, error) {
	if f.store.Server != "" {
		return f.askServer(ctx)
	}
	if !f.store.Given() {
		return f.Client().Hosts(ctx)
	}
	w, err := f.store.Open(ctx, a)
	if err != nil {
		return nil, err
	}
	all, err := control.ReadHosts(ctx, w)
	if err := errors.Join(err, f.store.Close()); err != nil {
		return nil, fmt.Errorf("--world=%s: %w", f.store.Place, err)
	}
	return all, nil
}

// askServer reads the hosts from the daemon of another machine, which serves the objects alone.
func (f *hostsFlags) askServer(ctx context.Context) (*control.Hosts, error) {
	t, err := f.store.ServerTransport()
	if err != nil {
		return nil, err
	}
	list := func(table string, each func(api.Object) error) error {
		for o, err := range (&api.Client{HTTP: t}).List(ctx, table, nil) {
			if err != nil {
				return remote.Explained(err)
			}
			if err := each(o); err != nil {
				return fmt.Errorf("--server=%s: %w", f.store.Server, err)
			}
		}
		return nil
	}
	// The records come first: a host that comes meanwhile is there.
	var admitted []string
	seen := map[string]time.Time{}
	unread := list(kinds.AdmittedTable, func(o api.Object) error {
		name, _ := o["id"].(string)
		admitted = append(admitted, name)
		return nil
	})
	if unread == nil {
		unread = list(kinds.SeenTable, func(o api.Object) (err error) {
			name, _ := o["id"].(string)
			text, _ := o["time"].(string)
			seen[name], err = time.Parse(time.RFC3339Nano, text)
			return err
		})
	}
	p, ok := errors.AsType[*httpd.Problem](unread)
	lacks := ok && (p.Status == http.StatusUnprocessableEntity || p.Status == http.StatusNotFound)
	if unread != nil && !lacks {
		return nil, unread
	}
	all := &control.Hosts{Hosts: []control.Host{}}
	err = list(hosts.TableName, func(o api.Object) error {
		h, err := hostOf(o)
		all.Hosts = append(all.Hosts, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	if lacks { // an older mgmt runs there, or has the rights that one has given
		all.Incomplete = fmt.Sprintf("hosts that are gone are missing here: %s does not tell of them (%v)", f.store.Server, unread)
		return all, nil
	}
	all.AddGone(admitted, seen)
	return all, nil
}

// hostOf returns an object of the table hosts as a host. The words of both are the same, but for the name and the
// version of mgmt: the word version stands for that of an object.
func hostOf(o api.Object) (h control.Host, err error) {
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	h.Name, _ = o["id"].(string)
	h.Version, _ = o["release"].(string)
	return h, err
}

// run writes the hosts, and tells of missing ones.
// Hosts that are there are written all the same.
// The exit code is 1 where a named host is not there, so a script can wait for a host.
func (f *hostsFlags) run(ctx context.Context, a *cli.App, names []string) error {
	all, err := f.ask(ctx, a)
	if err != nil {
		return err
	}
	var absent []error
	if len(names) > 0 {
		all, absent = pick(all, names)
	} else if len(all.Hosts) == 0 {
		fmt.Fprintln(a.Err, "No host is there: the daemon has not used its store yet, or no daemon runs with this one.")
	}
	if all.Incomplete != "" {
		fmt.Fprintln(a.Err, render.Visible(all.Incomplete))
	}
	err = f.Output.Write(a.Out, all, func(w io.Writer) error { return writeHosts(w, all, clock.System{}.Now()) })
	if err := errors.Join(append(absent, err)...); err != nil {
		return err
	}
	return goneError(all)
}

// goneError tells of the hosts that are gone; nil for none.
func goneError(all *control.Hosts) error {
	var gone []string
	for _, h := range all.Hosts {
		if h.State == control.Gone {
			gone = append(gone, h.Name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return cli.WithCode(cli.ExitFailed, fmt.Errorf("not there: %s; start mgmt on a host that is to come back, and take another one off the list by mgmt hosts remove", render.Cells(gone)))
}

// unseen says for how long a host was not seen, as " for 5m0s". It is empty where that is not known: for a host that was never there, and since
// the clocks of two machines differ, so that the time may lie ahead.
func unseen(seen, now time.Time) string {
	if d := now.Sub(seen); !seen.IsZero() && d >= time.Second {
		return " for " + d.Round(time.Second).String()
	}
	return ""
}

// pick returns the hosts of these names, and an error for each that is not there.
// The order is that of the names, so a script can rely on it.
func pick(all *control.Hosts, names []string) (some *control.Hosts, absent []error) {
	there := map[string]control.Host{}
	for _, h := range all.Hosts {
		there[h.Name] = h
	}
	some = &control.Hosts{Hosts: []control.Host{}, Incomplete: all.Incomplete}
	for _, name := range names {
		if h, ok := there[name]; ok {
			some.Hosts = append(some.Hosts, h)
		} else {
			absent = append(absent, fmt.Errorf("the host %s is not there, and no mgmt hosts allow has given it a record here", render.Cell(name)))
		}
	}
	return some, absent
}

// writeHosts writes a table. Values come from the store, so their control characters are shown and not obeyed.
// Without hosts the output is empty.
func writeHosts(w io.Writer, all *control.Hosts, now time.Time) error {
	if len(all.Hosts) == 0 {
		return nil
	}
	t := render.Table{{"HOST", "STATE", "SINCE", "OK", "FAILED", "BLOCKED", "OTHER", "GRAPH", "VERSION"}}
	for _, h := range all.Hosts {
		if h.State == control.Gone { // what it had is not known
			state := "gone" + unseen(h.Since, now)
			if h.Since.IsZero() {
				state = "gone, and was never there"
			}
			t.Row(h.Name, state, timeText(h.Since), "-", "-", "-", "-", "-", "-")
			continue
		}
		// A host of a newer version may have a record that this program cannot read.
		t.Row(h.Name, cmp.Or(h.State, "unreadable"), timeText(h.Since), h.OK, h.Failed, h.Blocked, h.Other, cmp.Or(h.Graph, "-"), cmp.Or(h.Version, "-"))
	}
	return t.Write(w)
}

// timeText writes a time for people, and - for none.
// It is the time of the zone where the verb runs, as in mgmt log.
func timeText(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.Local().Format(time.DateTime)
}
