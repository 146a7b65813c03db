package service_test

import (
	"context"
	"log/slog"
	"os"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/service"
)

// A program that embeds the engine, as a unit with Type=notify-reload and WatchdogSec=.
func Example() {
	run := func(ctx context.Context, front gapi.Frontend, opts mgmt.Options) error {
		if service.IsJournal(os.Stderr) {
			journal, err := service.OpenJournal(service.JournalSocket)
			if err != nil {
				return err
			}
			defer journal.Close()
			opts.Logger = slog.New(journal.Handler(slog.LevelInfo, nil))
		}
		n := service.New(opts.Logger)
		n.Configure(&opts)
		opts.Observer = n.Observe(opts.Observer)
		e, err := mgmt.New(opts)
		if err != nil {
			return err
		}
		defer n.Start(ctx, e.Rest, nil)()
		return e.Run(ctx, front)
	}
	_ = run
}
