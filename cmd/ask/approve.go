package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Decided is the document of approve and reject for changes.
type Decided struct {
	Resources []string           `json:"resources"`         // whose changes were approved or rejected
	Others    []string           `json:"others,omitempty"`  // those of them that others have to approve, too
	Waiting   []control.Resource `json:"waiting,omitempty"` // without a selection: what waits for an approval
}

// decideFlags are the flags of approve and reject. A number names a proposed graph, all else changes of resources.
type decideFlags struct {
	verdictFlags
	approve        bool
	yes            bool
	digest, reason string
}

// NewApprove makes the verb approve.
func NewApprove(a *cli.App) *cobra.Command {
	f := &decideFlags{approve: true}
	cmd := &cobra.Command{
		Use:   "approve [SELECTION... | NUMBER]",
		Short: "Approve changes or a proposed graph, or list what waits",
		Long: `Approve lets the running daemon make changes of the selected resources that wait for
an approval, since a resource has drift: ask, or the setting approve or a rule of the
policy names them. Where a rule asks for several persons, each of them approves, and who
has applied the graph is none of them. An approval that is not used expires. It
shows each change first, and asks on a terminal; elsewhere --yes answers, or --digest,
which approves one change that was seen before. If a resource wants to change something
else by then, nothing is changed, and that waits. Without a selection, approve lists
what waits.

With the NUMBER of a proposal, approve puts that graph into effect, as mgmt apply does,
with its exit codes. The digest is the one that mgmt proposals NUMBER shows with the
diff. If the daemon's graph file was changed since, nothing happens: read the diff
again. Only root and the daemon's user may approve a graph.

` + cli.SelectionHelp,
		Example: `  mgmt approve
  mgmt approve 'file[/etc/motd]' --reason 'ticket 4711'
  mgmt approve 'svc[nginx]' --digest 5f0c6a3be1d2a974
  mgmt proposals 3
  mgmt approve 3 --digest 0b6c4f1d8e2a9375 --reason "discussed with ops"`,
		Args:              resourceArgs,
		ValidArgsFunction: f.CompleteResources,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	f.flags(cmd, Decided{}, control.Verdict{}, control.Status{})
	f.waitFlag(cmd)
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return cmd
}

// NewReject makes the verb reject.
func NewReject(a *cli.App) *cobra.Command {
	f := &decideFlags{yes: true}
	cmd := &cobra.Command{
		Use:   "reject {SELECTION... | NUMBER}",
		Short: "Reject changes that wait for an approval, or a proposed graph",
		Long: `Reject keeps the running daemon from making the changes of the selected resources that
wait for an approval. They stay held, also over restarts, until the resource wants to
change something else, which is asked about anew, or until mgmt approve.

With the NUMBER of a proposal, reject ends it: it can't be approved any more. Only root
and the daemon's user may do that.

` + cli.SelectionHelp,
		Example: `  mgmt reject 'file[/etc/motd]' --reason 'the new text is wanted'
  mgmt reject module:web
  mgmt reject 3 --reason "the port is wrong"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("reject needs a selection, or the number of a proposal: mgmt approve and mgmt proposals list what waits")
			}
			return resourceArgs(cmd, args)
		},
		ValidArgsFunction: f.CompleteResources,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	f.flags(cmd, Decided{}, control.Proposal{})
	return cmd
}

func (f *decideFlags) flags(cmd *cobra.Command, docs ...any) {
	f.Daemon.Flags(cmd, cli.OneOf(docs))
	cli.ColorFlag(cmd, &f.color)
	cmd.Flags().StringVar(&f.digest, "digest", "", "the `digest` of what you have seen; another one is an error")
	cmd.Flags().StringVar(&f.reason, "reason", "", "reason for the decision, a `text` for the history")
}

// run decides on a proposed graph, or on what waits of a selection. Where nothing waits that is no error.
func (f *decideFlags) run(ctx context.Context, a *cli.App, args []string) error {
	if len(args) == 1 && isNumber(args[0]) {
		return f.runProposal(ctx, a, args[0])
	}
	waiting, err := f.waiting(ctx, args)
	if err != nil {
		return err
	}
	if len(args) == 0 && f.digest == "" {
		return f.Output.Write(a.Out, Decided{Resources: []string{}, Waiting: waiting}, func(w io.Writer) error { return f.show(a, w, waiting) })
	}
	done := &control.Decided{Resources: []string{}}
	if len(waiting) > 0 {
		if err := f.confirm(a, waiting); err != nil {
			return err
		}
		if done, err = f.Client().Decide(ctx, control.DecideRequest{Approve: f.approve, Changes: namesOf(waiting), Reason: f.reason}); err != nil {
			return remote.Explained(err)
		}
	}
	return f.Output.Write(a.Out, Decided{Resources: done.Resources, Others: done.Others}, func(w io.Writer) error {
		switch {
		case len(done.Resources) == 0:
			_, err := fmt.Fprintln(w, "of the selection nothing waits for an approval")
			return err
		case f.approve:
			made := slices.DeleteFunc(slices.Clone(done.Resources), func(id string) bool { return slices.Contains(done.Others, id) })
			return errors.Join(writeEach(w, made, "is approved"), writeEach(w, done.Others, "is approved by you, and waits for others"))
		}
		return writeEach(w, done.Resources, "is rejected")
	})
}

// waiting asks for the resources of a selection whose changes wait for an approval, and have the digest where one is given.
func (f *decideFlags) waiting(ctx context.Context, args []string) (list []control.Resource, err error) {
	status, err := f.Client().Status(ctx, control.StatusQuery{States: []string{resgraph.StateHeld.String()}, Select: strings.Join(args, ","), Empty: true})
	if err != nil {
		return nil, remote.Explained(err)
	}
	for _, r := range status.Resources {
		if r.Held != nil && r.Held.Limit == reactor.LimitApproval && (f.digest == "" || r.Held.Digest == f.digest) {
			list = append(list, r)
		}
	}
	if len(list) == 0 && f.digest != "" {
		return nil, fmt.Errorf("no change %s of the selection waits for an approval: mgmt approve lists what does", f.digest)
	}
	return list, nil
}

// confirm shows changes that nobody has said to have seen, and asks.
func (f *decideFlags) confirm(a *cli.App, waiting []control.Resource) error {
	if f.yes || f.digest != "" {
		return nil
	}
	if slices.ContainsFunc(waiting, func(r control.Resource) bool { return r.Held.Omitted }) {
		return errors.New("too many changes wait to show them: select fewer, or approve them unseen with --yes")
	}
	if err := f.show(a, a.Err, waiting); err != nil {
		return err
	}
	return cli.Confirm(a, false, "Approve this?")
}

// namesOf names changes by their digests.
func namesOf(list []control.Resource) (names []reactor.Proposal) {
	for i := range list {
		names = append(names, reactor.Proposal{Resource: list[i].Resource, Digest: list[i].Held.Digest})
	}
	return names
}

// show writes what each resource wants to change, with the differences of texts.
func (f *decideFlags) show(a *cli.App, w io.Writer, list []control.Resource) error {
	var b strings.Builder
	s := cli.StyleOf(f.color, a)
	for i := range list {
		r := &list[i]
		fmt.Fprintf(&b, "%s: %s (%s)\n", s.Name(render.Visible(r.Resource)), render.Visible(r.Held.Reason), r.Held.Digest)
		if r.Held.Omitted {
			b.WriteString("  too many wait: select fewer to see what it would change\n")
		}
		render.WriteChanges(&b, s, r.Held.Changes)
	}
	if len(list) == 0 {
		b.WriteString("nothing waits for an approval\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
