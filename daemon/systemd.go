package daemon

import (
	"context"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/service"
)

// systemdPart tells systemd how the daemon stands, and asks it for credentials that have changed. Without systemd it does nothing.
type systemdPart struct {
	notifier *service.Notifier
	stalled  func(context.Context)
	end      func()
}

// Open implements Part. Credentials that can't be renewed are logged, and refuse no reload.
func (s *systemdPart) Open(_ context.Context, d *Daemon) error {
	s.notifier, s.stalled, s.end = service.New(d.Log), d.Stalled, func() {}
	s.notifier.Configure(&d.Options)
	d.Options.Observer = s.notifier.Observe(d.Options.Observer)
	credentials := service.NewCredentials(d.Log)
	d.OnReload(func(ctx context.Context) error {
		credentials.Renew(ctx)
		return nil
	})
	return nil
}

// Start implements Part. The end of ctx is told as the begin of the stop.
func (s *systemdPart) Start(ctx context.Context, e *mgmt.Engine) error {
	s.end = s.notifier.Start(ctx, e.Snapshot, s.stalled)
	return nil
}

// reloading tells of the begin of a reload; of one before Open, nothing.
func (s *systemdPart) reloading() {
	if s.notifier != nil {
		s.notifier.Reloading()
	}
}

// Close implements Part.
func (s *systemdPart) Close() error {
	if s.end != nil {
		s.end()
	}
	return nil
}
