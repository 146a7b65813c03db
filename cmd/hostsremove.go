package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// newHostsRemove makes the verb that takes hosts out of a store for good.
// The rights of a host go before its keys, so that a host that is still there cannot write them again.
func newHostsRemove(a *app) *cobra.Command {
	var store direct
	cmd := &cobra.Command{
		Use: "remove NAME...", Short: "Take hosts that have left out of a store in etcd", Args: cobra.MinimumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Remove takes away the users NAME of the store with their rights, and the records of these hosts: the key for
secrets, the statuses of objects, and the reports of deploys. Later secrets are not encrypted to such a host, and
no removal of an object waits for it. It knows the earlier secrets still, so change those. Ask with the certificate
of root.`,
		Example: `  mgmt hosts remove web1.example.org --world etcd://192.0.2.1:2379 --cert root.pem --key root.key --ca ca.pem`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := store.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			return errors.Join(a.removeHosts(cmd.Context(), w, args), store.close())
		},
	}
	store.flags(cmd)
	_ = cmd.MarkFlagRequired("world")
	return cmd
}

// removeHosts takes hosts out of a store. A host without any record is an error, since its name
// may be mistyped. The others are removed all the same. A host whose daemon is still connected is
// removed too, with a line on standard error. If a call was cut, a second call ends its work.
// Each host is removed in three steps: its user, its keys, its statuses. A failure leaves the later
// ones for the next call.
func (a *app) removeHosts(ctx context.Context, w *etcd.World, names []string) error {
	there, err := hosts.Members(ctx, w)
	if err != nil {
		return err
	}
	nb := a.objectsOf(w, "", &sealing{world: w}, nil, slog.New(slog.DiscardHandler))
	var errs []error
	for _, name := range names {
		if err := checkHost(name); err != nil {
			errs = append(errs, err)
			continue
		}
		// A store that asks for no users has no user of that name, and Forbid then returns false.
		was, err := w.Forbid(ctx, name)
		if err == nil {
			var kept bool
			kept, err = forget(ctx, w, name)
			was = was || kept
		}
		var statuses int
		if err == nil {
			statuses, err = nb.DropStatuses(ctx, name)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("the host %s is not removed whole, do it again: %w", cell(name), err))
		case !was && statuses == 0:
			errs = append(errs, fmt.Errorf("the store has nothing of a host %s", cell(name)))
		default:
			fmt.Fprintf(a.out, "%s is removed, with %s\n", cell(name), plural(statuses, "status record"))
		}
		if err == nil && slices.ContainsFunc(there, func(m hosts.Member) bool { return m.Name == name }) {
			fmt.Fprintf(a.err, "mgmt still runs on %s: stop it, or it comes back where the store asks for no users\n", cell(name))
		}
	}
	return errors.Join(errs...)
}

// forget deletes the keys of a host, and reports whether there was one.
// All keys go in one transaction, so no reader sees a host in part.
// A key that comes back meanwhile is the work of a daemon that still runs.
func forget(ctx context.Context, w engine.World, name string) (was bool, err error) {
	var ops []engine.Op
	for _, key := range []string{seal.Key(name), deploy.ReportKey(name), hosts.MemberKey(name)} {
		_, err := w.Get(ctx, key)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return false, err
		}
		if err == nil {
			ops = append(ops, engine.Op{Key: key, Delete: true})
		}
	}
	if len(ops) == 0 {
		return false, nil
	}
	_, _, err = w.Txn(ctx, nil, ops)
	return true, err
}

// checkHost refuses the name of the operator, which is the user with every right.
// etcd calls that user root and lets it do everything.
func checkHost(name string) error {
	if name == operatorName {
		return fmt.Errorf("the user %s is the operator, who has every right: a host needs another name", name)
	}
	return nil
}

// operatorName is the user that etcd gives every right to.
const operatorName = "root"
