package reactor

import (
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// notified makes the subscription of v in the place of its Watch, with no goroutine that
// waits, and reports false if Watch has to be called.
func (c *core) notified(ctx *watch.Context, v *vertex) bool {
	host, ok := c.opt.Host.(engine.NotifyingHost)
	if !ok || !v.abil.watched {
		return false
	}
	paths, o, ok, err := watchesOf(v.Res.(engine.WatchedRes))
	if err == nil && !ok {
		return false
	}
	if err == nil {
		o.Resource = v.ID
		err = ctx.Subscribe(host, paths, o, v.watch.Subs(), (*vertexTeller)(v))
	}
	if err != nil {
		ctx.Result = engine.Freeze("Watch", err)
		c.mail.post(v, mailWatched)
	}
	return true
}

func watchesOf(res engine.WatchedRes) (paths []string, o engine.WatchOptions, ok bool, err error) {
	defer engine.Caught("Watches", &err)
	paths, o, ok = res.Watches()
	return paths, o, ok, nil
}

// vertexTeller posts the events that the Watch of a vertex would give.
type vertexTeller vertex

func (t *vertexTeller) Running() { (*vertex)(t).sayRunning() }
func (t *vertexTeller) Event()   { (*vertex)(t).sayEvent() }
func (t *vertexTeller) Ended()   { t.core.mail.post((*vertex)(t), mailWatched) }
