package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// rightsFlags are those of the verbs that alter the users of a store.
// The verbs work on the store itself, and not through a daemon: a daemon has no right to alter
// users.
type rightsFlags struct {
	store direct
	// A path. The password of the caller is another one, in store.
	password string // the file with the user's new password
}

// verb makes one verb, which opens the store and lets go of it.
// The flag --world is required, since a store in a file has no users. The store is closed also
// after an error.
func (f *rightsFlags) verb(a *app, cmd *cobra.Command, password string, run func(ctx context.Context, w *etcd.World, args []string) error) *cobra.Command {
	f.store.flags(cmd)
	_ = cmd.MarkFlagRequired("world")
	cmd.Flags().StringVar(&f.password, "new-password-file", "", password)
	_ = cmd.MarkFlagFilename("new-password-file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w, err := f.store.open(cmd.Context(), a)
		if err != nil {
			return err
		}
		return errors.Join(run(cmd.Context(), w, args), f.store.close())
	}
	return cmd
}

// newPassword reads the file with the password of a user; "" where none is named.
// A password is never an argument, since all users can read the arguments of a process.
func (f *rightsFlags) newPassword(user string) (string, error) {
	if f.password == "" {
		return "", nil
	}
	// The rules for the file are those of password_file: 1 to maxPassword bytes, and no line end.
	c := clusterAccess{user: user, passwordFile: f.password}
	return c.password()
}

// newHostsAllow makes the verb that gives a host its rights in the store.
// It may be repeated: the host then has these rights, and no others of earlier calls.
func newHostsAllow(a *app) *cobra.Command {
	f := &rightsFlags{}
	var roles, exportTo []string
	cmd := &cobra.Command{
		Use: "allow NAME", Short: "Give a host its rights in a store in etcd", Args: exactly("name"), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Allow makes the user NAME of the store, and gives it the rights of the host of that name: to read the keys for
this host, and to write its own status, its own exports, and the shared values of its topics. NAME is the common
name of the host's certificate. A repeated call takes earlier rights away. Ask with the certificate of root.`,
		Example: `  mgmt hosts allow web1.example.org --role web --world etcd://192.0.2.1:2379 --cert root.pem --key root.key --ca ca.pem`,
	}
	f.verb(a, cmd, "the `file` with the password of the host, for a host without a certificate", func(ctx context.Context, w *etcd.World, args []string) error {
		password, err := f.newPassword(args[0])
		// Both faults are told before the store is altered.
		if err := errors.Join(checkHost(args[0]), err); err != nil {
			return err
		}
		var topics []string
		for _, word := range exportTo {
			topics = append(topics, hosts.TopicOf(word))
		}
		if err := w.Allow(ctx, args[0], password, etcd.HostGrants(args[0], roles, topics...)...); err != nil {
			return fmt.Errorf("the host %s has not got its rights: %w", args[0], err)
		}
		return nil
	})
	cmd.Flags().StringSliceVar(&roles, "role", nil, "a `role` of the host, whose topic it reads; may be repeated")
	cmd.Flags().StringSliceVar(&exportTo, "export-to", nil, "a `host`, or a group as group:ROLE, that it may export to; may be repeated")
	return cmd
}

// newHostsProtect makes the verb that has a store ask for its users. It is refused on a store that
// is protected already. The password comes from a file, and the flag for it is required.
// The users and rights of the hosts come first. A cluster that is protected too early shuts its hosts
// out.
func newHostsProtect(a *app) *cobra.Command {
	f := &rightsFlags{}
	cmd := &cobra.Command{
		Use: "protect", Short: "Have a store in etcd serve only its users", Args: cobra.NoArgs,
		Long: `Protect makes the user root of the store with a password, and from then on the store serves only its users. An operator
calls it once for a cluster, when all hosts have their rights. After that the store knows root by the password, or by
a certificate with the common name root.`,
		Example: `  mgmt hosts protect --new-password-file root.password --world etcd://192.0.2.1:2379 --cert root.pem --key root.key --ca ca.pem`,
	}
	f.verb(a, cmd, "the `file` with the password of root", func(ctx context.Context, w *etcd.World, _ []string) error {
		password, err := f.newPassword("root")
		if err != nil {
			return err
		}
		if err := w.Protect(ctx, password); err != nil {
			return fmt.Errorf("the store is not protected: %w", err)
		}
		return nil
	})
	_ = cmd.MarkFlagRequired("new-password-file")
	return cmd
}
