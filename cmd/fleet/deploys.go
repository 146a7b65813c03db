package fleet

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// deployRow is a deploy of the list.
// Its keys in JSON are those of the manifest, and then these.
type deployRow struct {
	deploy.Manifest
	Key   string       `json:"key"`
	State deploy.State `json:"state,omitempty"` // of the newest of its topic
	Error string       `json:"error,omitempty"` // why its record cannot be read
}

// hostRow is how the deploys of one topic stand on a host.
// The standing is the report of the host itself.
type hostRow struct {
	Host  string `json:"host"`
	Topic string `json:"topic"`
	deploy.Standing
}

// deploysJSON is what deploys writes in JSON.
type deploysJSON struct {
	Deploys []deployRow `json:"deploys"`
	Hosts   []hostRow   `json:"hosts"`
}

// deploysFlags are those of the verb deploys.
type deploysFlags struct {
	app   *cli.App
	store sharedStore
	topic string // empty for all
}

// NewDeploys makes the verb that lists the deploys.
// It verifies no signature: the operator may trust other keys than the hosts, and their verdict counts.
// A host whose report cannot be read has no row here.
func NewDeploys(a *cli.App) *cobra.Command {
	f := &deploysFlags{app: a, store: sharedStore{app: a}}
	var keep int
	cmd := &cobra.Command{
		Use:   "deploys",
		Short: "List deploys, and the deploy of each host",
		Long: `Deploys lists the deploys in the store, oldest first, then each host with the deploy that
is in effect there, and why the host refused one. The newest deploy of a topic has a state:
running, stopped or done.

With --prune, it first deletes old deploys and their files, and keeps that many of each
topic. It never deletes a deploy in effect on a host, or one that the newest may go back to.`,
		Example: "  mgmt deploys\n  mgmt deploys --to group:web -o json\n  mgmt deploys --prune 20",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// A given zero is an error, so the flag is asked for and not its value.
			if cmd.Flags().Changed("prune") {
				if err := f.prune(cmd.Context(), keep); err != nil {
					return f.store.closing(err)
				}
			}
			return f.store.closing(f.history(cmd.Context()))
		},
	}
	f.store.daemon.Flags(cmd, deploysJSON{})
	f.store.direct.Flags(cmd)
	cmd.Flags().StringVar(&f.topic, "to", "", "show only deploys to this `topic`")
	cmd.Flags().IntVar(&keep, "prune", 0, "delete old deploys, and keep this `number` of each topic")
	return cmd
}

// prune deletes the old deploys of one topic, or of all. Its words go to the second output, since a program reads the first.
// It stops at the first topic that fails; a second call goes on with the rest.
// A topic with a deploy under way is an error of deploy.ErrBusy, see deploy.Store.Prune.
func (f *deploysFlags) prune(ctx context.Context, keep int) error {
	if keep < 1 {
		return fmt.Errorf("--prune=%d: write how many deploys of each topic to keep, at least 1", keep)
	}
	world, err := f.store.world(ctx)
	if err != nil {
		return err
	}
	s, topics := deploy.Store{World: world}, []string{f.topic}
	if f.topic == "" {
		if topics, err = s.Topics(ctx); err != nil {
			return remote.Explained(err)
		}
	}
	for _, topic := range topics {
		gone, err := s.Prune(ctx, topic, keep)
		if err != nil {
			return fmt.Errorf("the deploys to %s: %w", topic, remote.Explained(err))
		}
		if len(gone) > 0 {
			fmt.Fprintf(f.app.Err, "deleted %s to %s\n", render.Plural(len(gone), "old deploy"), render.Cell(topic))
		}
	}
	return nil
}

// history lists deploys and hosts.
// A record that cannot be read is a row with its error, and hides no other.
func (f *deploysFlags) history(ctx context.Context) error {
	world, err := f.store.world(ctx)
	if err != nil {
		return err
	}
	s := deploy.Store{World: world}
	list, err := s.History(ctx, f.topic)
	if err != nil {
		return remote.Explained(err)
	}
	states := map[string]deploy.Rollout{}
	var rows []deployRow
	for _, d := range list {
		if _, known := states[d.Topic]; !known {
			if states[d.Topic], err = s.Rollout(ctx, d.Topic); err != nil {
				states[d.Topic] = deploy.Rollout{} // the list goes on: the hosts say why they refuse it
			}
		}
		row := deployRow{Manifest: d.Manifest, Key: d.Record.Key}
		// The store has one rollout for each topic, that of the newest deploy.
		if r := states[d.Topic]; r.Number == d.Number {
			row.State = r.State
		}
		if d.Err != nil {
			row.Error = d.Err.Error()
		}
		rows = append(rows, row)
	}
	reports, err := s.Reports(ctx)
	if err != nil {
		return remote.Explained(err)
	}
	return f.show(rows, f.hostRows(reports))
}

// hostRows returns the standings of the hosts, sorted by host and topic.
// A host that has taken no deploy yet has no row.
func (f *deploysFlags) hostRows(reports []deploy.Report) (rows []hostRow) {
	for _, r := range reports {
		for topic, st := range r.Deploys {
			if (f.topic == "" || f.topic == topic) && (st.Number > 0 || st.Refused > 0) {
				rows = append(rows, hostRow{r.Host, topic, st})
			}
		}
	}
	sorted.Func(rows, func(a, b hostRow) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Topic, b.Topic)) })
	return rows
}

// show writes both lists.
// Texts of hosts and operators are one line each, so none of them forges a row.
func (f *deploysFlags) show(rows []deployRow, hosts []hostRow) error {
	t := render.Table{{"TOPIC", "NUMBER", "TIME", "BY", "GRAPHS", "STATE"}}
	for _, r := range rows {
		graphs := strings.Join(r.Graphs, " ")
		if r.BackTo > 0 {
			graphs += " (back to " + strconv.FormatInt(r.BackTo, 10) + ")"
		}
		t.Row(render.OneLine(r.Topic), r.Number, r.Time.Local().Format(time.DateTime), render.OneLine(r.By), render.OneLine(graphs), render.OneLine(cmp.Or(string(r.State), r.Error)))
	}
	if len(hosts) > 0 {
		t.Row() // the columns of the hosts are their own
		t.Row("HOST", "TOPIC", "NUMBER", "STATE", "ERROR")
	}
	for _, h := range hosts {
		why := withWord(h.Standing)
		if h.Refused > 0 {
			why = fmt.Sprintf("refuses %d: %s", h.Refused, why)
		}
		t.Row(render.OneLine(h.Host), render.OneLine(h.Topic), h.Number, render.OneLine(h.State), why)
	}
	return f.store.daemon.Output.Write(f.app.Out, deploysJSON{rows, hosts}, t.Write)
}
