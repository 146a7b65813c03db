package cmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// newAPIMigrate makes the verb that brings a store to the form of this program: its records to the schemas of the daemon, and then its hosts and
// deploys to what the operator signs.
// It may be called again after an interruption.
// With --dry-run it counts and shows, and writes nothing.
// Each daemon reads old records all the same: the verb only ends the work of doing so at each read.
func newAPIMigrate(a *app) *cobra.Command {
	f := &apiFlags{app: a}
	t := &takeover{deployFlags: deployFlags{signing: signing{app: a}}}
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring a store to the form of this mgmt", Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Migrate rewrites each record that an older version has written, as the daemon
would read it. A step that fails leaves every record as it was. Records that
only a newer version reads, and broken ones, are told and left alone.

It then takes over the hosts and the deploys of an older mgmt, which believed what
hosts say of themselves. Your deploy key signs the id of the store, and a record
of each host with its roles and the key that its secrets are encrypted to. The
roles are those of the host's rights in etcd; in a store without users they are
what the host says. Migrate shows all of that and asks. In a store that has an id
already, --yes does not answer for what hosts say. Deploys that your key, or
one of --trust, has signed are signed again, for this store: their numbers stay,
and the hosts that have them do nothing. Hosts of both versions may share the
store before and after it. Records that another key of --trust has signed are
signed again by yours: so an operator gets a new key before the old one goes.`,
	}
	f.verb(cmd, func(ctx context.Context, _ []string) error {
		t.remote, t.store.place, t.store.access = f.remote, f.store.place, f.store.access
		t.trust = f.store.trust
		err := f.migrate(ctx, t.dry)
		if err == nil && f.store.server == "" {
			err = t.closing(t.run(ctx))
		}
		return err
	})
	dryFlag(cmd, &t.dry)
	t.signFlag(cmd)
	cmd.Flags().BoolVar(&t.yes, "yes", false, "take over what is shown, without a question")
	cmd.Flags().StringVar(&t.id, "store-id", "", "the `id` of the store, where it was made anew and its hosts know one")
	return cmd
}

// migrate brings the records of objects to the schemas of the daemon.
func (f *apiFlags) migrate(ctx context.Context, dry bool) error {
	var done []api.Migrated
	q := api.Request{Method: http.MethodPost, Path: "/v1/api:migrate", Query: dryRun(dry)}
	if _, err := f.client().Ask(ctx, q, &done); err != nil {
		return err
	}
	if f.output.word != "table" {
		return f.write(done)
	}
	rows := [][]string{{"TABLE", "MIGRATED", "NEWER", "BROKEN"}}
	for _, m := range done {
		rows = append(rows, []string{m.Table, strconv.Itoa(m.Records), strings.Join(m.Newer, " "), strings.Join(m.Broken, " ")})
	}
	return f.rows(rows)
}

// takeover signs what an older mgmt has left unsigned.
type takeover struct {
	deployFlags
	yes bool
	id  string
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

// run signs the hosts and deploys of a store. A store in which no host and no deploy is known needs no key.
func (t *takeover) run(ctx context.Context) error {
	w, err := t.world(ctx)
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
func (t *takeover) take(ctx context.Context, w engine.World, granted map[string][]etcd.Grant) error {
	s := deploy.Store{World: w}
	claims, err := claimsOf(ctx, w)
	if err != nil {
		return explained(err)
	}
	history, err := s.History(ctx, "")
	if err != nil {
		return explained(err)
	}
	reports, err := s.Reports(ctx)
	if err != nil {
		return explained(err)
	}
	// The daemon of a store in a file is its only host, and encrypts secrets to itself.
	if !t.store.given() && len(history)+len(reports) == 0 {
		return nil
	}
	key, trusted, err := t.keys()
	if err != nil {
		return fmt.Errorf("the hosts and the deploys of the store are not taken over: %w", err)
	}
	t.trusted = trusted
	fleet, err := t.fleet(ctx, w, trusted)
	if err != nil {
		return err
	}
	p := t.plan(fleet, key, granted, claims, history)
	if t.show(fleet, p); t.dry || fleet.Store != "" && !p.resign && len(p.hosts)+len(p.deploys)+len(p.rights) == 0 {
		return nil
	}
	if err := t.confirm(t.yes, "Sign this?"); err != nil {
		return err
	}
	return explained(t.write(ctx, s, key, p, granted))
}

// granted returns the rights that the operator has given to users of etcd, none for another store.
func (t *takeover) granted(ctx context.Context) (map[string][]etcd.Grant, error) {
	if !t.store.given() {
		return nil, nil
	}
	w, err := t.store.open(ctx, t.app)
	if err != nil {
		return nil, err
	}
	granted, err := w.Granted(ctx)
	return granted, explained(err)
}

// plan compares what is in the store with what is signed.
func (t *takeover) plan(fleet *deploy.Fleet, key deploy.Key, granted map[string][]etcd.Grant, claims map[string]claim, history []deploy.Stored) *planned {
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
			p.left = append(p.left, fmt.Sprintf("%s is left out: it is no user of the store", cell(name)))
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
			p.left = append(p.left, fmt.Sprintf("deploy %d to %s stays as it is: %v", d.Number, cell(d.Topic), err))
			continue
		}
		p.deploys = append(p.deploys, d)
	}
	return p
}

// claimsOnly says why a host is left out that nothing but its own word gives a role.
func claimsOnly(name string, roles []string) string {
	way := cell(strings.Join(append([]string{"mgmt hosts allow " + name}, roles...), " --role "))
	return fmt.Sprintf("%s is left out: it says its roles %s itself; %s gives it these, if they are right, and so does migrate without --yes", cell(name), cmp.Or(cells(roles), "(none)"), way)
}

// show writes what is to be signed, for the operator to judge.
func (t *takeover) show(fleet *deploy.Fleet, p *planned) {
	out := t.app.err
	if fleet.Store == "" {
		fmt.Fprintf(out, "the store gets the id %s\n", cmp.Or(t.id, "that is made now"))
	}
	for _, h := range p.hosts {
		fmt.Fprintf(out, "%s: roles %s, %s; secrets to %s\n", cell(h.Host), cmp.Or(cells(h.Roles), "none"), p.by[h.Host], cell(cmp.Or(h.Recipient, "nobody, as it has told no key")))
	}
	for _, name := range p.rights {
		fmt.Fprintf(out, "%s: may read its record\n", cell(name))
	}
	for _, d := range p.deploys {
		fmt.Fprintf(out, "deploy %d to %s, of %s by %s: %s\n", d.Number, cell(d.Topic), d.Time.Local().Format("2006-01-02"), cell(d.By), cells(d.Graphs))
	}
	for _, line := range p.left {
		fmt.Fprintln(out, visible(oneLine(line)))
	}
}

// write signs. Each step is whole, and a second call does the rest. The hosts of a store without an id come with the id, in one step: later, their own
// word alone would not do.
func (t *takeover) write(ctx context.Context, s deploy.Store, key deploy.Key, p *planned, granted map[string][]etcd.Grant) error {
	now := engine.SystemClock{}.Now()
	for i := range p.hosts {
		p.hosts[i].By, p.hosts[i].Time = operator(), now
	}
	fleet, err := t.founded(ctx, s.World, key, t.trusted, t.id, p.hosts...)
	if err != nil {
		return err
	}
	if p.resign {
		if err := s.Resign(ctx, key, fleet, operator(), now); err != nil {
			return err
		}
	}
	for _, h := range p.hosts {
		if fleet.SignedBy(key.Public(), h.Host) {
			continue // with the id
		}
		if err := s.SetHost(ctx, key, fleet, h); err != nil {
			return fmt.Errorf("the host %s: %w", cell(h.Host), err)
		}
	}
	for _, name := range p.rights {
		w, err := t.store.open(ctx, t.app)
		if err == nil {
			err = w.Add(ctx, name, etcd.SignedGrants(name)...)
		}
		if err != nil {
			return fmt.Errorf("the host %s has not got the right to read its record: %w", cell(name), err)
		}
	}
	for _, d := range p.deploys {
		if err := s.Adopt(ctx, key, t.trusted, fleet.Store, d, now.Add(acceptance)); err != nil {
			return fmt.Errorf("deploy %d to %s: %w", d.Number, cell(d.Topic), err)
		}
	}
	fmt.Fprintf(t.app.err, "the store is %s: %s and %s are signed for it\n", fleet.Store, plural(len(p.hosts), "host"), plural(len(p.deploys), "deploy"))
	return nil
}
