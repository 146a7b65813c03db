package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// Takeover signs what an older mgmt has left unsigned.
type Takeover struct {
	app     *cli.App
	store   sharedStore
	signing remote.Signing
	dry     bool
	yes     bool            // the operator has looked at what it signs
	id      string          // of a store that was made anew
	trusted []deploy.Public // whose signatures count
}

// NewTakeover returns a takeover, which asks and says on the streams of the program.
func NewTakeover(a *cli.App) *Takeover {
	return &Takeover{app: a, store: sharedStore{app: a}, signing: remote.Signing{App: a}}
}

// Flags adds the flags of the key, and what the operator answers.
func (t *Takeover) Flags(cmd *cobra.Command) {
	t.signing.SignFlag(cmd)
	cmd.Flags().BoolVar(&t.yes, "yes", false, "take over what is shown, without asking")
	cmd.Flags().StringVar(&t.id, "store-id", "", "`id` of the store, if the store was recreated and its hosts know one")
}

// planned is what a takeover would sign.
type planned struct {
	hosts   []deploy.HostRecord
	by      map[string]string // how the roles of a host are known
	deploys []deploy.Stored
	rights  []string // the users of etcd that may not read their records yet
	left    []string // what stays as it is, and why
	resign  bool     // the record of the store is that of a key that is to go
}

// Run signs the hosts and deploys of a store: that of a daemon, or the one that direct names. A store in which no host and no deploy is known
// needs no key. It opens the store for itself, and closes it.
func (t *Takeover) Run(ctx context.Context, daemon remote.Daemon, direct *remote.Direct, dry bool) error {
	t.store.daemon, t.store.direct.Place, t.store.direct.Access = daemon, direct.Place, direct.Access
	t.signing.Trust, t.dry = direct.Trust, dry
	return t.store.closing(t.run(ctx))
}

func (t *Takeover) run(ctx context.Context) error {
	w, err := t.store.world(ctx)
	if err != nil {
		return err
	}
	granted, err := t.granted(ctx)
	if err != nil {
		return err
	}
	return t.take(ctx, w, granted)
}

// take is run for a store that is open. granted are the rights of its users.
func (t *Takeover) take(ctx context.Context, w world.World, granted map[string][]etcd.Grant) error {
	s := deploy.Store{World: w}
	claims, err := claimsOf(ctx, w)
	if err != nil {
		return remote.Explained(err)
	}
	history, err := s.History(ctx, "")
	if err != nil {
		return remote.Explained(err)
	}
	reports, err := s.Reports(ctx)
	if err != nil {
		return remote.Explained(err)
	}
	// The daemon of a store in a file is its only host, and encrypts secrets to itself.
	if !t.store.direct.Given() && len(history)+len(reports) == 0 {
		return nil
	}
	key, trusted, err := t.signing.Keys()
	if err != nil {
		return fmt.Errorf("the hosts and the deploys of the store are not taken over: %w", err)
	}
	t.trusted = trusted
	fleet, err := t.signing.Fleet(ctx, w, trusted)
	if err != nil {
		return err
	}
	p := t.plan(fleet, key, granted, claims, history)
	if t.show(fleet, p); t.dry || fleet.Store != "" && !p.resign && len(p.hosts)+len(p.deploys)+len(p.rights) == 0 {
		return nil
	}
	if err := cli.Confirm(t.app, t.yes, "Sign this?"); err != nil {
		return err
	}
	return remote.Explained(t.write(ctx, s, key, p, granted))
}

// granted returns the rights that the operator has given to users of etcd, none for another store.
func (t *Takeover) granted(ctx context.Context) (map[string][]etcd.Grant, error) {
	if !t.store.direct.Given() {
		return nil, nil
	}
	w, err := t.store.etcd(ctx)
	if err != nil {
		return nil, err
	}
	granted, err := w.Granted(ctx)
	return granted, remote.Explained(err)
}

