package account

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/account/backends"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
)

// accountBase is what users and groups have in common. It gives the choice of a
// backend and the engine's handle, which Init keeps.
type accountBase struct{ virtualkind.Backed }

// Init keeps the handle.
func (b *accountBase) Init(init *engine.Init) error {
	b.Keep(init)
	return nil
}

// subscribe subscribes to the databases, and to paths that come or go. c owns both
// subscriptions then, and closes them. If the second one fails, the first one is
// closed here.
func (b *accountBase) subscribe(ctx context.Context, c *virtualkind.Chosen, root string, paths ...string) error {
	sub, err := c.Watch(ctx, []string{accountRoot(root)})
	if err != nil {
		return err
	}
	var there events.Subscription
	if len(paths) > 0 {
		if there, err = b.Handle().Host.Watch(ctx, paths, events.Options{}); err != nil {
			if sub != nil {
				sub.Close()
			}
			return err
		}
	}
	c.Subscribed(sub, there)
	return nil
}

// Woken gives an event for each wake-up: a change of a database does not tell whose
// entry it is.
func (b *accountBase) Woken(context.Context, *virtualkind.Chosen) error {
	b.Handle().Event()
	return nil
}

// sharedOf yields all users, or groups, that a module tells of. An error is yielded
// once and ends it. The module is closed when the loop ends, early or not.
func sharedOf[T any](open func() (*virtual.Module, error), as func(*T) engine.Res, all func(*virtual.Module) ([]T, error)) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		m, err := open()
		if err != nil {
			yield(nil, err)
			return
		}
		defer m.Close()
		list, err := all(m)
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range list {
			if !yield(as(&list[i]), nil) {
				return
			}
		}
	}
}

// accountRoot is the root as backends take it: empty for this machine. Two spellings
// of one folder are the same, since it becomes a part of keys.
func accountRoot(root string) string {
	if root == "" || filepath.Clean(root) == "/" {
		return ""
	}
	return filepath.Clean(root)
}

// accountBackend is the backend that is asked for: that of files, if it is about
// another system than this one and nothing else is said. The tools of the system
// work on this machine only, so another folder needs the backend that edits files.
func accountBackend(backend, root string) string {
	if backend == "" && accountRoot(root) != "" {
		return "files"
	}
	return backend
}

// accountNeeds adds to functions that they have to know of another system, if it is
// about one. It alters the given list and returns it. The suffix root names the
// support of a function for another folder.
func accountNeeds(root string, functions ...string) []string {
	if accountRoot(root) == "" {
		return functions
	}
	for i := range functions {
		functions[i] += ".root"
	}
	return functions
}

// accountRules are those of the parameters that users and groups have in common. It
// returns all faults. The name is checked, since it becomes an argument of a
// program.
func accountRules(name, state, root string) []error {
	errs := []error{backends.CheckName(name)}
	if state != "" && state != Exists && state != Absent {
		errs = append(errs, fmt.Errorf("state is %q, it must be exists or absent", state))
	}
	if root != "" && !filepath.IsAbs(root) {
		errs = append(errs, fmt.Errorf("root: %q is not absolute", root))
	}
	return errs
}

// States of a user or group. Exists is the default of both kinds. Absent removes the
// entry from all databases that have it.
const (
	Exists = "exists"
	Absent = "absent"
)
