package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// onSignals returns a context that ends at the first SIGINT or SIGTERM. The second one
// calls abandon, the third one ends the process at once. The returned function
// stops listening.
func (a *app) onSignals(ctx context.Context, abandon func()) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ch := make(chan os.Signal, 3)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 1; ; n++ {
			select {
			case sig := <-ch:
				a.escalate(n, sig, cancel, abandon)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		<-ended
		cancel(nil)
	}
}

func (a *app) escalate(n int, sig os.Signal, cancel context.CancelCauseFunc, abandon func()) {
	switch n {
	case 1:
		fmt.Fprintf(a.err, "mgmt: %s: stopping; once more to stop waiting\n", sig)
		cancel(fmt.Errorf("signal %s", sig))
	case 2:
		fmt.Fprintf(a.err, "mgmt: %s: not waiting any longer; once more to exit at once\n", sig)
		abandon()
	default:
		a.exit(128 + int(sig.(syscall.Signal)))
	}
}
