package inputs

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/daemon/store"
)

// WorldFlags say which store the resources share.
type WorldFlags struct{ store.Config }

// Flags adds the flags of the store.
func (f *WorldFlags) Flags(cmd *cobra.Command) {
	f.Lease = store.DefaultLease
	cli.Bind(cmd, "world", &f.Place)
	cli.Bind(cmd, "lease", (*cli.Seconds)(&f.Lease))
	cli.Bind(cmd, "accept", &f.Accept)
	AccessFlags(cmd, &f.Access)
}

// AccessFlags adds the flags that say who a daemon is for a store in etcd.
func AccessFlags(cmd *cobra.Command, a *store.Access) {
	cli.Bind(cmd, "cert", (*cli.Place)(&a.Cert))
	cli.Bind(cmd, "key", (*cli.Place)(&a.Key))
	cli.Bind(cmd, "ca", (*cli.Place)(&a.CA))
	cli.Bind(cmd, "user", &a.User)
	cli.Bind(cmd, "password_file", (*cli.Place)(&a.PasswordFile))
}
