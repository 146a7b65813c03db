package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/daemon/setting"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/engine/world/lazy"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// The defaults of Config, as settings write them.
const (
	DefaultPlace = "bolt"
	DefaultLease = 15 * time.Second
)

// File is the name of the store in the state folder.
const File = "world.db"

// Config names the store of a host, and says what other hosts may send through it. It is plain data.
type Config struct {
	Place string        // memory, bolt[:FILE], or etcd://HOST:PORT[,HOST:PORT...][/PREFIX]
	Lease time.Duration // how long the store keeps the records of this host after its death
	// Accept says what may come from other hosts, as lend.Parse reads it. When empty, lend.Default.
	Accept []string
	Access Access // of a cluster
}

// Files returns the files that a daemon must judge before it trusts the store: who can write one decides what the daemon does. The file in
// the state folder is not among them, since the folder itself is judged.
func (c *Config) Files() []string {
	list := c.Access.files()
	if scheme, file, _ := strings.Cut(c.Place, ":"); scheme == "bolt" {
		list = append(list, file)
	}
	return list
}

// place says where a store is.
type place struct {
	text   string // the setting
	rest   string // of it, behind the scheme
	dir    string // the state folder; empty for a temporary one
	host   string // the name of this host in the store
	access Access
	log    *slog.Logger
}

// openers are the stores by scheme, the word before the first colon.
var openers = map[string]struct {
	form string // how the setting is written
	open func(context.Context, place) (world.World, error)
}{
	"memory": {"memory", openMemory},
	"bolt":   {"bolt[:FILE]", openBolt},
	"etcd":   {etcd.Form, openEtcd},
}

// forms lists the ways to write a place.
func forms() string {
	var list []string
	for _, scheme := range slices.Sorted(maps.Keys(openers)) {
		list = append(list, openers[scheme].form)
	}
	return sentence(list)
}

// CheckPlace judges the form of a place. Whether the store answers shows when it is opened.
func CheckPlace(text string) error {
	scheme, _, _ := strings.Cut(text, ":")
	if _, ok := openers[scheme]; !ok {
		near := ""
		if meant := schema.Nearest(scheme, slices.Collect(maps.Keys(openers))); meant != "" {
			near = fmt.Sprintf(" (did you mean %q?)", meant)
		}
		return fmt.Errorf("%q is no store, write %s%s", text, forms(), near)
	}
	if scheme == Cluster {
		_, err := etcd.ParseAddress(text)
		return err
	}
	return nil
}

// CheckLease refuses a lease short enough to expire in a busy moment, or so long that a dead host is counted as alive.
func CheckLease(d time.Duration) error {
	if d < time.Second || d > time.Hour {
		return fmt.Errorf("%s is no time for a lease, write one from 1s to 1h", d)
	}
	return nil
}

// Check returns all faults of the Config, joined.
func (c *Config) Check() error {
	_, err := c.Rules()
	return errors.Join(CheckPlace(c.Place), c.Access.check(c.Place), CheckLease(c.Lease), err)
}

// Open opens the store. dir is the state folder, "" for none, and host the name of this host. The caller closes the World; see Close.
func (c *Config) Open(ctx context.Context, dir, host string, log *slog.Logger) (world.World, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	scheme, rest, _ := strings.Cut(c.Place, ":")
	w, err := openers[scheme].open(ctx, place{text: c.Place, rest: rest, dir: dir, host: host, access: c.Access, log: log})
	if err != nil {
		return nil, setting.Errorf("%v=%s: %w", setting.StorePlace, c.Place, err)
	}
	return w, nil
}

// Accepts returns Accept; nil where it says nothing.
func (c *Config) Accepts() []string {
	if len(c.Accept) == 0 {
		return nil
	}
	return c.Accept
}

// Rules returns what may come from other hosts.
func (c *Config) Rules() (*lend.Rules, error) {
	r, err := lend.Parse(c.Accepts())
	if err != nil {
		return nil, setting.Errorf("%v: %w", setting.StoreAccept, err)
	}
	return r, nil
}

// Accepted returns the rule for objects: that of collected resources where other hosts can write to the store. It is nil for a store of
// this host alone, where the permissions of the socket decide.
func (c *Config) Accepted(kinds func() *engine.Registry) func(*gapi.Declaration) error {
	if scheme, _, _ := strings.Cut(c.Place, ":"); scheme != Cluster {
		return nil
	}
	rules, _ := c.Rules() // Open has told of a fault
	return native.Accepting(kinds, rules)
}

// openMemory opens a store of this process alone.
func openMemory(_ context.Context, p place) (world.World, error) {
	if p.rest != "" {
		return nil, errors.New("memory takes nothing behind it")
	}
	return memory.New(), nil
}

// openBolt opens a store in a file. That of the state folder is made at its first use: most graphs share nothing. bbolt locks the file, so
// two daemons can't share one.
func openBolt(_ context.Context, p place) (world.World, error) {
	path := p.rest
	switch {
	case path == "" && p.dir == "":
		return lazy.New(func() (world.World, error) { return memory.New(), nil }), nil // as all other state of a temporary folder
	case path == "":
		path = filepath.Join(p.dir, File)
		// A file that is there is opened at once: it may hold objects, and another process may
		// have locked it.
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return lazy.New(func() (world.World, error) { return boltAt(path, p.log) }), nil
		}
	}
	return boltAt(path, p.log)
}

func boltAt(path string, log *slog.Logger) (world.World, error) {
	w, err := bolt.Open(path, bolt.Options{Log: log})
	if errors.Is(err, bolt.ErrLocked) {
		return nil, setting.Errorf("the store %s: %w; end that process, or name another file with %v bolt:FILE", path, bolt.ErrLocked, setting.StorePlace)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Close closes a store when the engine has ended, and withdraws what this host has published. A failure is a warning: those values then
// stay for the time of the lease.
func Close(w world.World, log *slog.Logger) {
	if err := w.Close(); err != nil {
		log.Warn("the store was not closed in order; what this host has published stays there for the time of its lease", "error", err)
	}
}

// sentence joins words with commas, and the last one with or.
func sentence(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
