package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// Life is one resource in an Env. Env.Join gives it its resource. There may be millions, so it is
// small, and made to stand inside of another struct. It must not be copied.
type Life struct {
	Res engine.Res
	ID  string // of the resource: kind[name]

	env   *Env
	share *Share                        // since Init, where the resource shares something
	own   atomic.Pointer[secrets.Texts] // the secrets that it knows; nil for none
	begun bool                          // Init has succeeded, and Cleanup was not called
}

// Join makes l, which must be empty, the life of a resource that was made and validated. It calls
// no method.
func (e *Env) Join(l *Life, id string, res engine.Res) { l.Res, l.ID, l.env = res, id, e }

// Env returns the parts that the resource has in common with the others.
func (l *Life) Env() *Env { return l.env }

// Begun reports whether Init has succeeded, and Cleanup has not been called since.
func (l *Life) Begun() bool { return l.begun }

// Share returns the Share that the resource uses since Init; nil where it shares nothing. After Cleanup it may be closed.
func (l *Life) Share() *Share { return l.share }

// Init opens the Share of the resource, where it has one, and calls Init of the resource. The handle
// leads nowhere, but for the machine, the world, the folder and the log. The function with, which
// may be nil, completes it after the opening and before Init. On an error nothing remains. Init
// blocks as long as the methods of the resource; the context bounds the opening.
func (l *Life) Init(ctx context.Context, with func(*engine.Init)) (err error) {
	if l.share, err = l.env.shares.open(ctx, l.Res); err != nil {
		return err
	}
	defer func() { // also where Init ends the goroutine
		if !l.begun {
			_ = l.leave()
			l.share = nil
		}
	}()
	handle := l.handle()
	if with != nil {
		with(handle)
	}
	if err := Call("Init", func() error { return l.Res.Init(handle) }); err != nil {
		return fmt.Errorf("cannot be initialised: %w", err)
	}
	l.begun = true
	return nil
}

// Cleanup calls Cleanup of the resource, once after an Init without an error, and gives up what
// it shares. Else it does nothing.
func (l *Life) Cleanup() (err error) {
	if !l.begun {
		return nil
	}
	l.begun = false
	defer func() { // also where it ends its goroutine
		if end := l.leave(); end != nil {
			err = errors.Join(err, fmt.Errorf("closing what it shares: %w", end))
		}
	}()
	return Call("Cleanup", l.Res.Cleanup)
}

// leave gives up the use of the Share.
func (l *Life) leave() error { return l.env.shares.leave(l.share) }

// handle makes the engine.Init that the resource gets, in one piece with its logger.
func (l *Life) handle() *engine.Init {
	o := &l.env.opt
	h := &struct {
		engine.Init
		log slog.Logger
	}{log: *slog.New((*logHandler)(l))}
	h.Init = engine.Init{
		Program: o.Program, Version: o.Version, Hostname: o.Hostname,
		Running: nothing, Event: nothing, Busy: busy,
		Refresh: no, Receives: no, Send: sendNothing, Recv: received, Change: change,
		World: o.World, Lease: o.Lease, Host: o.Host, Shared: l.share.Value(),
		VarDir: l.VarDir, Debug: o.Debug, Logf: l.Logf, Log: &h.log,
	}
	return &h.Init
}

// The parts of a handle that lead nowhere.
func nothing()                          {}
func no() bool                          { return false }
func busy() func()                      { return nothing }
func sendNothing(any) error             { return nil }
func received() map[string]*engine.Send { return nil }
func change(engine.Change)              {}

// VarDir implements Init.VarDir of a resource that may alter the machine.
func (l *Life) VarDir(rel string) (string, error) { return l.folder(rel, true) }

// VarPath is VarDir, but makes no folder: for a resource that must not alter anything.
func (l *Life) VarPath(rel string) (string, error) { return l.folder(rel, false) }

func (l *Life) folder(rel string, write bool) (string, error) {
	dir, err := l.env.state.make(l.Res.Kind(), l.Res.Name(), rel, write)
	if err != nil {
		return "", fmt.Errorf("%s: %w", l.ID, err)
	}
	return dir, nil
}

// RemoveState removes the folder of the resource, where the engine may alter the machine.
func (l *Life) RemoveState() error { return l.env.state.remove(l.Res.Kind(), l.Res.Name()) }
