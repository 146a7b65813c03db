package mgmt

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
)

// sharing is what this host publishes in the store: the host itself, and its exports.
type sharing struct {
	keeper *hosts.Keeper
	clock  engine.Clock
	log    *slog.Logger
	from   string
	most   int           // bytes of one export
	off    bool          // nothing is published: the run alters nothing
	begin  chan struct{} // closed when the first export is there
	once   sync.Once

	exports map[string]map[string][]byte // by id of the resource: its keys; under using

	mu     sync.Mutex
	member hosts.Member
	joined bool // the member is published
	busy   bool // the graph is not at rest
	timer  bool // unsettled is about to be called
	facts  func() engine.Facts
}

// newSharing makes the sharing of a session. It publishes nothing before keep.
func (s *session) newSharing(world engine.World) *sharing {
	o := &s.opt
	x := &sharing{
		clock: engine.ClockOf(s.host), log: o.Logger, from: s.hostname(), begin: make(chan struct{}),
		off: o.readOnly || o.Noop == NoopAll, exports: map[string]map[string][]byte{}, facts: s.host.Facts,
		most: world.Limits().Bytes,
	}
	x.keeper = hosts.NewKeeper(hosts.Store{World: world, Clock: x.clock, Tell: func(err error) {
		if err == nil {
			x.log.Info("the store is back: this host publishes again")
		} else {
			x.log.Warn("the store is out of reach: other hosts see nothing new of this one", slog.Any("error", err))
		}
	}}, o.Lease)
	x.keeper.OnRefused(func(key string, why error) {
		x.log.Warn("the store refuses a key of this host: other hosts do not see it", slog.String("key", key), slog.Any("error", why))
	})
	return x
}

// hostname is the name of this host in the graph and in the store.
func (s *session) hostname() string { return cmp.Or(s.opt.Hostname, s.host.Facts().Hostname) }

// keep publishes until ctx ends. used is closed when a store is used at all; nil for a store of this process alone.
// A host is a member from that moment on.
func (x *sharing) keep(ctx context.Context, version string, used <-chan struct{}) {
	if x.off {
		return
	}
	select {
	case <-used:
	case <-x.begin:
	case <-ctx.Done():
		return
	}
	x.mu.Lock()
	x.member.Name, x.member.Version, x.member.Since, x.joined = x.from, version, x.clock.Now().UTC(), true
	x.mu.Unlock()
	x.state(func(*hosts.MemberState) {})
	x.keeper.Run(ctx)
}

// state alters the published state of this host.
func (x *sharing) state(alter func(*hosts.MemberState)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.member.State
	alter(&x.member.State)
	if st := &x.member.State; st.Since.IsZero() || st.Word() != before.Word() {
		st.Since = x.clock.Now().UTC()
	}
	if !x.joined {
		return
	}
	x.member.Facts = x.facts().Map()
	keys, err := hosts.MemberKeys(x.member)
	if err != nil {
		x.log.Warn("the state of this host can't be published", slog.Any("error", err))
		return
	}
	x.keeper.Set("member", keys)
}

// rested publishes how the graph stands.
func (x *sharing) rested(c Counts) {
	x.state(func(st *hosts.MemberState) {
		x.busy = false
		*st = hosts.MemberState{
			Graph: st.Graph, Since: st.Since, Converged: true,
			OK: c[engine.StateOK], Failed: c[engine.StateFailed], Blocked: c[engine.StateBlocked],
		}
		for _, n := range c {
			st.Other += n
		}
		st.Other -= st.OK + st.Failed + st.Blocked
	})
}

// swapped publishes that a graph has taken effect, and has not converged yet.
func (x *sharing) swapped(graph string) {
	x.state(func(st *hosts.MemberState) { x.busy, st.Graph, st.Converged = true, graph, false })
}

// stirWait is for how long a graph may work before its host is no longer published as converged. A correction is
// mostly over sooner, and is not worth two writes.
const stirWait = time.Second

// stirred notes that the graph is no longer at rest, and publishes that if it stays so.
func (x *sharing) stirred() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy = true
	if !x.timer {
		x.timer = true
		x.clock.AfterFunc(stirWait, x.unsettled)
	}
}

// unsettled publishes that the graph is still working. The timer may come after the end of the run, and then
// alters a record that is published no more.
func (x *sharing) unsettled() {
	x.state(func(st *hosts.MemberState) {
		x.timer = false
		st.Converged = st.Converged && !x.busy
	})
}

// whole publishes the exports of a whole graph. The caller holds using.
func (x *sharing) whole(g *engine.Graph) {
	exports := map[string]map[string][]byte{}
	for i, v := range g.All() {
		if keys := x.keys(v); len(keys) > 0 {
			exports[g.ID(i)] = keys
		}
	}
	if len(exports)+len(x.exports) > 0 {
		x.exports = exports
		x.publish()
	}
}

// part publishes the exports of a part. The caller holds using.
func (x *sharing) part(brought map[string]*engine.Vertex, removed []string) {
	moved := false
	for id, v := range brought {
		keys := x.keys(v)
		moved = moved || len(keys)+len(x.exports[id]) > 0
		if delete(x.exports, id); len(keys) > 0 {
			x.exports[id] = keys
		}
	}
	for _, id := range removed {
		moved = moved || len(x.exports[id]) > 0
		delete(x.exports, id)
	}
	if moved {
		x.publish()
	}
}

// keys returns the keys of a vertex in the store; none where it is not exported, or cannot be.
func (x *sharing) keys(v *engine.Vertex) map[string][]byte {
	if x.off || v == nil || len(v.Res.MetaParams().Export) == 0 {
		return nil
	}
	keys, err := hosts.ExportKeys(x.from, v.Res)
	for key, value := range keys {
		if n := len(key) + len(value); n > x.most {
			err = fmt.Errorf("it takes %d bytes in the store, and at most %d are allowed", n, x.most)
		}
	}
	if err != nil {
		x.log.Warn("a resource can't be exported: other hosts do not get it", slog.String("resource", v.Res.String()), slog.Any("error", err))
		return nil
	}
	return keys
}

// publish hands all exports to the keeper.
func (x *sharing) publish() {
	all := map[string][]byte{}
	for _, keys := range x.exports {
		maps.Copy(all, keys)
	}
	x.keeper.Set("exports", all)
	if len(all) > 0 {
		x.once.Do(func() { close(x.begin) })
	}
}

// usedOf returns a channel that is closed when a store is used: at once, unless it opens itself at its first use.
// It is nil where the session has a store of its own, which no other host can see.
func (o *options) usedOf() <-chan struct{} {
	if o.World == nil {
		return nil
	}
	if w, ok := o.World.(interface{ Used() <-chan struct{} }); ok {
		return w.Used()
	}
	now := make(chan struct{})
	close(now)
	return now
}
