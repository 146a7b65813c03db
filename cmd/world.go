package cmd

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

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/engine/world/lazy"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// defaultWorld and defaultLease are texts, as the settings take them. worldFile is in the state
// folder.
const (
	defaultWorld = "bolt"
	defaultLease = "15s"
	worldFile    = "world.db"
)

// worldFlags say which store the resources share.
type worldFlags struct {
	place string
	lease seconds
	// accept says what may come from other hosts, as lend.Parse reads it. When nil, lend.Default.
	accept []string
	access clusterAccess
}

// flags adds the flags of the store.
func (f *worldFlags) flags(cmd *cobra.Command) {
	// The default must be that of the setting, which the help shows.
	f.lease = seconds(15 * time.Second)
	bind(cmd, "world", &f.place)
	bind(cmd, "lease", &f.lease)
	bind(cmd, "accept", &f.accept)
	f.access.bind(cmd)
}

// files are those that say what is in the store: who can write one decides what the daemon does. The file in the state folder is
// none of them, since the folder is judged.
func (f *worldFlags) files() []string {
	list := f.access.files()
	if scheme, file, _ := strings.Cut(f.place, ":"); scheme == "bolt" {
		list = append(list, file)
	}
	return list
}

// worldPlace says where a store is.
type worldPlace struct {
	text   string // the setting
	rest   string // of it, behind the scheme
	dir    string // the state folder; empty for a temporary one
	host   string // the name of this host in the store
	access clusterAccess
	log    *slog.Logger
}

// worldOpeners are the stores by their scheme, the word before the first colon.
// A new store is a line here.
// It is not altered at run time.
var worldOpeners = map[string]struct {
	form string // how the setting is written
	open func(context.Context, worldPlace) (engine.World, error)
}{
	"memory": {"memory", openMemory},
	"bolt":   {"bolt[:FILE]", openBolt},
	"etcd":   {etcd.Form, openEtcd},
}

// worldForms lists the ways to write the setting.
func worldForms() string {
	var forms []string
	for _, scheme := range slices.Sorted(maps.Keys(worldOpeners)) {
		forms = append(forms, worldOpeners[scheme].form)
	}
	return orList(forms)
}

// checkWorld checks the value of the setting world.
// Only the form is judged. Whether the store answers shows when it is opened.
func checkWorld(text string) error {
	scheme, _, _ := strings.Cut(text, ":")
	if _, ok := worldOpeners[scheme]; !ok {
		return fmt.Errorf("%q is no store, write %s%s", text, worldForms(), meant(scheme, slices.Collect(maps.Keys(worldOpeners))))
	}
	if scheme == clusterScheme {
		_, err := etcd.ParseAddress(text)
		return err
	}
	return nil
}

// checkLease checks the value of the setting lease.
// A lease under a second would end in a busy moment; one over an hour keeps the values of
// a dead host too long.
func checkLease(text string) error {
	var s seconds
	if err := s.Set(text); err != nil {
		return err
	}
	if d := time.Duration(s); d < time.Second || d > time.Hour {
		return fmt.Errorf("%s is no time for a lease, write one from 1s to 1h", text)
	}
	return nil
}

// checkAccept checks an item of the setting accept.
func checkAccept(item string) error {
	_, err := lend.Parse([]string{item})
	return err
}

// open opens the store. The error says how to go on. The caller closes the World.
func (f *worldFlags) open(ctx context.Context, dir, host string, log *slog.Logger) (engine.World, error) {
	// All faults of the settings are told together, before anything is opened.
	_, err := f.rules()
	if err := errors.Join(checkWorld(f.place), f.access.check(f.place), checkLease(f.lease.String()), err); err != nil {
		return nil, err
	}
	scheme, rest, _ := strings.Cut(f.place, ":")
	w, err := worldOpeners[scheme].open(ctx, worldPlace{text: f.place, rest: rest, dir: dir, host: host, access: f.access, log: log})
	if err != nil {
		return nil, fmt.Errorf("--world=%s: %w", f.place, err)
	}
	return w, nil
}

// accepts returns the setting accept; nil where nothing is said.
func (f *worldFlags) accepts() []string {
	if len(f.accept) == 0 {
		return nil
	}
	return f.accept
}

// rules returns what may come from other hosts.
func (f *worldFlags) rules() (*lend.Rules, error) {
	r, err := lend.Parse(f.accepts())
	if err != nil {
		return nil, fmt.Errorf("--accept: %w", err)
	}
	return r, nil
}

// accepted returns the rule for objects: that of collected resources where other hosts can write to the store. It is nil
// for a store of this host alone: the permissions of the socket decide there, and checkRemote for clients of other machines.
func (f *worldFlags) accepted(kinds func() *engine.Registry) func(*gapi.Declaration) error {
	if scheme, _, _ := strings.Cut(f.place, ":"); scheme != clusterScheme {
		return nil
	}
	rules, _ := f.rules() // open has told of a fault
	return native.Accepting(kinds, rules)
}

// openMemory opens a store that ends with the process.
// No other process sees it, and its content is lost at the end.
func openMemory(_ context.Context, p worldPlace) (engine.World, error) {
	if p.rest != "" {
		return nil, errors.New("memory takes nothing behind it")
	}
	return memory.New(), nil
}

// openBolt opens a store in a file. Without a name it is that of the state folder, and is made only
// when something uses it: most graphs share nothing.
// bbolt locks its file for one process, so two daemons can not share it.
func openBolt(_ context.Context, p worldPlace) (engine.World, error) {
	path := p.rest
	switch {
	case path == "" && p.dir == "":
		return lazy.New(func() (engine.World, error) { return memory.New(), nil }), nil // as all other state of a temporary folder
	case path == "":
		path = filepath.Join(p.dir, worldFile)
		// A file that is there is opened at once: it may hold objects, and another process may
		// have locked it.
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return lazy.New(func() (engine.World, error) { return boltAt(path, p.log) }), nil
		}
	}
	return boltAt(path, p.log)
}

// boltAt opens a file.
func boltAt(path string, log *slog.Logger) (engine.World, error) {
	w, err := bolt.Open(path, bolt.Options{Log: log})
	if errors.Is(err, bolt.ErrLocked) {
		return nil, fmt.Errorf("the store %s: %w; end that process, or name another file with --world bolt:FILE", path, bolt.ErrLocked)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// closeWorld lets go of the store, after the engine has ended.
// It withdraws the values of this host, which would else stay until the lease is over.
// The error is a warning, since the run has ended and its result counts.
func closeWorld(w engine.World, log *slog.Logger) {
	if err := w.Close(); err != nil {
		log.Warn("the store was not closed in order; what this host has published stays there for the time of its lease", "error", err)
	}
}