// plan compares what is in the store with what is signed.
func (t *Takeover) plan(fleet *deploy.Fleet, key deploy.Key, granted map[string][]etcd.Grant, claims map[string]claim, history []deploy.Stored) *planned {
	p := &planned{by: map[string]string{}, resign: fleet.Store != "" && !fleet.SignedBy(key.Public(), "")}
	names := slices.Sorted(maps.Keys(claims))
	for name, grants := range granted {
		if slices.ContainsFunc(grants, func(g etcd.Grant) bool { return g.Write && g.Key == deploy.ReportKey(name) }) { // else it is no host
			names = append(names, name)
			if need := etcd.SignedGrants(name); slices.ContainsFunc(need, func(g etcd.Grant) bool { return !slices.Contains(grants, g) }) {
				p.rights = append(p.rights, name)
			}
		}
	}
	slices.Sort(names)
	slices.Sort(p.rights)
	for _, name := range slices.Compact(names) {
		h, known := fleet.Hosts[name]
		grants, user := granted[name]
		switch {
		case fleet.Removed(name), known && fleet.SignedBy(key.Public(), name):
			continue
		case known:
			p.by[name] = "by its record under another key"
		case len(granted) > 0 && !user:
			p.left = append(p.left, fmt.Sprintf("%s is left out: it is no user of the store", render.Cell(name)))
			continue
		case user:
			h.Roles, p.by[name] = etcd.RolesOf(grants), "by its rights in etcd"
		default:
			p.by[name] = "as it says itself"
			said := claims[name]
			h.Roles = said.roles()
			if fleet.Store != "" && t.yes { // no older mgmt has left that, or nobody has looked at it
				p.left = append(p.left, claimsOnly(name, h.Roles))
				continue
			}
		}
		if h.Host = name; !known {
			h.Recipient, h.Sealed = claims[name].Recipient, claims[name].Sealed
		}
		slices.Sort(h.Roles)
		h.Roles = slices.Compact(h.Roles)
		p.hosts = append(p.hosts, h)
	}
	for _, d := range history {
		if d.Err != nil || d.Manifest.Store != "" {
			continue
		}
		if _, err := d.Record.Verify(t.trusted, d.Topic, d.Number); err != nil {
			p.left = append(p.left, fmt.Sprintf("deploy %d to %s stays as it is: %v", d.Number, render.Cell(d.Topic), err))
			continue
		}
		p.deploys = append(p.deploys, d)
	}
	return p
}

// claimsOnly says why a host is left out that nothing but its own word gives a role.
func claimsOnly(name string, roles []string) string {
	way := render.Cell(strings.Join(append([]string{"mgmt hosts allow " + name}, roles...), " --role "))
	return fmt.Sprintf("%s is left out: it says its roles %s itself; %s gives it these, if they are right, and so does migrate without --yes", render.Cell(name), cmp.Or(render.Cells(roles), "(none)"), way)
}

// show writes what is to be signed, for the operator to judge.
func (t *Takeover) show(fleet *deploy.Fleet, p *planned) {
	out := t.app.Err
	if fleet.Store == "" {
		fmt.Fprintf(out, "the store gets the id %s\n", cmp.Or(t.id, "that is made now"))
	}
	for _, h := range p.hosts {
		fmt.Fprintf(out, "%s: roles %s, %s; secrets to %s\n", render.Cell(h.Host), cmp.Or(render.Cells(h.Roles), "none"), p.by[h.Host], render.Cell(cmp.Or(h.Recipient, "nobody, as it has told no key")))
	}
	for _, name := range p.rights {
		fmt.Fprintf(out, "%s: may read its record\n", render.Cell(name))
	}
	for _, d := range p.deploys {
		fmt.Fprintf(out, "deploy %d to %s, of %s by %s: %s\n", d.Number, render.Cell(d.Topic), d.Time.Local().Format("2006-01-02"), render.Cell(d.By), render.Cells(d.Graphs))
	}
	for _, line := range p.left {
		fmt.Fprintln(out, render.Visible(render.OneLine(line)))
	}
}

// write signs. Each step is whole, and a second call does the rest. The hosts of a store without an id come with the id, in one step: later, their own
// word alone would not do.
func (t *Takeover) write(ctx context.Context, s deploy.Store, key deploy.Key, p *planned, granted map[string][]etcd.Grant) error {
	now := clock.System{}.Now()
	for i := range p.hosts {
		p.hosts[i].By, p.hosts[i].Time = remote.Operator(), now
	}
	fleet, err := t.signing.Founded(ctx, s.World, key, t.trusted, t.id, p.hosts...)
	if err != nil {
		return err
	}
	if p.resign {
		if err := s.Resign(ctx, key, fleet, remote.Operator(), now); err != nil {
			return err
		}
	}
	for _, h := range p.hosts {
		if fleet.SignedBy(key.Public(), h.Host) {
			continue // with the id
		}
		if err := s.SetHost(ctx, key, fleet, h); err != nil {
			return fmt.Errorf("the host %s: %w", render.Cell(h.Host), err)
		}
	}
	for _, name := range p.rights {
		w, err := t.store.etcd(ctx)
		if err == nil {
			err = w.Add(ctx, name, etcd.SignedGrants(name)...)
		}
		if err != nil {
			return fmt.Errorf("the host %s has not got the right to read its record: %w", render.Cell(name), err)
		}
	}
	for _, d := range p.deploys {
		if err := s.Adopt(ctx, key, t.trusted, fleet.Store, d, now.Add(acceptance)); err != nil {
			return fmt.Errorf("deploy %d to %s: %w", d.Number, render.Cell(d.Topic), err)
		}
	}
	fmt.Fprintf(t.app.Err, "the store is %s: %s and %s are signed for it\n", fleet.Store, render.Plural(len(p.hosts), "host"), render.Plural(len(p.deploys), "deploy"))
	return nil
}
