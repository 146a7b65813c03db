package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/daemon/setting"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/engine/world/kept"
	"github.com/reactivegraph/mgmt/gapi"
)

// Cluster is the word before the first colon of a store in etcd.
const Cluster = "etcd"

// KeptFile is the file of the state folder with the objects that this host has read last from a cluster. A start without the cluster
// reads it. Nothing in it is in the clear that is encrypted in the store.
const KeptFile = "objects.json"

// maxPassword bounds the file of a password in bytes.
const maxPassword = 4096

// Access says who this program is for the servers of a cluster, and which servers it trusts. These are files, but for User. Cert and Key
// belong together, and so do User and PasswordFile; all are empty for an open store.
type Access struct{ Cert, Key, CA, User, PasswordFile string }

// files returns the names of the files, empty where there is none.
// A daemon that runs as root judges them: another user who can write them could choose its store.
func (c *Access) files() []string { return []string{c.Cert, c.Key, c.CA, c.PasswordFile} }

// check refuses an access to a store that has no servers.
func (c *Access) check(world string) error {
	if *c == (Access{}) || strings.HasPrefix(world, etcd.Scheme) {
		return nil
	}
	return setting.Errorf("cert, key, ca, user and password_file are for a store in etcd, and %v=%s is none; write %[1]v %[3]s", setting.StorePlace, world, etcd.Form)
}

// options are the address with the access. The error tells of all faults at once; etcd.Open tells of the certificates.
func (c *Access) options(address string, log *slog.Logger) (etcd.Options, error) {
	o, err := etcd.ParseAddress(address)
	if err := gapi.Answers(c.files()...); err != nil {
		return etcd.Options{}, err
	}
	password, unread := c.Password()
	if err := errors.Join(err, unread); err != nil {
		return etcd.Options{}, err
	}
	o.Cert, o.Key, o.CA, o.User, o.Password, o.Log = c.Cert, c.Key, c.CA, c.User, password, log
	return o, nil
}

// Password reads the file of the password. A line end behind it does not belong to it.
// With a certificate there is no user and no password, and the result is empty. No error has a part
// of the password.
func (c *Access) Password() (string, error) {
	switch {
	case c.PasswordFile == "" && c.User == "":
		return "", nil
	case c.PasswordFile == "":
		return "", setting.Errorf("a user needs a password: name its file with %v, or give the certificate of the user and no user", setting.StorePasswordFile)
	case c.User == "":
		return "", setting.Errorf("%v is given without a user; name the user, too", setting.StorePasswordFile)
	}
	text, err := gapi.ReadSmall(c.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("the password of %s: %s: %w", c.User, c.PasswordFile, err)
	}
	// Only line ends go: a blank may belong to a password.
	text = bytes.TrimRight(text, "\r\n")
	if len(text) == 0 || len(text) > maxPassword {
		return "", fmt.Errorf("the password of %s: the file %s has %d bytes, and a password has 1 to %d", c.User, c.PasswordFile, len(text), maxPassword)
	}
	return string(text), nil
}

// Connect makes the store of a cluster, and asks the cluster once. Servers that are away are an error of the class
// world.ErrUnavailable, and servers that refuse this program one of world.ErrRefused. Where a World comes with the
// error, the caller may go on with it, and closes it.
// It blocks as Probe does. The key that it reads is that of the host's own entry, which each host
// with rights may read.
func (c *Access) Connect(ctx context.Context, address, host string, log *slog.Logger) (*etcd.World, error) {
	o, err := c.options(address, log)
	if err != nil {
		return nil, err
	}
	if exposed := o.Exposed(); len(exposed) > 0 {
		log.Warn("the connection to the store is not encrypted: all on the way can read and alter what it carries; give it certificates", "endpoints", exposed)
	}
	w, err := etcd.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return w, c.explained(w.Probe(ctx, hosts.MemberKey(host)))
}

// explained adds the way out to an error of a cluster that refuses this program.
func (c *Access) explained(err error) error {
	switch {
	case errors.Is(err, etcd.ErrCertificate):
		return fmt.Errorf("%w; see that the ca given here signs the certificates of the servers, and that the servers trust the cert given here", err)
	case errors.Is(err, world.ErrRefused):
		return fmt.Errorf("%w; let an operator give this host its rights: mgmt hosts allow NAME", err)
	}
	return err
}

// Clustered is the store of a daemon in a cluster.
type Clustered struct {
	// It answers as the store does, and tells since when the store is lost.
	*reach
	Away bool // it could not be reached at the start, or has refused this host
}

// openEtcd connects a daemon to a cluster. Absent servers do not fail the start: the host starts with its last state, and
// catches up when they are back. So does a host whose certificate has expired since it has met the store: a reboot must
// not end its local graph. A host that has never met the store has wrong settings, and is told at once.
func openEtcd(ctx context.Context, p place) (world.World, error) {
	w, err := p.access.Connect(ctx, p.text, p.host, p.log)
	switch {
	// The order counts: without a World the address or a file is wrong, and no waiting helps there.
	case w == nil:
		return nil, err
	case err == nil:
	case errors.Is(err, world.ErrRefused) && p.dir != "" && kept.Met(filepath.Join(p.dir, KeptFile)):
		p.log.Error("the store refuses this host: the host goes on with its last state, and tries again", "error", err)
	case !errors.Is(err, world.ErrUnavailable):
		return nil, errors.Join(err, w.Close())
	default:
		p.log.Warn("the store is out of reach: this host goes on with its last state, and catches up when the store is back", "error", err)
	}
	r := &reach{World: w, clock: clock.System{}}
	// The first outcome counts as well, so mgmt status tells of a store that was away from the start.
	r.note(ctx, err)
	return &Clustered{reach: r, Away: err != nil}, nil
}
