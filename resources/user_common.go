package resources

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
	userdb "github.com/reactivegraph/mgmt/resources/account"
)

// accountBase is what users and groups have in common.
type accountBase struct{ virtualBase }

// Init keeps the handle.
func (b *accountBase) Init(init *engine.Init) error {
	b.init = init
	return nil
}

// watch tells of each change of the databases.
func (b *accountBase) watch(ctx context.Context, module, provider, root string) error {
	m, err := b.open(ctx, module, provider)
	if err != nil {
		return err
	}
	defer m.Close()
	sub, err := m.Watch(ctx, []string{accountRoot(root)})
	if err != nil {
		return err
	}
	defer sub.Close()
	b.init.Running()
	for {
		select {
		case <-sub.C():
			b.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

// accountRoot is the root as backends take it: empty for this machine.
func accountRoot(root string) string {
	if root == "" || filepath.Clean(root) == "/" {
		return ""
	}
	return filepath.Clean(root)
}

// accountProvider is the backend that is asked for: that of files, if it is about another
// system than this one and nothing else is said.
func accountProvider(provider, root string) string {
	if provider == "" && accountRoot(root) != "" {
		return "files"
	}
	return provider
}

// accountRules are those of the parameters that users and groups have in common.
func accountRules(name, state, root string) []error {
	errs := []error{userdb.CheckName(name)}
	if state != "" && state != FileExists && state != FileAbsent {
		errs = append(errs, fmt.Errorf("state is %q, it must be exists or absent", state))
	}
	if root != "" && !filepath.IsAbs(root) {
		errs = append(errs, fmt.Errorf("root: %q is not absolute", root))
	}
	return errs
}

// validate checks that a backend can do what is wanted, if nothing else is wrong.
func (b *accountBase) validate(module string, r virtual.Resource, errs []error) error {
	k, err := b.virtualKind(module)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	return k.Check(r)
}

// texts are names as a Change has them.
func texts(list []string) any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// failAll is the outcome of a batch in which nothing could be done.
func failAll(n int, err error) []engine.Outcome {
	out := make([]engine.Outcome, n)
	for i := range out {
		out[i].Err = err
	}
	return out
}
