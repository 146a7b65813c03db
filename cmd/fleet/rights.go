package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// rightsFlags are those of the verbs that alter the users of a store.
// The verbs work on the store itself, and not through a daemon: a daemon has no right to alter
// users.
type rightsFlags struct {
	store remote.Direct
	// A path. The password of the caller is another one, in store.
	password string // the file with the user's new password
}

// verb makes one verb, which opens the store and lets go of it.
// The flag --world is required, since a store in a file has no users. The store is closed also
// after an error.
func (f *rightsFlags) verb(a *cli.App, cmd *cobra.Command, password string, run func(ctx context.Context, w *etcd.World, args []string) error) *cobra.Command {
	f.store.Flags(cmd)
	_ = cmd.MarkFlagRequired("world")
	cmd.Flags().StringVar(&f.password, "new-password-file", "", password)
	_ = cmd.MarkFlagFilename("new-password-file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w, err := f.store.Open(cmd.Context(), a)
		if err != nil {
			return err
		}
		return errors.Join(run(cmd.Context(), w, args), f.store.Close())
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
	c := store.Access{User: user, PasswordFile: f.password}
	return c.Password()
}

// allowFlags are those of the verb hosts allow.
type allowFlags struct {
	app             *cli.App
	store           sharedStore
	signing         remote.Signing
	roles, exportTo []string
	password        string // the file with the host's new password
}

// newHostsAllow makes the verb that says what a host is for, and gives it its rights in the store.
// It may be repeated: the host then has these roles and rights, and no others of earlier calls.
func newHostsAllow(a *cli.App) *cobra.Command {
	f := &allowFlags{app: a, store: sharedStore{app: a}, signing: remote.Signing{App: a}}
	cmd := &cobra.Command{
		Use: "allow NAME", Short: "Set the roles of a host, and its rights in a store in etcd", Args: cli.Exactly("name"), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Allow signs the record of host NAME with your deploy key: its roles, and the id of the
store. Only this record decides to which topics the host belongs: a deploy to group:ROLE
waits for the hosts with that role, and mgmt hosts admit encrypts secrets of the topic to
them. The first record creates the id of the store. A host remembers the id of its first
store, and accepts deploys of no other.

With --world, allow also creates user NAME in that store in etcd, with the rights to read
the keys for this host, and to write its status, its exports and the shared values of its
topics. NAME is the common name of the host's certificate. Use the certificate of root.
Without --world, the record goes to the store of the running daemon.

A repeated call replaces earlier roles and rights. It brings back a removed host that has
a new certificate.`,
		Example: `  mgmt hosts allow web1.example.org --role web --world etcd://192.0.2.1:2379 --cert root.pem --key root.key --ca ca.pem`,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.store.closing(f.run(cmd.Context(), args[0])) },
	}
	f.store.flags(cmd)
	cli.Exclude(cmd, "world", "socket")
	f.signing.Flags(cmd, "a")
	fl := cmd.Flags()
	fl.StringVar(&f.password, "new-password-file", "", "with --world: `file` with the password of a host without a certificate")
	_ = cmd.MarkFlagFilename("new-password-file")
	fl.StringSliceVar(&f.roles, "role", nil, "`role` of the host, whose topic it reads; may be repeated")
	fl.StringSliceVar(&f.exportTo, "export-to", nil, "with --world: `host` or group:ROLE that the host may export to; may be repeated")
	return cmd
}

func (f *allowFlags) run(ctx context.Context, name string) error {
	c := rightsFlags{password: f.password}
	password, err := c.newPassword(name)
	key, trusted, unsigned := f.signing.Keys()
	if !f.store.direct.Given() && (f.password != "" || len(f.exportTo) > 0) {
		err = errors.Join(err, errors.New("--new-password-file and --export-to are for a store in etcd: name it with --world"))
	}
	// All faults are told before the store is altered.
	if err := errors.Join(checkHost(name), err, unsigned); err != nil {
		return err
	}
	w, err := f.store.world(ctx)
	if err != nil {
		return err
	}
	var stays []string // certificates that were revoked
	err = remote.Retried(func() error {
		fleet, err := f.signing.Founded(ctx, w, key, trusted, "")
		if err != nil {
			return err
		}
		v, _ := fleet.Revocation(name)
		stays = v.Certificates
		h := fleet.Hosts[name]
		h.Host, h.Roles, h.By, h.Time = name, f.roles, remote.Operator(), clock.System{}.Now()
		return deploy.Store{World: w}.SetHost(ctx, key, fleet, h)
	})
	if err != nil {
		return fmt.Errorf("the host %s has not got its record: %w", render.Cell(name), remote.Explained(err))
	}
	if len(stays) > 0 {
		fmt.Fprintf(f.app.Err, "%s was removed once: its certificates with the serial %s stay revoked, and it needs a new one\n", render.Cell(name), strings.Join(stays, ", "))
	}
	if !f.store.direct.Given() {
		return nil
	}
	return f.rights(ctx, name, password)
}

// rights gives the user of a host its rights in a store in etcd.
func (f *allowFlags) rights(ctx context.Context, name, password string) error {
	w, err := f.store.etcd(ctx)
	if err != nil {
		return err
	}
	var topics []string
	for _, word := range f.exportTo {
		topics = append(topics, hosts.TopicOf(word))
	}
	if err := w.Allow(ctx, name, password, etcd.HostGrants(name, f.roles, topics...)...); err != nil {
		return fmt.Errorf("the host %s has not got its rights: %w", render.Cell(name), err)
	}
	return nil
}

// newHostsProtect makes the verb that has a store ask for its users. It is refused on a store that
// is protected already. The password comes from a file, and the flag for it is required.
// The users and rights of the hosts come first. A cluster that is protected too early shuts its hosts
// out.
func newHostsProtect(a *cli.App) *cobra.Command {
	f := &rightsFlags{}
	cmd := &cobra.Command{
		Use: "protect", Short: "Restrict a store in etcd to its users", Args: cobra.NoArgs,
		Long: `Protect creates user root of the store with a password; from then on the store serves only
its users. Call it once per cluster, when all hosts have their rights. Root then logs in
with the password, or with a certificate with the common name root.`,
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
