package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/fleet"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control/api"
)

// newAPIMigrate makes the verb that brings a store to the form of this program: its records to the schemas of the daemon, and then its hosts and
// deploys to what the operator signs.
// It may be called again after an interruption.
// With --dry-run it counts and shows, and writes nothing.
// Each daemon reads old records all the same: the verb only ends the work of doing so at each read.
func newAPIMigrate(a *cli.App) *cobra.Command {
	f := newFlags(a)
	t := fleet.NewTakeover(a)
	var dry bool
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
		err := f.migrate(ctx, dry)
		if err == nil && f.store.Server == "" {
			err = t.Run(ctx, f.daemon, &f.store, dry)
		}
		return err
	})
	dryFlag(cmd, &dry)
	t.Flags(cmd)
	return cmd
}

// migrate brings the records of objects to the schemas of the daemon.
func (f *apiFlags) migrate(ctx context.Context, dry bool) error {
	var done []api.Migrated
	q := api.Request{Method: http.MethodPost, Path: "/v1/api:migrate", Query: dryRun(dry)}
	if _, err := f.client().Ask(ctx, q, &done); err != nil {
		return err
	}
	if f.out.form.Word != "table" {
		return f.out.write(done)
	}
	t := render.Table{{"TABLE", "MIGRATED", "NEWER", "BROKEN"}}
	for _, m := range done {
		t.Row(m.Table, m.Records, strings.Join(m.Newer, " "), strings.Join(m.Broken, " "))
	}
	return t.Write(f.app.Out)
}
