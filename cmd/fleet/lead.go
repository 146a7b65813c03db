package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
)

// The time between two looks at the hosts: short where something has moved, and longer in a quiet time.
const (
	// The wait doubles from shortLook to longLook while nothing moves.
	shortLook = 100 * time.Millisecond
	longLook  = time.Second
)

// leader leads deploys: it waits for the hosts, and lets one batch after the other go.
type leader struct {
	app        *cli.App
	signer     *signer
	patience   cli.Seconds // how long one host may take
	missing    cli.Choice  // what becomes of the hosts that have not taken it at the end; the empty word is ok
	undoesLate bool        // --leaving undo is given, and counts for later deploys alone
}

// newLeader returns a leader who gives each host ten minutes.
func newLeader(a *cli.App) leader {
	return leader{app: a, signer: &signer{signing: remote.Signing{App: a}}, patience: cli.Seconds(10 * time.Minute)}
}

// flags adds the flags of the verbs that sign a deploy and lead it.
func (f *leader) flags(cmd *cobra.Command) {
	f.signer.signing.Flags(cmd, "a")
	cmd.Flags().Var(&f.patience, "patience", "how long a host may take before it counts as failed")
}

// lead waits for the hosts, and lets the batches go.
// The first signal ends the wait, and the error then says how to go on. A step of the store that has begun is whole or not at all.
// It holds no lock and no lease: each step compares the revision of the rollout, so a second operator ends this one.
func (f *leader) lead(ctx context.Context, world world.World, l *deploy.Lead) error {
	ctx, stop := f.app.Interruptible(ctx)
	defer stop()
	m := l.Manifest
	verb := "deploy"
	if l.Resumed {
		verb = "goes on: deploy"
	}
	fmt.Fprintf(f.app.Out, "%s %d to %s: %s, %d bytes, %s\n", verb, m.Number, m.Topic, render.Cell(strings.Join(m.Graphs, ", ")), m.Size, render.Cell(m.Digest))
	// A second operator who goes on begins with empty maps, and is told all phases once more.
	w := &waiter{leader: f, world: world, topic: m.Topic, lead: l, since: map[string]time.Time{}, phases: map[string]deploy.Phase{}, away: map[string]bool{}}
	wait := shortLook
	for {
		moved, err := w.look(ctx)
		switch {
		// The new operator leads from here on, so no word about a next batch follows.
		case errors.Is(err, deploy.ErrTaken):
			return err
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("%w; no further batch goes, and the same command goes on with it", remote.Explained(err))
		case l.Rollout.State != deploy.Running:
			return w.end(ctx)
		}
		wait = min(2*wait, longLook)
		if moved {
			wait = shortLook
		}
		if err := clock.Sleep(ctx, clock.System{}, wait); err != nil {
			return fmt.Errorf("interrupted: no further batch of deploy %d goes; the same command goes on with it", m.Number)
		}
	}
}

// waiter is one lead of a rollout.
// Its clock begins with the operator: an operator who goes on gives each host its time again.
type waiter struct {
	*leader
	world world.World
	topic string
	lead  *deploy.Lead
	// Real time, by the clock of this machine. The times of hosts do not count.
	since  map[string]time.Time // when a host was first seen in a batch
	phases map[string]deploy.Phase
	away   map[string]bool // the hosts of the batches that were told to be away
	seen   members
	told   bool      // which hosts claim the topic
	begun  time.Time // of the wait for the hosts that are in no batch; zero before it
}

// look looks at the hosts once, says what has changed, and lets a batch go.
// It asks the store twice, and writes only where the rollout moves.
func (w *waiter) look(ctx context.Context) (moved bool, err error) {
	if w.seen, err = w.signer.members(ctx, w.world, w.topic); err != nil {
		return false, err
	}
	late := w.late()
	if !w.told {
		w.told = true
		w.seen.tellClaims(w.app.Err, w.topic)
	}
	news := w.tell() || w.tellAway(late)
	before := w.lead.Rollout.Hosts
	// Step writes the rollout with a comparison of its revision, so a look that is old writes
	// nothing.
	w.lead.Open = w.awaits(w.missingHosts())
	moved, err = w.lead.Step(ctx, w.seen.topic, w.seen.reports, late)
	if err != nil {
		return false, err
	}
	if more := w.lead.Rollout.Hosts; len(more) > len(before) {
		fmt.Fprintf(w.app.Out, "next: %s\n", render.Cells(more[len(before):]))
	}
	return moved || news, nil
}

