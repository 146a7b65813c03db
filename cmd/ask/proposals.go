package ask

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
)

// proposalFlags are the flags of the verbs about proposals.
type proposalFlags struct {
	remote.Daemon
	color cli.Choice
}

// NewProposals makes the verb proposals.
func NewProposals(a *cli.App) *cobra.Command {
	f := &proposalFlags{}
	cmd := &cobra.Command{
		Use:   "proposals [NUMBER]",
		Short: "List proposed graphs, or show one as a diff",
		Long: `Proposals lists the graphs that were proposed to the running daemon, such as by an
agent over mgmt mcp, and what became of each. A proposal has no effect until
somebody approves it. The daemon keeps at most 32 that wait, for 30 days.

With a NUMBER, it shows how that graph differs from the daemon's graph file, and the
digest of both, which mgmt approve takes. Only root and the daemon's user may see
that.`,
		Example: `  mgmt proposals
  mgmt proposals 3
  mgmt proposals 3 -o json | jq -r .document | mgmt plan -   # what would it change?`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return f.list(cmd.Context(), a)
			}
			return f.show(cmd.Context(), a, args[0])
		},
	}
	f.Daemon.Reach(cmd)
	cli.Forms(cmd, &f.Output, "output format", cli.OneOf{control.Proposals{}, control.Review{}}, "text")
	cli.ColorFlag(cmd, &f.color)
	return cmd
}

// runProposal approves or rejects a proposed graph.
func (f *decideFlags) runProposal(ctx context.Context, a *cli.App, number string) error {
	id, err := numberOf(number)
	if err == nil && f.approve && f.digest == "" {
		err = fmt.Errorf("missing --digest: mgmt proposals %d shows it, with what would change", id)
	}
	if err != nil {
		return err
	}
	if f.approve {
		v, err := f.Client().Approve(ctx, id, control.ApproveRequest{Digest: f.digest, Reason: f.reason})
		return f.end(ctx, a, v, err)
	}
	p, err := f.Client().Reject(ctx, id, control.RejectRequest{Reason: f.reason})
	if err != nil {
		return remote.Explained(err)
	}
	return f.Output.Write(a.Out, p, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "proposal %d is rejected\n", p.ID)
		return err
	})
}

func isNumber(word string) bool { return strings.Trim(word, "0123456789") == "" }

// numberOf reads the number of a proposal.
func numberOf(word string) (int, error) {
	id, err := strconv.Atoi(word)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%q is no number of a proposal: mgmt proposals lists them", word)
	}
	return id, nil
}

// list lists the proposals.
func (f *proposalFlags) list(ctx context.Context, a *cli.App) error {
	all, err := f.Client().Proposals(ctx)
	if err != nil {
		return remote.Explained(err)
	}
	var b strings.Builder
	for _, p := range all.Proposals {
		f.head(a, &b, &p)
	}
	if len(all.Proposals) == 0 {
		b.WriteString("nothing is proposed\n")
	}
	return f.write(a, all, b.String())
}

// head says what a proposal is, on a line, and what became of it.
func (f *proposalFlags) head(a *cli.App, b *strings.Builder, p *control.Proposal) {
	s := cli.StyleOf(f.color, a)
	by := p.By
	if p.Agent != "" {
		by = fmt.Sprintf("%q for %s", p.Agent, p.By)
	}
	fmt.Fprintf(b, "%d %s %s by %s: %s\n", p.ID, p.State, s.Dim(s.Moment(p.At)), render.Visible(by), render.Visible(p.Reason))
	if d := p.Decided; d != nil {
		fmt.Fprintf(b, "    %s %s by %s", p.State, s.Moment(d.At), render.Visible(d.By))
		if d.Generation > 0 {
			fmt.Fprintf(b, ", generation %d", d.Generation)
		}
		if d.Reason != "" {
			b.WriteString(": " + render.Visible(d.Reason))
		}
		b.WriteString("\n")
	}
}

// show shows one with the diff to the graph file.
func (f *proposalFlags) show(ctx context.Context, a *cli.App, word string) error {
	id, err := numberOf(word)
	if err != nil {
		return err
	}
	r, err := f.Client().Review(ctx, id)
	if err != nil {
		return remote.Explained(err)
	}
	var b strings.Builder
	f.head(a, &b, &r.Proposal)
	fmt.Fprintf(&b, "%s: %s\n", render.Visible(r.Path), render.LineCounts(r.Current, r.Document))
	render.WriteDiff(&b, cli.StyleOf(f.color, a), r.Current, r.Document)
	// Nobody is to approve what he has not seen.
	if strings.HasSuffix(b.String(), " more lines)\n") || strings.HasSuffix(b.String(), "not text)\n") {
		fmt.Fprintf(&b, "that is not all of it: mgmt proposals %d -o json has both texts, and the digest\n", r.ID)
	} else {
		fmt.Fprintf(&b, "to put it into effect: mgmt approve %d --digest %s\n", r.ID, r.Digest)
	}
	return f.write(a, r, b.String())
}

// write writes a document, or the text of it.
func (f *proposalFlags) write(a *cli.App, doc any, text string) error {
	return f.Output.Write(a.Out, doc, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
