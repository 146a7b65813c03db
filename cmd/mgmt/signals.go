package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// endings are the signals that end the program. A terminal that is closed sends
// SIGHUP, and a reader of the log that has gone SIGPIPE; what was started with
// nohup ignores them, and goes on doing so.
func endings() []os.Signal {
	list := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGPIPE} {
		if !signal.Ignored(sig) {
			list = append(list, sig)
		}
	}
	return list
}

// onSignals returns a context that ends at the first of the endings. The second one
// calls abandon, the third one ends the process at once. The first two are told
// of. The returned function stops listening.
func (a *app) onSignals(ctx context.Context, abandon func(), tell func(os.Signal, string)) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ch := make(chan os.Signal, 3)
	signal.Notify(ch, endings()...)
	done, ended := make(chan struct{}), make(chan struct{})
	var abandoning sync.WaitGroup // the third signal does not wait for it
	go func() {
		defer close(ended)
		for n := 1; ; n++ {
			select {
			case sig := <-ch:
				if sig == syscall.SIGPIPE && n > 1 {
					n-- // each line that nobody reads sends one; it is no impatience
					continue
				}
				switch n {
				case 1:
					tell(sig, "stopping; once more to stop waiting")
					cancel(fmt.Errorf("signal %s", sig))
				case 2:
					tell(sig, "not waiting any longer; once more to exit at once")
					abandoning.Go(abandon)
				default:
					a.exit(128 + int(sig.(syscall.Signal)))
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		<-ended
		abandoning.Wait()
		cancel(nil)
	}
}