// late returns the hosts of the batches that have taken too long.
// A host that is away has its time too: it may be rebooting.
func (w *waiter) late() map[string]bool {
	late, now := map[string]bool{}, clock.System{}.Now()
	for _, host := range w.lead.Rollout.Hosts {
		first, known := w.since[host]
		if !known {
			w.since[host], first = now, now
		}
		late[host] = now.Sub(first) > time.Duration(w.patience)
	}
	return late
}

// tell says which hosts have got further.
// Each phase is told once.
func (w *waiter) tell() (news bool) {
	for _, r := range w.seen.reports {
		if !slices.Contains(w.lead.Rollout.Hosts, r.Host) {
			continue
		}
		st := r.Deploys[w.topic]
		p := w.lead.Rollout.PhaseOf(r.Host, st)
		// A late host that still takes the deploy over stays late, until it has converged or failed.
		if w.phases[r.Host] == p || p == deploy.Waits || p == deploy.Takes && w.phases[r.Host] == deploy.Late {
			continue
		}
		w.phases[r.Host], news = p, true
		switch p {
		case deploy.Failed, deploy.Refused:
			fmt.Fprintf(w.app.Out, "%s %s: %s\n", render.Cell(r.Host), p, withWord(st))
		case deploy.Converged:
			fmt.Fprintf(w.app.Out, "%s %s\n", render.Cell(r.Host), p)
		}
	}
	return news
}

// tellAway says which hosts of the batches are away, and which have taken too long. A host that is away keeps its place: it may reboot,
// and takes the deploy when it is back. Its batch waits for it as long as for any other host.
func (w *waiter) tellAway(late map[string]bool) (news bool) {
	for _, host := range w.lead.Rollout.Hosts {
		if p := w.phases[host]; p != "" && p != deploy.Takes {
			continue
		}
		away := !slices.Contains(w.seen.live, host)
		switch {
		case late[host]:
			why := "it is there, and has not come to rest"
			if away {
				why = "it is away"
			}
			w.phases[host], news = deploy.Late, true
			fmt.Fprintf(w.app.Out, "%s %s: not done after %v; %s\n", render.Cell(host), deploy.Late, time.Duration(w.patience), why)
		case away && !w.away[host]:
			fmt.Fprintf(w.app.Out, "%s is away: its batch waits for it, %v at most\n", render.Cell(host), time.Duration(w.patience))
		}
		w.away[host] = away
	}
	return news
}

// standing returns what a host says of the topic, the zero value for a host without a report.
func (w *waiter) standing(host string) deploy.Standing {
	for _, r := range w.seen.reports {
		if r.Host == host {
			return r.Deploys[w.topic]
		}
	}
	return deploy.Standing{}
}

// missingHosts returns the hosts that should have the deploy and have neither converged with it, nor failed, nor refused it.
func (w *waiter) missingHosts() (list []string) {
	for _, host := range w.seen.all {
		switch w.phases[host] {
		case deploy.Converged, deploy.Failed, deploy.Refused: // also if it works on something else now
			continue
		}
		switch w.lead.Rollout.PhaseOf(host, w.standing(host)) {
		case deploy.Waits, deploy.Takes:
			list = append(list, host)
		}
	}
	return list
}

// awaits reports whether the hosts that can be in no batch are waited for: with --missing wait, for the time that a host may take, which begins
// when the batches are over. A host that has just begun has a lease before it has a report, so it is one of them. Those that come meanwhile are the next batch.
func (w *waiter) awaits(missing []string) bool {
	over := true
	var rest []string
	for _, host := range missing {
		switch in := slices.Contains(w.lead.Rollout.Hosts, host); {
		case !in && !slices.Contains(w.seen.topic, host):
			rest = append(rest, host)
		case !in || w.phases[host] != deploy.Late:
			over = false
		}
	}
	if w.missing.Word != "wait" || len(rest) == 0 {
		return false
	}
	now := clock.System{}.Now()
	if over && w.begun.IsZero() {
		w.begun = now
		fmt.Fprintf(w.app.Out, "waiting for %s, %v at most\n", render.Cells(rest), time.Duration(w.patience))
	}
	return w.begun.IsZero() || now.Sub(w.begun) <= time.Duration(w.patience)
}

// why says why hosts do not have the deploy. The moment when one was last there is by its own clock.
func (w *waiter) why(ctx context.Context, missing []string) string {
	seen, _ := hosts.LastSeen(ctx, w.world) // a store that does not tell it costs the times
	var texts []string
	for _, host := range missing {
		texts = append(texts, w.lacks(host, seen[host], clock.System{}.Now()))
	}
	return strings.Join(texts, ", ")
}

