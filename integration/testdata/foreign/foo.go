// Package foreign has a resource that lives in a module of its own and knows the
// engine only by its two import paths: engine and traits. It is written the way
// the resource guide tells authors to write one, plain parts and all: its own
// watcher, its own Cmp, its own UnmarshalYAML, and no use of what the engine
// offers beyond the guide.
package foreign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/traits"
)

func init() { // runs once, when the package is imported
	engine.RegisterResource("foo", func() engine.Res { return &FooRes{} })
}

// FooRes keeps one line in one file.
type FooRes struct {
	traits.Base // the methods that every resource has
	traits.Edgeable
	traits.Groupable
	traits.Refreshable
	traits.Sendable
	traits.Recvable

	init *engine.Init

	// File is where the line is.
	File string `lang:"file" yaml:"file"`
	// Whatever is the line.
	Whatever string `lang:"whatever" yaml:"whatever"`
	// Baz makes it a loud one.
	Baz bool `lang:"baz" yaml:"baz"`
	// After is the file of another foo, which comes first.
	After string `lang:"after" yaml:"after"`
	// Answer can only be one thing.
	Answer int `lang:"answer" yaml:"answer"`

	something string // private
	foo       *fooWatcher
}

// FooSends is what a foo sends.
type FooSends struct {
	Line string `lang:"line" yaml:"line"`
}

// Default returns some sensible defaults for this resource.
func (obj *FooRes) Default() engine.Res {
	return &FooRes{
		Answer: 42, // not the zero value
	}
}

// Validate reports any problems with the struct definition.
func (obj *FooRes) Validate() error {
	if obj.Answer != 42 {
		return fmt.Errorf("expected an answer of 42")
	}
	if !filepath.IsAbs(obj.File) {
		return fmt.Errorf("the file must be an absolute path")
	}
	return nil
}

// Init initializes the Foo resource.
func (obj *FooRes) Init(init *engine.Init) error {
	obj.init = init // save for later
	dir, err := obj.init.VarDir("")
	if err != nil {
		return err
	}
	obj.something = filepath.Join(dir, "refreshed")
	return nil
}

// Cleanup is run by the engine to clean up after the resource is done.
func (obj *FooRes) Cleanup() error {
	obj.something = ""
	return nil
}

// Watch is the listener and main loop for this resource.
func (obj *FooRes) Watch(ctx context.Context) error {
	var err error
	if obj.foo, err = openFoo(obj.File); err != nil {
		return err // we couldn't startup
	}
	defer obj.foo.Close()

	obj.init.Running() // when started, notify engine that we're running

	var send = false // send event?
	for {
		select {
		case <-obj.foo.Events:
			send = true

		case err := <-obj.foo.Errors:
			return err

		case <-ctx.Done(): // signal for shutdown request
			return nil
		}

		if send {
			send = false
			obj.init.Event()
		}
	}
}

// CheckApply does the idempotent work of checking and applying resource state.
func (obj *FooRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if val, exists := obj.init.Recv()["Whatever"]; exists {
		obj.init.Logf("the Whatever param was sent to us from: %s.%s", val.Res, val.Key)
		if val.Changed {
			obj.init.Logf("the Whatever param was just updated!")
		}
	}
	if err := obj.init.Send(&FooSends{Line: obj.line()}); err != nil {
		return false, err
	}

	have, err := os.ReadFile(obj.File)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if err == nil && string(have) == obj.line()+"\n" && !obj.init.Refresh() {
		return true, nil // done early!
	}
	if !apply {
		return false, nil
	}
	if obj.init.Refresh() {
		if err := obj.count(); err != nil {
			return false, err
		}
	}
	return false, os.WriteFile(obj.File, []byte(obj.line()+"\n"), 0o600)
}

func (obj *FooRes) line() string {
	if obj.Baz {
		return strings.ToUpper(obj.Whatever)
	}
	return obj.Whatever
}

// count counts the refreshes beside the file.
func (obj *FooRes) count() error {
	data, err := os.ReadFile(obj.something)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	n, _ := strconv.Atoi(string(data))
	n++
	obj.init.Logf("refresh number %d", n)
	return os.WriteFile(obj.something, []byte(strconv.Itoa(n)), 0o600)
}

// Cmp compares two resources and returns if they are equivalent.
func (obj *FooRes) Cmp(r engine.Res) error {
	// we can only compare FooRes to others of the same resource kind
	res, ok := r.(*FooRes)
	if !ok {
		return fmt.Errorf("not a %s", obj.Kind())
	}
	if obj.File != res.File {
		return fmt.Errorf("the File param differs")
	}
	if obj.Whatever != res.Whatever {
		return fmt.Errorf("the Whatever param differs")
	}
	if obj.Baz != res.Baz {
		return fmt.Errorf("the Baz param differs")
	}
	if obj.After != res.After {
		return fmt.Errorf("the After param differs")
	}
	if obj.Answer != res.Answer {
		return fmt.Errorf("the Answer param differs")
	}
	return nil // they must match!
}

// Sends returns what this resource sends.
func (obj *FooRes) Sends() interface{} { return &FooSends{} }

// UnmarshalYAML is the custom unmarshal handler for this struct. It sets the
// defaults.
func (obj *FooRes) UnmarshalYAML(unmarshal func(interface{}) error) error {
	type rawRes FooRes // indirection to avoid infinite recursion

	def := obj.Default()
	res, ok := def.(*FooRes)
	if !ok {
		return fmt.Errorf("could not convert to FooRes")
	}
	raw := rawRes(*res) // convert; the defaults go here

	if err := unmarshal(&raw); err != nil {
		return err
	}

	*obj = FooRes(raw) // restore from indirection with type conversion!
	return nil
}

// FooUID is what a foo is called by others, or asks another one by.
type FooUID struct {
	name, file string
	asks       bool
}

func (u *FooUID) String() string   { return "foo[" + u.name + "] " + u.file }
func (u *FooUID) GetName() string  { return u.name }
func (u *FooUID) GetKind() string  { return "foo" }
func (u *FooUID) IsReversed() bool { return u.asks }

// IFF aka if and only if they're equivalent, return true.
func (u *FooUID) IFF(uid autoedge.UID) bool {
	other, ok := uid.(*FooUID)
	return ok && u.file == other.file
}

// UIDs includes all params to make a unique identification of this object.
func (obj *FooRes) UIDs() []autoedge.UID {
	return []autoedge.UID{&FooUID{name: obj.Name(), file: obj.File}}
}

// AutoEdges asks for the foo that comes first.
func (obj *FooRes) AutoEdges() (autoedge.Needs, error) {
	if obj.After == "" {
		return nil, nil
	}
	return &fooEdge{&FooUID{name: obj.Name(), file: obj.After, asks: true}}, nil
}

// fooEdge asks once.
type fooEdge struct{ uid autoedge.UID }

// Next gives the candidates.
func (e *fooEdge) Next() []autoedge.UID { return []autoedge.UID{e.uid} }

// Test ends it, whether or not there is such a foo.
func (e *fooEdge) Test([]bool) bool { return false }

// GroupCmp refuses every group.
func (obj *FooRes) GroupCmp(engine.GroupableRes) error { return fmt.Errorf("foo does not group") }
