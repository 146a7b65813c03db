package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/engine/world/kept"
)

// clusterScheme is the word before the first colon of a store in etcd.
const clusterScheme = "etcd"

// maxPassword bounds the file of a password in bytes.
const maxPassword = 4096

// clusterAccess says who this program is for the servers of a store in etcd, and which servers it trusts.
// A password is read from a file: an argument would show it to all users of the machine.
// cert and key belong together, and so do user and passwordFile; all are empty for an open store.
type clusterAccess struct{ cert, key, ca, user, passwordFile string }

// bind adds the flags of the settings, for a daemon.
func (c *clusterAccess) bind(cmd *cobra.Command) {
	bind(cmd, "cert", place{&c.cert})
	bind(cmd, "key", place{&c.key})
	bind(cmd, "ca", place{&c.ca})
	bind(cmd, "user", &c.user)
	bind(cmd, "password_file", place{&c.passwordFile})
}

// files returns the names of the files, empty where there is none.
// A daemon that runs as root judges them: another user who can write them could choose its store.
func (c *clusterAccess) files() []string { return []string{c.cert, c.key, c.ca, c.passwordFile} }

// check refuses an access to a store that has no servers.
func (c *clusterAccess) check(world string) error {
	if *c == (clusterAccess{}) || strings.HasPrefix(world, etcd.Scheme) {
		return nil
	}
	return fmt.Errorf("cert, key, ca, user and password_file are for a store in etcd, and --world=%s is none; write --world %s", world, etcd.Form)
}

// options are the address with the access. The error tells of all faults at once; etcd.Open tells of the certificates.
func (c *clusterAccess) options(address string, log *slog.Logger) (etcd.Options, error) {
	o, err := etcd.ParseAddress(address)
	if err := answers(c.files()...); err != nil {
		return etcd.Options{}, err
	}
	password, unread := c.password()
	if err := errors.Join(err, unread); err != nil {
		return etcd.Options{}, err
	}
	o.Cert, o.Key, o.CA, o.User, o.Password, o.Log = c.cert, c.key, c.ca, c.user, password, log
	return o, nil
}

// password reads the file of the password. A line end behind it does not belong to it.
// With a certificate there is no user and no password, and the result is empty. No error has a part
// of the password.
func (c *clusterAccess) password() (string, error) {
	switch {
	case c.passwordFile == "" && c.user == "":
		return "", nil
	case c.passwordFile == "":
		return "", errors.New("a user needs a password: name its file with password_file, or give the certificate of the user and no user")
	case c.user == "":
		return "", errors.New("password_file is given without a user; name the user, too")
	}
	text, err := readSmall(c.passwordFile)
	if err != nil {
		return "", fmt.Errorf("the password of %s: %s: %w", c.user, c.passwordFile, err)
	}
	// Only line ends go: a blank may belong to a password.
	text = bytes.TrimRight(text, "\r\n")
	if len(text) == 0 || len(text) > maxPassword {
		return "", fmt.Errorf("the password of %s: the file %s has %d bytes, and a password has 1 to %d", c.user, c.passwordFile, len(text), maxPassword)
	}
	return string(text), nil
}

// connect makes the store of a cluster, and asks the cluster once. Servers that are away are an error of the class
// engine.ErrUnavailable, and servers that refuse this program one of engine.ErrRefused. Where a World comes with the
// error, the caller may go on with it, and closes it.
// It blocks as Probe does. The key that it reads is that of the host's own entry, which each host
// with rights may read.
func (c *clusterAccess) connect(ctx context.Context, address, host string, log *slog.Logger) (*etcd.World, error) {
	o, err := c.options(address, log)
	if err != nil {
		return nil, err
	}
	if exposed := o.Exposed(); len(exposed) > 0 {
		log.Warn("the connection to the store is not encrypted: all on the way can read and alter what it carries; give it certificates with --cert, --key and --ca", "endpoints", exposed)
	}
	w, err := etcd.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return w, c.explained(w.Probe(ctx, hosts.MemberKey(host)))
}

// explained adds the way out to an error of a cluster that refuses this program.
func (c *clusterAccess) explained(err error) error {
	switch {
	case errors.Is(err, etcd.ErrCertificate):
		return fmt.Errorf("%w; see that --ca signs the certificates of the servers, and that the servers trust that of --cert", err)
	case errors.Is(err, engine.ErrRefused):
		return fmt.Errorf("%w; let an operator give this host its rights: mgmt hosts allow NAME", err)
	}
	return err
}

// cluster is the store of a daemon in etcd.
// The objects of an away store come from a file at first.
type cluster struct {
	// It answers as the store does, and tells since when the store is lost.
	*reach
	away bool // it could not be reached at the start, or has refused this host
}

// openEtcd connects a daemon to a cluster. Absent servers do not fail the start: the host starts with its last state, and
// catches up when they are back. So does a host whose certificate has expired since it has met the store: a reboot must
// not end its local graph. A host that has never met the store has wrong settings, and is told at once.
func openEtcd(ctx context.Context, p worldPlace) (engine.World, error) {
	w, err := p.access.connect(ctx, p.text, p.host, p.log)
	switch {
	// The order counts: without a World the address or a file is wrong, and no waiting helps there.
	case w == nil:
		return nil, err
	case err == nil:
	case errors.Is(err, engine.ErrRefused) && p.dir != "" && kept.Met(filepath.Join(p.dir, keptFile)):
		p.log.Error("the store refuses this host: the host goes on with its last state, and tries again", "error", err)
	case !errors.Is(err, engine.ErrUnavailable):
		return nil, errors.Join(err, w.Close())
	default:
		p.log.Warn("the store is out of reach: this host goes on with its last state, and catches up when the store is back", "error", err)
	}
	r := &reach{World: w, clock: engine.SystemClock{}}
	// The first outcome counts as well, so mgmt status tells of a store that was away from the start.
	r.note(ctx, err)
	return &cluster{reach: r, away: err != nil}, nil
}
