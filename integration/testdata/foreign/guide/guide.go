// Package guide has the examples of the resource guide of mgmt, as they stand there, with the places filled in that the guide leaves open.
// Nothing else is altered but the import paths.
package guide

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

func init() { // special golang method that runs once
	// set your resource kind and struct here (the kind must be lower case)
	engine.RegisterResource("foo", func() engine.Res { return &FooRes{} })
	engine.RegisterResource("bar", func() engine.Res { return &BarRes{} })
	engine.RegisterResource("pair", func() engine.Res { return &PairRes{} })
}

// FooRes keeps a file.
type FooRes struct {
	traits.Base // add the base methods without re-implementation
	traits.Groupable
	traits.Refreshable
	traits.Recvable

	init *engine.Init

	Whatever string `lang:"whatever" yaml:"whatever"` // you pick!
	Baz      bool   `lang:"baz" yaml:"baz"`           // something else
	Flag     bool   `lang:"flag" yaml:"flag"`
	Answer   int    `lang:"answer" yaml:"answer"`

	something string // some private field
	foo       *foo
}

// Default returns some sensible defaults for this resource.
func (obj *FooRes) Default() engine.Res {
	return &FooRes{
		Answer: 42, // sometimes, defaults shouldn't be the zero value
	}
}

// Validate reports any problems with the struct definition.
func (obj *FooRes) Validate() error {
	if obj.Answer != 42 { // validate whatever you want
		return fmt.Errorf("expected an answer of 42")
	}
	return nil
}

// Init initializes the Foo resource.
func (obj *FooRes) Init(init *engine.Init) error {
	obj.init = init // save for later

	// run the resource specific initialization, and error if anything fails
	if obj.Whatever == "" {
		return errors.New("there is nothing to do") // something went wrong!
	}
	obj.something = obj.Whatever
	return nil
}

// Cleanup is run by the engine to clean up after the resource is done.
func (obj *FooRes) Cleanup() error {
	obj.something = ""
	return nil
}

// CheckApply does the idempotent work of checking and applying resource state.
func (obj *FooRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	// inside CheckApply, probably near the top
	if val, exists := obj.init.Recv()["SomeKey"]; exists {
		obj.init.Logf("the SomeKey param was sent to us from: %s.%s", val.Res, val.Key)
		if val.Changed {
			obj.init.Logf("the SomeKey param was just updated!")
			// you may want to invalidate some local cache
		}
	}

	// my private split implementation of check and apply
	if c, err := obj.check(ctx); err != nil {
		return false, err // we errored
	} else if c {
		return true, nil // state was good!
	}

	if !apply {
		return false, nil // state needs fixing, but apply is false
	}

	err := obj.apply(ctx) // errors if failure or unable to apply

	return false, err // always return false, with an optional error
}

