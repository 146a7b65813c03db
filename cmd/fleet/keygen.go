package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/engine/deploy"
)

// newKeygen makes the verb that makes a key. The key itself is never printed.
// Its file is made with mode 0600, and a file of that name is left as it is.
func newKeygen(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "keygen [FILE]",
		Short: "Generate the key that signs deploys",
		Long: `Keygen generates a key pair: the private key in FILE, readable only by you, and the public
key in FILE.pub. FILE defaults to deploy.key in the folder mgmt of your configuration. Hosts
accept deploys signed by the key if their setting trusted_keys names a copy of FILE.pub.

Keygen never overwrites a file. If only FILE.pub is missing, it writes FILE.pub.`,
		Example: "  mgmt deploy keygen\n  mgmt deploy keygen /root/deploy.key",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := remote.DefaultKey()
			if len(args) > 0 {
				path, err = args[0], nil
			}
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			key, err := makeKey(path)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "%s has the private key: keep it secret\n%s.pub is for the hosts: name it in their setting trusted_keys\nthe key is %s\n", path, path, key.Public().ID)
			return err
		},
	}
}

// makeKey writes a key pair. A keygen that was killed has left the private key alone: its public half is then written.
// WriteKey leaves neither file where one of the two cannot be written, as on a full disk.
func makeKey(path string) (deploy.Key, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		if _, err := os.Lstat(path + ".pub"); errors.Is(err, fs.ErrNotExist) {
			key, err := cli.ReadKey(path)
			if err != nil {
				return key, err
			}
			return key, deploy.WritePublic(path+".pub", key.Public())
		}
	}
	key, err := deploy.NewKey()
	if err != nil {
		return key, err
	}
	return key, deploy.WriteKey(path, key)
}
