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
		Use: "migrate", Short: "Migrate a store to this version of mgmt", Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Migrate rewrites the records of older versions in the current format. If a step fails,
every record stays as it was. Records of newer versions and broken records are reported
and kept.

It then signs the hosts and deploys of an older mgmt, which trusted what hosts said of
themselves. Your deploy key signs the id of the store, and a record of each host with its
roles and its key for secrets. The roles come from the host's rights in etcd, or in a store
without users from the host itself. Migrate shows all of this and asks. If the store has an
id already, --yes does not confirm what hosts say.

Deploys signed by your key or a key of --trust are signed again for this store; they keep
their numbers, and hosts that have them do nothing. Records signed by another key of --trust
are signed again by yours, so an operator can change keys before the old one expires. Hosts
of both versions may share the store before and after.`,
	}
	f.verb(cmd, []api.Migrated{}, func(ctx context.Context, _ []string) error {
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
	t := render.Table{{"TABLE", "MIGRATED", "NEWER", "BROKEN"}}
	for _, m := range done {
		t.Row(m.Table, m.Records, strings.Join(m.Newer, " "), strings.Join(m.Broken, " "))
	}
	return f.out.write(done, t)
}
