package secret

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/internal/vault"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// New makes the verb secret. It asks no daemon. No value in the clear is ever written to a
// disk.
func New(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Encrypt and decrypt the secrets of graphs",
		Long: `Secret works on secret files (docs/secrets.md): their keys are readable, and their
values are encrypted with age. No verb writes a decrypted value to disk.`,
	}
	cmd.AddCommand(newSecretEncrypt(a), newSecretDecrypt(a), newSecretEdit(a), newSecretList(a), newSecretRekey(a))
	return cmd
}

// newSecretEncrypt makes the verb secret encrypt.
// It prints one value and leaves the file to its author: comments and the order of keys stay, and two people who
// add values merge their changes as those of any text.
// The value comes by standard input, since every user can read argument lists.
func newSecretEncrypt(a *cli.App) *cobra.Command {
	var to []string
	var of string
	cmd := &cobra.Command{
		Use:   "encrypt --to RECIPIENT... | --for FILE",
		Short: "Encrypt a value for a secret file",
		Long: `Encrypt reads a value from standard input, without a final newline, and prints it as
it is written in a secret file. Name the recipient of every machine and person that
must read the value. age-keygen makes an identity and prints its recipient.`,
		Example: `  printf hunter2 | mgmt secret encrypt --to age1...
  printf hunter2 | mgmt secret encrypt --for secrets.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			// Recipients of --for and of --to count together.
			if of != "" {
				v, err := openVault(a, of)
				if err != nil {
					return err
				}
				if len(v.recipients) == 0 {
					return v.noRecipients()
				}
				to = append(to, v.recipients...)
			}
			if len(to) == 0 {
				return errors.New("no person and no machine could read the value: name a recipient, such as age1..., with --to")
			}
			clear, err := io.ReadAll(io.LimitReader(a.In, maxSecret+1))
			if err != nil {
				return err
			}
			if len(clear) == 0 { // a pipe whose first program has failed
				return errors.New("there is no value on standard input")
			}
			if len(clear) > maxSecret {
				return fmt.Errorf("a secret has at most %d bytes", maxSecret)
			}
			// One final line end is cut off, since a shell's echo adds it. Further ones stay.
			text, err := seal.Seal(to, strings.TrimSuffix(string(clear), "\n"))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, text)
			return err
		},
	}
	cmd.Flags().StringArrayVar(&to, "to", nil, "age `recipient`, such as age1...; may be repeated")
	cmd.Flags().StringVar(&of, "for", "", "use the recipients at the top of this secret `file`")
	_ = cmd.MarkFlagFilename("for", yaml.FlagExtensions("yaml")...)
	return cmd
}

// maxSecret is how many bytes a secret may have that a verb encrypts: a key with its chain of certificates is far smaller.
// A larger input is most often the wrong file. It is refused and not cut, since half a key looks like
// a whole one.
const maxSecret = 1 << 20

// newSecretDecrypt makes the verb secret decrypt.
// It shows one value and never the whole file: a user who looks a password up does not need the others on the
// screen. A value that is not encrypted is shown as it is.
// The identity comes from a file that its owner alone can read.
func newSecretDecrypt(a *cli.App) *cobra.Command {
	var identity string
	cmd := &cobra.Command{
		Use:   "decrypt FILE KEY",
		Short: "Print the value of a secret",
		Long: `Decrypt prints the value of one secret. Join the keys of nested maps with slashes:
db/password.`,
		Example: `  mgmt secret decrypt secrets.yaml db/password --identity ~/age.key`,
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			root, err := secretFile(a, args[0])
			if err != nil {
				return err
			}
			n := root
			// A key with a slash in it cannot be named so; list shows it all the same.
			for key := range strings.SplitSeq(args[1], "/") {
				n = n.Get(key)
			}
			if n == nil || n.Kind != schema.NodeString {
				return fmt.Errorf("%s has no secret %q; mgmt secret list shows its keys", args[0], args[1])
			}
			id, err := trust.LoadIdentity(identity)
			if err != nil {
				return err
			}
			clear, err := id.Unseal(n.Text)
			if err != nil {
				return fmt.Errorf("%s: %w", n.Pos, err)
			}
			_, err = fmt.Fprintln(a.Out, clear)
			return err
		},
	}
	cli.Bind(cmd, "identity", (*cli.Place)(&identity))
	return cmd
}

// newSecretList makes the verb secret list. It needs no identity.
// Its exit code is for a hook of git, which keeps a value in the clear from being shared.
// It shows the keys alone, which are in the clear, so every person with the file may call it.
func newSecretList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list FILE",
		Short: "List the keys of a secret file",
		Long: `List shows the keys of a secret file, and marks the values that are not encrypted. The
exit code is 4 if there are any.`,
		Example: `  mgmt secret list secrets.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			root, err := secretFile(a, args[0])
			if err != nil {
				return err
			}
			if listSecrets(a, root, "") {
				return nil
			}
			return cli.WithCode(cli.ExitFailed, nil)
		},
	}
}

// listSecrets writes the keys below a node, and reports whether all values are encrypted.
// It goes on after a value in the clear, so that all of them are named at once. No value is shown,
// encrypted or not.
func listSecrets(a *cli.App, n *schema.Node, key string) (all bool) {
	if n.Kind != schema.NodeMap {
		all = n.Kind == schema.NodeString && seal.Is(n.Text)
		note := ""
		if !all {
			note = "  is not encrypted"
		}
		fmt.Fprintln(a.Out, render.Visible(key)+note)
		return all
	}
	all = true
	for _, p := range n.Pairs {
		// The list of recipients is in the clear, and holds no secret.
		if key == "" && p.Key == vault.RecipientsKey {
			continue
		}
		below := p.Key
		if key != "" {
			below = key + "/" + p.Key
		}
		all = listSecrets(a, p.Value, below) && all
	}
	return all
}

// secretFile reads a file of secrets, whose values stay encrypted here. Its findings are printed.
// An empty file, and a file that is a list, are errors: a graph with such a file would only miss
// a secret.
func secretFile(a *cli.App, path string) (*schema.Node, error) {
	src, err := inputs.ReadNamed(a, path)
	if err != nil {
		return nil, err
	}
	n, ds := yaml.Document(path, src)
	if ds.Err() != nil {
		render.PrintDiagnostics(a.Err, a.Program(), ds)
		return nil, cli.WithCode(cli.ExitUsage, errors.New(ds.Summary()))
	}
	if n == nil || n.Kind != schema.NodeMap {
		return nil, fmt.Errorf("%s is no file of secrets, which is a map from keys to encrypted values", path)
	}
	return n, nil
}
