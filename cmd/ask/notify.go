package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/internal/show"
	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/host"
)

// NewNotify makes the verb notify and the verbs below it.
func NewNotify(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "List or test who is told of events",
		Long: `Notify is about receivers: the setting notify says who is told of which events, by a
webhook, by mail, by a command or in the log. See docs/notices.md.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNotifyList(a), newNotifyTest(a))
	return cmd
}

// newNotifyList makes the verb that shows the queues of the daemon.
func newNotifyList(a *cli.App) *cobra.Command {
	f := &struct{ remote.Daemon }{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the receivers of the running daemon, with their queues",
		Long: `List shows for each receiver of the running daemon how many messages are queued and
since when, how many were sent, how many tries failed, how many events were dropped,
and the error of the last try.`,
		Example: `  mgmt notify list`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := f.Client().Notices(cmd.Context())
			if err != nil {
				return remote.Explained(err)
			}
			t := render.Table{{"NAME", "TYPE", "QUEUED", "OLDEST", "SENT", "FAILED", "DROPPED", "ERROR"}}
			for _, r := range all.Receivers {
				oldest := "-"
				if !r.Oldest.IsZero() {
					oldest = r.Oldest.Local().Format(time.DateTime)
				}
				t.Row(r.Name, r.Type, r.Queued, oldest, r.Sent, r.Failed, r.Dropped, cmp.Or(render.OneLine(r.Error), "-"))
			}
			return f.Output.Write(a.Out, all.Receivers, func(w io.Writer) error {
				if len(all.Receivers) > 0 {
					return t.Write(w)
				}
				_, err := fmt.Fprintln(w, "the daemon tells nobody of events")
				return err
			})
		},
	}
	f.Flags(cmd, []control.NoticeReceiver{})
	return cmd
}

// notifyTest has the flags of the verb that sends a test.
type notifyTest struct {
	notify string // as notices.Parse takes it
	log    show.Flags
	output cli.Output
}

// TestResult is what came of a test.
type testResult struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// newNotifyTest makes the verb that sends a test. It needs no daemon, so a configuration can be tried before it counts.
func newNotifyTest(a *cli.App) *cobra.Command {
	f := &notifyTest{}
	cmd := &cobra.Command{
		Use:   "test [RECEIVER...]",
		Short: "Send a test message to receivers",
		Long: `Test sends a message to each receiver of the configuration, or to the named ones, and
reports what came of it. It does not ask the daemon, so a new configuration can be
tried before a reload. Each receiver is tried once. The message says that it is a
test, and its filter is not asked. The exit code is 4 if a receiver did not take it.`,
		Example: `  mgmt notify test
  mgmt notify test ops --config new.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	cli.Bind(cmd, "notify", &f.notify)
	inputs.MachineFlags(a, cmd)
	cli.GuardFlag(a, cmd)
	f.log.Flags(cmd)
	cli.Forms(cmd, &f.output, "output format", []testResult{}, "text")
	return cmd
}

func (f *notifyTest) run(ctx context.Context, a *cli.App, names []string) (err error) {
	p := f.log.Presenter(a)
	defer p.Close()
	list, ds := notices.Parse(f.notify)
	if ds.Err() != nil {
		return f.log.Diagnose(a, ds)
	}
	var known []string
	for i := range list {
		known = append(known, list[i].Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no receiver %q%s", name, cli.Meant(name, known))
		}
	}
	if len(list) == 0 {
		return errors.New("there are no receivers: name them with notify: in the configuration file, see docs/notices.md")
	}
	if len(names) > 0 {
		list = slices.DeleteFunc(list, func(r notices.Receiver) bool { return !slices.Contains(names, r.Name) })
	}
	ready, err := notices.Prepare(list, inputs.Surroundings(a).From.Judge)
	if err != nil {
		return err
	}
	h, err := host.New(ctx, host.Options{Logger: p.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	ctx, stop := a.OnSignals(ctx, cli.SignalHooks{Tell: p.Signalled, Abandon: h.KillAll})
	defer stop()
	name := a.Folders.Hostname
	if name == "" {
		name, _ = os.Hostname()
	}
	results, failed := []testResult{}, 0
	for _, r := range ready {
		res := testResult{Name: r.Name, Type: r.Sort(), OK: true}
		if err := r.Test(ctx, notices.Sending{Host: name, Program: a.Program(), Log: p.Logger, Command: h.Command}); err != nil {
			res.OK, res.Error = false, err.Error()
			failed++
		}
		results = append(results, res)
	}
	if err := f.write(a, results); err != nil {
		return err
	}
	if failed > 0 {
		return cli.WithCode(cli.ExitFailed, nil)
	}
	return nil
}

func (f *notifyTest) write(a *cli.App, results []testResult) error {
	t := render.Table{}
	for _, r := range results {
		t.Row(r.Name, r.Type, cmp.Or(render.OneLine(r.Error), "sent"))
	}
	return f.output.Write(a.Out, results, t.Write)
}

// noticesText says who is not told of events.
func noticesText(list []control.NoticeReceiver, s render.Style, now time.Time) string {
	var b strings.Builder
	for _, r := range list {
		var parts []string
		if r.Error != "" {
			parts = append(parts, fmt.Sprintf("not delivered for %s, %d wait: %s", render.RoundTime(now.Sub(r.Since)), r.Queued, render.Visible(r.Error)))
		}
		if r.Dropped > 0 {
			were := "were"
			if r.Dropped == 1 {
				were = "was"
			}
			parts = append(parts, fmt.Sprintf("%s %s dropped", render.Plural(r.Dropped, "event"), were))
		}
		fmt.Fprintf(&b, "%s %s: %s\n", s.Paint(render.Yellow, "notices to"), render.Visible(r.Name), strings.Join(parts, "; "))
	}
	return b.String()
}
