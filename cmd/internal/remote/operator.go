package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/gapi"
)

// Operator returns the name of the deploying user for the history. It is not authenticated; the key is.
func Operator() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name + "@" + cmp.Or(cli.Hostname(), "unknown")
}

// DefaultKey returns the path of the operator's signing key. Hosts have no such file, only its public key.
// It creates a missing folder with mode 0700. Without HOME, as in a service, it returns an error.
func DefaultKey() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", errors.New("there is no folder for the key: name its file with --sign")
	}
	return filepath.Join(dir, "mgmt", "deploy.key"), nil
}

// Signing holds an operator's signing key and the other public keys whose signatures are accepted.
type Signing struct {
	App   *cli.App
	Sign  string   // the file with the key; empty for the default
	Trust []string // files with further public keys
}

// Flags adds the flags of the verbs that sign.
func (f *Signing) Flags(cmd *cobra.Command, trust string) {
	f.SignFlag(cmd)
	f.trustFlag(cmd, trust)
}

func (f *Signing) SignFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Sign, "sign", "", "signing key `file` (default deploy.key in the folder mgmt of your configuration)")
}

// trustFlag adds the flag with further keys.
func (f *Signing) trustFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().StringArrayVar(&f.Trust, "trust", nil, usage+" `file` with a public key that may have signed it, besides your own; repeatable")
}

// ErrNoKey is returned if the default key is missing.
var ErrNoKey = errors.New("make one with mgmt deploy keygen, or name its file with --sign")

// path returns the file of the key.
func (f *Signing) path() (string, error) {
	if f.Sign != "" {
		return f.Sign, nil
	}
	return DefaultKey()
}

// key reads the key that signs.
// Only its owner may read the file; ReadKey refuses another mode.
func (f *Signing) key() (deploy.Key, error) {
	path, err := f.path()
	if err != nil {
		return deploy.Key{}, err
	}
	if f.Sign == "" {
		if _, err := (&gapi.Asker{}).Stat(context.Background(), path); err != nil {
			return deploy.Key{}, fmt.Errorf("there is no key %s to sign with: %w", path, ErrNoKey)
		}
	}
	return cli.ReadKey(path)
}

// Keys returns the signing key and all keys whose signatures are accepted.
func (f *Signing) Keys() (key deploy.Key, list []deploy.Public, err error) {
	if list, err = trust.ReadKeys("--trust", f.App.Source(), f.Trust); err != nil {
		return key, nil, err
	}
	if key, err = f.key(); err != nil {
		return key, nil, err
	}
	return key, append(list, key.Public()), nil
}

// Known returns the keys that a verb accepts without signing: those of --trust and the operator's own public key.
// The list is empty if neither is given.
func (f *Signing) Known() (list []deploy.Public, err error) {
	if list, err = trust.ReadKeys("--trust", f.App.Source(), f.Trust); err != nil {
		return nil, err
	}
	if key, err := f.key(); err == nil {
		return append(list, key.Public()), nil
	}
	path, err := f.path()
	if err != nil {
		return list, nil // a service has no folder of its own
	}
	own, err := trust.KeysIn(f.App.Source(), path+".pub")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s.pub: %w", path, err)
	}
	return append(list, own...), nil
}

// Fleet reads the host records. If the operator's key is known, Fleet refuses a list older than the last one seen with
// that key, which is recorded next to the key file.
func (f *Signing) Fleet(ctx context.Context, w deploy.World, trusted []deploy.Public) (*deploy.Fleet, error) {
	fleet, err := deploy.Store{World: w}.Fleet(ctx, trusted)
	if errors.Is(err, deploy.ErrUntrusted) {
		return nil, fmt.Errorf("%w; if another operator has signed it, name the file with the public half of that key by --trust", err)
	}
	if err != nil {
		return nil, Explained(err)
	}
	path, err := f.path()
	if err != nil || fleet.Store == "" {
		return fleet, nil
	}
	if _, err := os.Stat(path); err != nil {
		return fleet, nil
	}
	path += ".seen"
	seen := map[string]int64{}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &seen)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s notes the stores that you have seen, and cannot be read; restore it, or remove it: %w", path, err)
	}
	switch was := seen[fleet.Store]; {
	case fleet.Number < was:
		return nil, fmt.Errorf("%w: the record of the store has the number %d, and you have seen %d; somebody has put an old one back, or the store was restored: "+
			"if you know why, remove %s", deploy.ErrReplay, fleet.Number, was, path)
	case fleet.Number > was:
		seen[fleet.Store] = fleet.Number
		text, err := json.Marshal(seen)
		if err == nil {
			err = deploy.Replace(path, text)
		}
		if err != nil { // a key on a medium that cannot be written
			fmt.Fprintf(f.App.Err, "the store is not noted next to the key: %v\n", err)
		}
	}
	return fleet, nil
}

// Founded reads the host records, and creates the id of a store that has none, with the records of the known hosts. If hosts or records name an id already, the store has lost its
// record, and a new id would shut it off from its hosts.
func (f *Signing) Founded(ctx context.Context, w deploy.World, key deploy.Key, trusted []deploy.Public, id string, known ...deploy.HostRecord) (*deploy.Fleet, error) {
	fleet, err := f.Fleet(ctx, w, trusted)
	if err != nil || fleet.Store != "" {
		return fleet, err
	}
	s := deploy.Store{World: w}
	reports, err := s.Reports(ctx)
	if err != nil {
		return nil, Explained(err)
	}
	i := slices.IndexFunc(reports, func(r deploy.Report) bool { return r.Store != "" })
	if i >= 0 && id == "" {
		return nil, fmt.Errorf("the record of the store is missing, and the host %s says that it belongs to the store %q: if the store was made anew, go on with that id by mgmt api migrate --store-id %q",
			render.Cell(reports[i].Host), reports[i].Store, reports[i].Store)
	}
	if err := s.Found(ctx, key, fleet, id, Operator(), clock.System{}.Now(), known...); err != nil {
		return nil, Explained(err)
	}
	return fleet, nil
}

// Retried calls change up to five times, as long as another operator's change comes first.
func Retried(change func() error) (err error) {
	for range 5 {
		if err = change(); !errors.Is(err, deploy.ErrChanged) {
			break
		}
	}
	return err
}
