package exec

import (
	"context"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
)

// Watch gives an event for each change of a watched path and for each line that
// watchcmd prints. The command is ended, with its descendants, before Watch returns.
// What CheckApply refuses to run is not watched either. It owns watchcmd and both
// subscriptions, which end with it. Running is called once all of them stand. It returns nil at the end of ctx. The end of watchcmd is an error, after which the engine starts the watch again.
func (x *Res) Watch(ctx context.Context) error {
	if x.refuseSecrets() != nil || len(x.WatchFiles) == 0 && len(x.statePaths()) == 0 && x.WatchCmd == "" {
		return watches.Idle(ctx, x.init)
	}
	asked, err := x.subscribe(ctx, x.WatchFiles)
	if err != nil {
		return err
	}
	defer asked.Close()
	state, err := x.subscribe(ctx, x.statePaths())
	if err != nil {
		return err
	}
	defer state.Close()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, ended := make(chan struct{}, 1), make(chan error, 1)
	if x.WatchCmd != "" {
		go func() { ended <- x.follow(ctx, lines) }()
		defer func() { cancel(); <-ended }()
	}
	x.arm()
	for {
		select {
		case <-asked.C():
			x.happened(asked.Cause())
		case <-state.C():
			x.init.Event() // CheckApply sees what it is
		case <-lines:
			x.happened(events.Cause{})
		case err := <-ended:
			ended <- nil // for the deferred wait
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// happened counts an event that asks for a run, and passes it on. A resync does not count: the
// stamp shows missed changes.
func (x *Res) happened(c events.Cause) {
	if !c.Resync {
		x.run.events.Add(1)
	}
	x.init.Event()
}

// statePaths are the paths that conditions look at. An event of them asks for
// another look and not for a run, unlike those of watchfiles.
func (x *Res) statePaths() []string {
	if x.Creates == "" {
		return x.Mtimes
	}
	return append(slices.Clone(x.Mtimes), x.Creates)
}

// No paths give a subscription that is always silent, so the loop needs no special
// case.
func (x *Res) subscribe(ctx context.Context, paths []string) (events.Subscription, error) {
	if len(paths) == 0 {
		return noSubscription{}, nil
	}
	return x.init.Host.Watch(ctx, paths, events.Options{Contents: true})
}

// arm tells the engine that the watches are there. If this is not the first
// time, watchcmd may have had something to tell while it did not run; the files
// have their stamp.
func (x *Res) arm() {
	if x.run.armed && x.WatchCmd != "" {
		x.run.events.Add(1)
	}
	x.run.armed = true
	x.init.Running()
}

// noSubscription never wakes up.
type noSubscription struct{}

func (noSubscription) C() <-chan struct{}  { return nil }
func (noSubscription) Cause() events.Cause { return events.Cause{} }
func (noSubscription) Close()              {}

// follow runs watchcmd until it ends, and wakes up for each line. The end of the context is not an
// error; any other end is one.
func (x *Res) follow(ctx context.Context, lines chan<- struct{}) error {
	hc, err := x.hostCommand(x.watchCommand())
	if err != nil {
		return err
	}
	var t command.Tail
	hc.MaxOutput = 1 // it may run for years, and is read line by line
	hc.Stderr = t.Add
	hc.Stdout = func([]byte) {
		select {
		case lines <- struct{}{}:
		default: // one is waiting already
		}
	}
	res, err := x.init.Host.Command(ctx, hc)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("watchcmd: %w", err)
	case res.Signal != "":
		return x.withTail(fmt.Errorf("watchcmd was ended by the signal %s", res.Signal), &t)
	default:
		err := fmt.Errorf("watchcmd ended with exit status %d, it must run for as long as it is to watch", res.ExitCode)
		return x.withTail(err, &t)
	}
}
