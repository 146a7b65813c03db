package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// line is a target with its connection, which the controllers of all types share.
type line struct {
	turn chan struct{} // of capacity 1; full while a caller connects, verifies or closes

	// Under turn.
	open *opened // nil while there is no connection
	down outage

	mu     sync.Mutex
	target *Target // nil when it is not declared any more
	users  int
}

// opened is a connection.
type opened struct {
	Transport
	target *Target
	hidden *secrets.Texts
	clock  clock.Clock
}

func newLine(t *Target) *line { return &line{turn: make(chan struct{}, 1), target: t} }

func (l *line) declared() *Target {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.target
}

func (l *line) declare(t *Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = t
}

// join and leave count the controllers that use the line. The last one closes it.
func (l *line) join() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
}

func (l *line) leave() error {
	l.mu.Lock()
	l.users--
	last := l.users == 0
	l.mu.Unlock()
	if !last {
		return nil
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.down = outage{}
	return l.hangUp()
}

// hangUp closes the connection. It holds the turn.
func (l *line) hangUp() error {
	o := l.open
	l.open = nil
	if o == nil {
		return nil
	}
	return callsafe.Do("Close", o.Close)
}

const (
	connectLimit = time.Minute      // of connecting
	verifyLimit  = 20 * time.Second // of Verify
)

// reach returns the connection, and connects if there is none, or only a connection to the earlier target. While the
// target does not answer it is asked with a pause that grows, as the things of a type are.
func (l *line) reach(ctx context.Context, name string, h engine.Host) (*opened, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-l.turn }()
	t := l.declared()
	if t == nil {
		return nil, fmt.Errorf("the target %s is not declared any more", name)
	}
	if l.open != nil && l.open.target.equal(t) {
		return l.open, nil
	}
	if l.open != nil {
		_ = l.hangUp() // what it was is of no use any more
		l.down = outage{}
	}
	if !l.down.over(engine.ClockOf(h)) {
		return nil, l.down.err
	}
	o, err := t.connect(ctx, h)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		l.down.begin(engine.ClockOf(h), err)
		return nil, err
	}
	l.open, l.down = o, outage{}
	return o, nil
}

// Facts connects to a target, verifies that it can be used, and returns its facts.
func (ts *Targets) Facts(ctx context.Context, name string, h engine.Host) (facts map[string]any, err error) {
	l := ts.line(name)
	if l == nil || l.declared() == nil {
		return nil, noTarget(name, ts)
	}
	l.join()
	defer func() { err = errors.Join(err, l.leave()) }()
	o, err := l.reach(ctx, name, h)
	if err != nil {
		return nil, err
	}
	err = callsafe.Do("Facts", func() error {
		if err := o.Verify(ctx); err != nil {
			return err
		}
		facts, err = o.Transport.Facts(ctx)
		return err
	})
	if err != nil {
		return nil, o.target.lost(nil, o.hidden, err)
	}
	return facts, nil
}

// connect opens a connection.
func (t *Target) connect(ctx context.Context, h engine.Host) (*opened, error) {
	info, hidden, err := t.revealed(readSecret)
	if err != nil {
		return nil, t.lost(nil, hidden, err)
	}
	o := &opened{target: t, hidden: hidden, clock: engine.ClockOf(h)}
	limited, cancel := clock.WithTimeout(ctx, engine.ClockOf(h), connectLimit, fmt.Errorf("it has not connected within %s", connectLimit))
	defer cancel()
	err = callsafe.Do("connecting", func() (err error) {
		o.Transport, err = t.over.connect(limited, &Line{Target: t.Name, Host: h}, info)
		if err == nil && o.Transport == nil {
			err = errors.New("the transport has made no connection")
		}
		return err
	})
	if err != nil {
		return nil, t.lost(nil, hidden, err)
	}
	return o, nil
}

// lost is the error of a target, without its secrets.
func (t *Target) lost(resources []string, hidden *secrets.Texts, err error) error {
	if hidden != nil {
		err = hidden.Error(err)
	}
	err = &TargetError{Target: t.Name, Transport: t.Transport, Resources: resources, Err: err}
	if len(resources) > 0 {
		return failure.Interrupted(err)
	}
	return err
}

// doubt asks the target, after an error of a call over a connection, whether it is still there. If it is not, the connection
// is closed, and the error that is returned says so.
func (l *line) doubt(ctx context.Context, o *opened, resources []string, err error) error {
	if _, ok := errors.AsType[*TargetError](err); ok || ctx.Err() != nil {
		return o.hidden.Error(err)
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	limited, cancel := clock.WithTimeout(context.WithoutCancel(ctx), o.clock, verifyLimit, fmt.Errorf("it has not answered within %s", verifyLimit))
	defer cancel()
	if l.open == o {
		if callsafe.Do("Verify", func() error { return o.Verify(limited) }) == nil {
			return o.hidden.Error(err)
		}
		_ = l.hangUp()
	}
	return o.target.lost(resources, o.hidden, err)
}

// maxSecret is how large a file with a secret may be.
const maxSecret = 64 << 10

// readSecret reads a file with a secret, which no other user may be able to read.
func readSecret(path string) (string, error) {
	f, err := safepath.System().Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if st.Mode()&0o077 != 0 {
		return "", fmt.Errorf("other users can read or write %s, which holds a secret (mode %04o): chmod 600", path, st.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err == nil && len(text) > maxSecret {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxSecret)
	}
	return string(text), err
}
