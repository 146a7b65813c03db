// Package composite has a resource that holds another one: conf keeps a
// configuration file by the kind file, and lets a command look at a new content
// before that takes the place of the old one. docs/composite-resources.md tells
// of it.
package composite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("conf", func() engine.Res { return &ConfRes{} })
}

// ConfRes is a configuration file that is put in place only when a command has
// found it right.
type ConfRes struct {
	traits.Base
	traits.Overlapping
	traits.Recvable

	Path    string      `yaml:"path" mgmt:"identity" doc:"Absolute path; the name if absent."`
	Content string      `yaml:"content" doc:"The whole content."`
	Mode    schema.Mode `yaml:"mode" doc:"Permissions, octal or symbolic."`
	Check   []string    `yaml:"check" mgmt:"param" doc:"The command that looks at a new content: a program and its arguments; {} stands for the path of a file that holds it. It ends with 0 if it is right."`

	init *engine.Init
	kids traits.Children
}

// Default returns a file that is empty.
func (r *ConfRes) Default() engine.Res { return &ConfRes{} }

func (r *ConfRes) path() string {
	if r.Path == "" {
		return r.Name()
	}
	return r.Path
}

// children makes what this resource holds. It follows from the parameters alone.
func (r *ConfRes) children() []engine.Res {
	return []engine.Res{
		traits.Child("file", r.path(), &file.Res{Content: new(r.Content), Mode: r.Mode}),
	}
}

// Validate asks the children too.
func (r *ConfRes) Validate() error {
	var err error
	if len(r.Check) == 0 {
		err = errors.New("check: name a command, or use the kind file")
	}
	return errors.Join(err, traits.ValidateChildren(r.children()...))
}

// Init initialises the children. What this resource receives, the file does: the
// parameters have the same names. So a secret stays one.
func (r *ConfRes) Init(init *engine.Init) error {
	r.init = init
	if err := r.kids.Init(init, r.children()...); err != nil {
		return err
	}
	r.kids.Handle(0).Recv = init.Recv
	return nil
}

// Cleanup cleans up the children.
func (r *ConfRes) Cleanup() error { return r.kids.Cleanup() }

// Watch watches what the children are about, in their place.
func (r *ConfRes) Watch(ctx context.Context) error {
	sub, err := r.init.Host.Watch(ctx, []string{r.path()}, events.Options{})
	if err != nil {
		return err
	}
	defer sub.Close()
	r.init.Running()
	for {
		select {
		case <-sub.C():
			r.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

// CheckApply lets the command look before the file is altered.
func (r *ConfRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := r.kids.Follow(r.children()...); err != nil {
		return false, err
	}
	ok, err := r.kids.CheckApply(ctx, false) // it reports what differs
	if ok || err != nil || !apply {
		return ok, err
	}
	if err := r.check(ctx); err != nil {
		return false, err
	}
	return false, r.kids.Apply(ctx)
}

// check runs the command on the new content.
func (r *ConfRes) check(ctx context.Context) (err error) {
	dir, err := r.init.VarDir("")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "new")
	defer func() { err = errors.Join(err, os.RemoveAll(file)) }()
	if err := os.WriteFile(file, []byte(r.Content), 0o600); err != nil {
		return err
	}
	argv := make([]string, len(r.Check))
	for i, arg := range r.Check {
		argv[i] = strings.ReplaceAll(arg, "{}", file)
	}
	res, err := r.init.Host.Command(ctx, engine.Command{Argv: argv})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("%s is left as it is, because the check refused the new content: %s", r.path(), strings.TrimSpace(string(res.Output)))
	}
	return err
}

// Cmp compares the parameters: the children follow from them.
func (r *ConfRes) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// Doc describes the kind.
func (*ConfRes) Doc() string {
	return "A configuration file that is replaced only when a command has found the new content right."
}
