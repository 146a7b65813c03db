package reactor

import (
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// watches are the Watches that start.
type watches struct {
	starting []*vertex // whose Watch is about to get its goroutine
	next     int64     // when an alarm looks for Watches that are slow or late; 0 for never
	looked   int64     // when it has looked last
}

// startAtOnce is how many Watches one goroutine starts when there are many.
const startAtOnce = 4096

// startAll makes the goroutines of the Watches that are starting. Of a large graph they are
// made on all processors: a new stack is untouched memory, which costs more than all the rest. It reports whether there are any.
func (w *watches) startAll(c *core) (some bool) {
	list := w.starting
	if len(list) == 0 {
		return false
	}
	w.starting = nil
	for chunk := range slices.Chunk(list, startAtOnce) {
		go func() {
			_ = apart.Each("Watches", 0, len(chunk), func(i int) error {
				v := chunk[i]
				if ctx := v.watch.Context(); !c.notified(ctx, v) {
					go c.watch(ctx, v)
				}
				return nil
			}, func(i int, err error) {
				chunk[i].watch.Context().Result = err
				c.mail.post(chunk[i], mailWatched)
			})
		}()
	}
	return true
}

// watch is the goroutine of one Watch. It is kept shallow: there is one for each
// vertex.
func (c *core) watch(ctx *watch.Context, v *vertex) {
	defer c.mail.post(v, mailWatched)
	returned := false
	defer func() {
		if !returned && ctx.Result == nil {
			ctx.Result = callsafe.Exited("Watch")
		}
	}()
	defer callsafe.Recover("Watch", &ctx.Result)
	if ctx.Result = v.Res.Watch(ctx); ctx.Result != nil {
		ctx.Result = callsafe.CopyError("Watch", ctx.Result)
	}
	returned = true
}

// slowStart is how long a Watch may say nothing before a warning names its kind: long for a Watch, and short for its author, who waits.
const slowStart = 5 * time.Second

// expects notes that the loop has to look at this time whether a Watch is slow or late, and reports whether it does not do so already.
func (w *watches) expects(at int64) bool {
	if w.next != 0 && w.next <= at {
		return false
	}
	w.next = at
	return true
}

// look finds those among vertices whose Watch is late, or slow and not named so far, and when to look again; 0 for never.
func (w *watches) look(vs []*vertex, now int64, timeout time.Duration) (late []*vertex, slow silent, again int64) {
	before, first := w.looked, int64(math.MaxInt64)
	w.next, w.looked = 0, now
	for _, v := range vs {
		due := v.watch.Due()
		told := due - int64(timeout) + int64(slowStart)
		switch {
		case due == 0 || v.membership.suspended:
		case due <= now:
			late = append(late, v)
		case told > now:
			first = min(first, told, due)
		default:
			if first = min(first, due); told > before {
				slow.add(v)
			}
		}
	}
	if first == math.MaxInt64 {
		first = 0
	}
	return late, slow, first
}

// silent are the vertices whose Watch says nothing, by kind in the order of the graph.
type silent struct {
	kinds []string
	first map[string]string // kind: id
	n     map[string]int
}

func (s *silent) add(v *vertex) {
	kind := v.Res.Kind()
	if s.n == nil {
		s.first, s.n = map[string]string{}, map[string]int{}
	}
	if s.n[kind]++; s.n[kind] == 1 {
		s.kinds, s.first[kind] = append(s.kinds, kind), v.ID
	}
}

// tell warns once of each kind. Without a word its resources would only be called starting.
func (s *silent) tell(log *slog.Logger) {
	for _, kind := range s.kinds {
		log.Warn("the Watch has not called Init.Running: it has to do so as soon as it would hear of a change; or what it opens does not answer; nothing is checked before that",
			slog.String("kind", kind), slog.String("method", "Watch"), slog.String("resource", s.first[kind]), slog.Int("resources", s.n[kind]), slog.Duration("for", slowStart))
	}
}

// notified makes the subscription of v in the place of its Watch, with no goroutine that
// waits, and reports false if Watch has to be called.
func (c *core) notified(ctx *watch.Context, v *vertex) bool {
	host, ok := c.opt.Host.(hosting.Notifier)
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
		ctx.Result = callsafe.CopyError("Watch", err)
		c.mail.post(v, mailWatched)
	}
	return true
}

func watchesOf(res engine.WatchedRes) (paths []string, o events.Options, ok bool, err error) {
	defer callsafe.Recover("Watches", &err)
	paths, o, ok = res.Watches()
	return paths, o, ok, nil
}

// vertexTeller posts the events that the Watch of a vertex would give.
type vertexTeller vertex

func (t *vertexTeller) Running() { (*vertex)(t).sayRunning() }
func (t *vertexTeller) Event()   { (*vertex)(t).sayEvent() }
func (t *vertexTeller) Ended()   { t.core.mail.post((*vertex)(t), mailWatched) }
