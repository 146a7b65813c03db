package daemon

import (
	"context"
	"sync"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/selection"
)

// noticesPart tells receivers of events, out of the history, which the recorder of the socket writes.
type noticesPart struct {
	d *Daemon
	*notices.Notices

	// host runs the commands of receivers, apart from those of the graph: an end of the engine does not kill the last notice of it. It is made
	// for the first of them.
	host func() (*host.Host, error)
	made *host.Host
}

// Open implements Part.
func (p *noticesPart) Open(_ context.Context, d *Daemon) error {
	p.d = d
	list, err := notices.Prepare(d.Notify, d.Env.From.Judge)
	if err != nil {
		return err
	}
	p.Notices = notices.New(list)
	p.host = sync.OnceValues(func() (h *host.Host, err error) {
		p.made, err = host.New(context.Background(), host.Options{Logger: d.Log})
		return p.made, err
	})
	return nil
}

// Start implements Part. It comes before the recorder begins, so the first event is told, too.
func (p *noticesPart) Start(ctx context.Context, e *mgmt.Engine) error {
	d := p.d
	p.Begin(ctx, notices.Options{
		Sending: notices.Sending{Host: d.Host, Program: d.Program, Log: d.Log, Command: p.command},
		Store:   e.Store(), History: e.History(), Hurry: d.Options.Abandon,
		Look: func(resource string) (module string, labels map[string]string) {
			_ = e.Look(context.Background(), func(g mgmt.Running) error { // no graph has neither
				if v := g.Find(resource); v != nil {
					item := selection.Items(resource, v)[0]
					module, labels = item.Module, item.Labels
				}
				return nil
			})
			return module, labels
		},
	})
	d.Go(p.Run)
	return nil
}

func (p *noticesPart) command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	h, err := p.host()
	if err != nil {
		return nil, err
	}
	return h.Command(ctx, c)
}

// receivers tells how the receivers stand.
func (p *noticesPart) receivers() []control.NoticeReceiver {
	list := []control.NoticeReceiver{}
	for _, s := range p.Status() {
		r := control.NoticeReceiver{
			Name: s.Name, Type: s.Sort, Queued: s.Messages, Bytes: s.Bytes, Oldest: s.Oldest, Sent: s.Sent, Failed: s.Failed, Dropped: s.Dropped, Since: s.Since,
		}
		if s.Err != nil {
			r.Error = s.Err.Error()
		}
		list = append(list, r)
	}
	return list
}

// Close implements Part.
func (p *noticesPart) Close() error {
	if p.made == nil {
		return nil
	}
	return p.made.Close()
}