func (obj *FooRes) check(context.Context) (bool, error) {
	_, err := os.Stat(obj.something)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (obj *FooRes) apply(context.Context) error {
	return os.WriteFile(obj.something, nil, 0o600)
}

// Watch is the listener and main loop for this resource.
func (obj *FooRes) Watch(ctx context.Context) error {
	// setup the Foo resource
	var err error
	if err, obj.foo = OpenFoo(); err != nil {
		return err // we couldn't startup
	}
	defer obj.foo.CloseFoo() // shutdown our Foo

	// notify engine that we're running
	obj.init.Running() // when started, notify engine that we're running

	var send = false // send event?
	for {
		select {
		// the actual events!
		case event := <-obj.foo.Events:
			if event == "news" {
				send = true
			}

		// event errors
		case err := <-obj.foo.Errors:
			return err // will cause a retry or permanent failure

		case <-ctx.Done(): // signal for shutdown request
			return nil
		}

		// do all our event sending all together to avoid duplicate msgs
		if send {
			send = false
			obj.init.Event()
		}
	}
}

// foo is what the guide opens, and says no more of.
type foo struct {
	Events chan string
	Errors chan error
}

// OpenFoo returns the error first, as the guide has it.
func OpenFoo() (error, *foo) {
	f := &foo{Events: make(chan string, 1), Errors: make(chan error)}
	f.Events <- "news"
	return nil, f
}

// CloseFoo ends it.
func (f *foo) CloseFoo() {}

// Cmp compares two resources and returns an error if they are not equivalent.
func (obj *FooRes) Cmp(r engine.Res) error {
	// we can only compare FooRes to others of the same resource kind
	res, ok := r.(*FooRes)
	if !ok {
		return fmt.Errorf("not a %s", obj.Kind())
	}
	if obj.Whatever != res.Whatever {
		return fmt.Errorf("the Whatever param differs")
	}
	if obj.Flag != res.Flag {
		return fmt.Errorf("the Flag param differs")
	}

	return nil // they must match!
}

// UnmarshalYAML is the custom unmarshal handler for this struct. It is
// primarily useful for setting the defaults.
func (obj *FooRes) UnmarshalYAML(unmarshal func(interface{}) error) error {
	type rawRes FooRes // indirection to avoid infinite recursion

	def := obj.Default()     // get the default
	res, ok := def.(*FooRes) // put in the right format
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

// BarRes groups itself to others by a GroupCmp, as the guide says of Groupable.
type BarRes struct {
	traits.Base
	traits.Groupable

	init *engine.Init

	Path string `lang:"path" yaml:"path"`
	Team string `lang:"team" yaml:"team"`
}

// Default returns some sensible defaults for this resource.
func (obj *BarRes) Default() engine.Res { return &BarRes{} }

// Validate reports any problems with the struct definition.
func (obj *BarRes) Validate() error { return nil }

// Init initializes the resource, and its members.
func (obj *BarRes) Init(init *engine.Init) error {
	obj.init = init
	return obj.InitGroup(init)
}

// Cleanup cleans up the members.
func (obj *BarRes) Cleanup() error { return obj.CleanupGroup() }

// Watch has nothing to watch.
func (obj *BarRes) Watch(ctx context.Context) error {
	obj.init.Running()
	<-ctx.Done()
	return nil
}

// CheckApply makes a file, and has the members make theirs.
func (obj *BarRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	_, err := os.Stat(obj.Path)
	ok := err == nil
	if err = nil; !ok && apply {
		err = os.WriteFile(obj.Path, nil, 0o600)
	}
	return obj.CheckGroup(ctx, apply, ok, err)
}

// Cmp compares the members, too.
func (obj *BarRes) Cmp(r engine.Res) error {
	if res, ok := r.(*BarRes); !ok || obj.Path != res.Path || obj.Team != res.Team {
		return fmt.Errorf("they differ")
	}
	return obj.CmpGroup(r)
}

// GroupCmp returns an error if two resources can't be grouped together.
func (obj *BarRes) GroupCmp(r engine.GroupableRes) error {
	res, ok := r.(*BarRes)
	if !ok {
		return fmt.Errorf("resource is not the same kind")
	}
	if obj.Team != res.Team {
		return fmt.Errorf("the Team param differs")
	}
	return nil
}

// PairRes embeds an existing resource, without its Watch.
type PairRes struct {
	traits.Base

	init *engine.Init
	foo  engine.Res

	Path string `lang:"path" yaml:"path"`
}

func (obj *PairRes) makeComposite() (*FooRes, error) {
	res, err := engine.NewNamedResource("foo", obj.Name())
	if err != nil {
		return nil, err
	}
	foo := res.(*FooRes)
	foo.Whatever = obj.Path
	return foo, nil
}

// Default returns some sensible defaults for this resource.
func (obj *PairRes) Default() engine.Res { return &PairRes{} }

// Validate validates the composite resource, too.
func (obj *PairRes) Validate() error {
	foo, err := obj.makeComposite()
	if err != nil {
		return err
	}
	return foo.Validate()
}

// Init initializes the composite resource, too.
func (obj *PairRes) Init(init *engine.Init) error {
	obj.init = init
	foo, err := obj.makeComposite()
	if err != nil {
		return err
	}
	obj.foo = foo
	return foo.Init(init.Child(foo))
}

// Cleanup cleans up the composite resource.
func (obj *PairRes) Cleanup() error { return obj.foo.Cleanup() }

// Watch has nothing to watch.
func (obj *PairRes) Watch(ctx context.Context) error {
	obj.init.Running()
	<-ctx.Done()
	return nil
}

// CheckApply is that of the composite resource.
func (obj *PairRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	return obj.foo.CheckApply(ctx, apply)
}

// Cmp compares two resources.
func (obj *PairRes) Cmp(r engine.Res) error {
	if res, ok := r.(*PairRes); !ok || obj.Path != res.Path {
		return fmt.Errorf("they differ")
	}
	return nil
}
