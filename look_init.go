package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine"
)

// handle makes what the resource gets.
func (x *looked) handle() *engine.Init {
	o := &x.l.opt
	log := o.Logger.With(slog.String("resource", x.res.String()))
	wake := func() {
		select {
		case x.woken <- struct{}{}:
		default:
		}
	}
	return &engine.Init{
		Program: o.Program, Version: o.Version, Hostname: cmp.Or(o.Hostname, x.l.host.Facts().Hostname),
		Noop:    true,
		Running: wake, Event: wake,
		Busy:     func() func() { return func() {} },
		Refresh:  func() bool { return false },
		Send:     func(any) error { return nil },
		Receives: func() bool { return false },
		Recv:     func() map[string]*engine.Send { return nil },
		Change:   func(engine.Change) {},
		World:    o.World, Host: x.l.host, Shared: x.shared.value(),
		VarDir: func(rel string) (string, error) { return x.l.varDir(x.res, rel) },
		Debug:  o.Debug, Log: log,
		Logf: func(format string, v ...any) { logf(log, format, v...) },
	}
}

func logf(log *slog.Logger, format string, v ...any) { log.Info(fmt.Sprintf(format, v...)) }

// varDir implements Init.VarDir. In the state folder of a run it makes nothing.
func (l *Looker) varDir(res engine.Res, rel string) (string, error) {
	keep := l.opt.StateDir == ""
	if keep && l.remove == nil {
		var err error
		if l.state, l.remove, err = tempState(); err != nil {
			return "", err
		}
	}
	dir := filepath.Join(cmp.Or(l.opt.StateDir, l.state), "vars", engine.FileName(res.Kind()), engine.FileName(res.Name()), filepath.Join("/", rel))
	if !keep {
		return dir, nil
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// lookShared is the value that all resources of one key have in common.
type lookShared struct {
	val   engine.Shared
	begun bool
}

func (s *lookShared) value() engine.Shared {
	if s == nil {
		return nil
	}
	return s.val
}

// share returns the shared part of a resource, opened for the first of its key.
func (l *Looker) share(ctx context.Context, res engine.Res) (s *lookShared, err error) {
	sr, ok := engine.As[engine.SharedRes](res)
	if !ok {
		return nil, nil
	}
	defer engine.Caught("Shared", &err)
	key, open := sr.Shared()
	if s := l.shared[key]; s != nil {
		return s, nil
	}
	val, err := open(ctx, l.host)
	if err != nil {
		return nil, fmt.Errorf("%s: opening what it shares: %w", res, err)
	}
	s = &lookShared{val: val}
	l.shared[key] = s
	return s, nil
}

// begin calls Begin, unless that was done since the last rest.
func (s *lookShared) begin() error {
	if s == nil || s.begun {
		return nil
	}
	err := protect("Begin", func() error { s.val.Begin(); return nil })
	s.begun = err == nil
	return err
}

// rest calls End for all that was begun. Failures are logged: nothing was to be
// altered.
func (l *Looker) rest() {
	for key, s := range l.shared {
		if !s.begun {
			continue
		}
		s.begun = false
		if err := protect("End", func() error { s.val.End(); return nil }); err != nil {
			l.opt.Logger.Warn("ending what is shared failed", slog.String("key", key), slog.Any("error", err))
		}
	}
}

func (l *Looker) closeShared() error {
	l.rest()
	var errs []error
	for _, s := range l.shared {
		errs = append(errs, protect("Close", s.val.Close))
	}
	return errors.Join(errs...)
}

// protect calls f and turns a panic in it into an error.
func protect(method string, f func() error) (err error) {
	defer engine.Caught(method, &err)
	return f()
}