// lacks says why a host does not have the deploy.
func (w *waiter) lacks(host string, seen, now time.Time) string {
	switch {
	case !slices.Contains(w.seen.live, host):
		if d := unseen(seen, now); d != "" {
			return render.Cell(host) + " not seen" + d
		}
		return render.Cell(host) + " not there"
	case !slices.Contains(w.seen.topic, host): // it has no report: it trusts no key, or has just begun
		return render.Cell(host) + " is there, and takes no deploys so far: it needs the public key in its setting trusted_keys"
	}
	return render.Cell(host) + " is there, and has not come to rest"
}

// tellLeft says what has left the graphs of the hosts with the deploy, and what becomes of that work: a line for each resource, whatever the number of hosts.
func (w *waiter) tellLeft() {
	var list []deploy.Left // in the order of the graph before
	stays, more, on := false, 0, map[deploy.Left][]string{}
	for _, r := range w.seen.reports {
		st := r.Deploys[w.topic]
		if st.Number != w.lead.Manifest.Number || w.phases[r.Host] == "" {
			continue
		}
		for _, l := range st.Left {
			if on[l] == nil {
				list = append(list, l)
			}
			on[l] = append(on[l], r.Host)
			stays = stays || !l.Undone
		}
		more = max(more, st.More)
	}
	for _, l := range list {
		where := render.Cells(on[l])
		if n := len(on[l]); n > shownHosts {
			where = render.Plural(n, "host")
		}
		fmt.Fprintf(w.app.Out, "%s %s (%s)\n", render.Cell(l.Resource), render.LeavingText(l.Undone), where)
	}
	if more > 0 {
		fmt.Fprintln(w.app.Out, render.MoreLeaving(more))
	}
	if stays && w.undoesLate {
		fmt.Fprintln(w.app.Err, "--leaving counts for what this deploy makes. What an earlier one has made is undone where that was deployed with --leaving undo, or has leaving: undo in its graph")
	}
}

// shownHosts is how many hosts are named behind a resource that has left.
const shownHosts = 5

// withWord is the error of a host with the word for programs.
func withWord(st deploy.Standing) string {
	if st.Code == "" {
		return render.Cell(st.Error)
	}
	return render.Cell(st.Error) + " (" + render.Cell(st.Code) + ")"
}

// end says what the rollout has led to.
// A stopped rollout is the exit code of failed resources.
// A done rollout is success also where hosts have failed, as long as there are fewer than
// --max-failed. Where hosts are missing, --missing decides.
func (w *waiter) end(ctx context.Context) error {
	n, count := w.lead.Manifest.Number, map[deploy.Phase]int{}
	for _, p := range w.phases {
		count[p]++
	}
	w.tellLeft()
	if w.lead.Rollout.State == deploy.Stopped {
		back := ""
		if base := w.lead.Rollout.Base; base > 0 { // the first deploy of a topic has none before it
			back = fmt.Sprintf(" go back with --back-to %d,", base)
		}
		return cli.WithCode(cli.ExitFailed, fmt.Errorf("deploy %d to %s has stopped: %s failed, and %s; the other hosts keep what they have. "+
			"Correct the graph and deploy it,%s or go on with the same command and a higher --max-failed",
			n, w.topic, render.Plural(count[deploy.Failed]+count[deploy.Refused]+count[deploy.Late], "host"), render.Plural(count[deploy.Converged], "host")+" converged", back))
	}
	if len(w.seen.topic) == 0 {
		fmt.Fprintln(w.app.Err, noHosts(w.topic))
	}
	missing := w.missingHosts()
	if len(missing) == 0 {
		fmt.Fprintf(w.app.Out, "deploy %d to %s is done: %s converged\n", n, w.topic, render.Plural(count[deploy.Converged], "host"))
		return nil
	}
	why := w.why(ctx, missing)
	fmt.Fprintf(w.app.Out, "deploy %d to %s is done: %d of %s converged; %s\n", n, w.topic, count[deploy.Converged], render.Plural(len(w.seen.all), "host"), why)
	if w.missing.Word == "" || w.missing.Word == "ok" {
		return nil
	}
	return cli.WithCode(cli.ExitFailed, fmt.Errorf("not all hosts of %s have deploy %d: %s. A host takes it when it is back; mgmt hosts remove takes one off that does not come back, "+
		"and --missing ok ends with 0", w.topic, n, why))
}
