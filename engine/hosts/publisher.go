package hosts

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Publisher is what one host shows the others: its record, which says how its graph stands, and its exports. Make it with
// NewPublisher, and call Run on a goroutine. The other methods never block on the store. Whole and Part are for one goroutine at
// a time; all else is callable from any goroutine.
type Publisher struct {
	o      PublisherOptions
	keeper *Keeper
	most   int           // bytes of one export, its key included
	begin  chan struct{} // closed when the first export is there
	once   sync.Once     // of begin

	exports map[string]exported // by id of the resource; see Whole
	over    []string            // the topics to which this host exports more than others take over
	outlive outlive

	mu     sync.Mutex // guards the rest
	member Member
	joined bool // the member is published
	busy   bool // the graph is not at rest
	timer  bool // unsettled is about to be called
}

// PublisherOptions are what a Publisher is made of. All are needed but Version, Used, Quiet and File.
type PublisherOptions struct {
	World   world.World
	Clock   clock.Clock
	Lease   time.Duration // for how long the store keeps everything after this host has died
	Host    string        // the name of this host
	Version string        // of the program
	Facts   func() engine.Facts
	Used    <-chan struct{} // closed when the store is used at all; nil where only an export uses it
	Log     *slog.Logger
	Quiet   bool   // nothing is published: the run alters nothing
	File    string // keeps the names of the exports for the next run, which takes back what its graph lacks; empty for none
}

// NewPublisher returns a Publisher. It publishes nothing before Run.
func NewPublisher(o PublisherOptions) *Publisher {
	p := &Publisher{o: o, begin: make(chan struct{}), exports: map[string]exported{}, most: o.World.Limits().Bytes}
	p.keeper = NewKeeper(Store{World: o.World, Clock: o.Clock, Tell: func(err error) {
		if err == nil {
			o.Log.Info("the store is back: this host publishes again")
		} else {
			WarnLost(o.Log, err, "other hosts see nothing new of this one")
		}
	}}, o.Lease)
	p.keeper.OnRefused(p.refused)
	p.outlive.init(p)
	return p
}

func (p *Publisher) refused(key string, why error) {
	p.o.Log.Warn("the store refuses a key of this host: other hosts do not see it", slog.String("key", key), slog.Any("error", why))
}

// Run publishes until ctx ends, and blocks until then. The host is a member from the moment on when the store is used, or
// something is exported: a host that shares nothing opens no store. The record goes with the end of Run; the exports stay for as long as
// each of them says (engine.MetaParams.ExportFor), and so does the time when the host was last there.
func (p *Publisher) Run(ctx context.Context) {
	if p.o.Quiet {
		return
	}
	select {
	case <-p.o.Used:
	case <-p.begin:
	case <-ctx.Done():
		return
	}
	p.mu.Lock()
	p.member.Name, p.member.Version, p.member.Since, p.joined = p.o.Host, p.o.Version, p.o.Clock.Now().UTC(), true
	p.mu.Unlock()
	p.state(func(*MemberState) {})
	defer p.outlive.run(ctx)()
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(func() { p.tellSeen(ctx) })
	p.keeper.Run(ctx)
}

// state alters the published state of this host.
func (p *Publisher) state(alter func(*MemberState)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.member.State
	alter(&p.member.State)
	if st := &p.member.State; st.Since.IsZero() || st.Word() != before.Word() {
		st.Since = p.o.Clock.Now().UTC()
	}
	if !p.joined {
		return
	}
	p.member.Facts = p.o.Facts().Map()
	keys, err := MemberKeys(p.member)
	if err != nil {
		p.o.Log.Warn("the state of this host can't be published", slog.Any("error", err))
		return
	}
	p.keeper.Set("member", keys)
}

// Rested publishes how a graph stands that has converged, by the number of its vertices in each state.
func (p *Publisher) Rested(counts [resgraph.NumStates]int) {
	p.state(func(st *MemberState) {
		p.busy = false
		*st = MemberState{
			Graph: st.Graph, Since: st.Since, Converged: true,
			OK: counts[resgraph.StateOK], Failed: counts[resgraph.StateFailed], Blocked: counts[resgraph.StateBlocked],
		}
		for _, n := range counts {
			st.Other += n
		}
		st.Other -= st.OK + st.Failed + st.Blocked
	})
}

// Swapped publishes that a graph has taken effect. If it differs from the one before, it has not converged yet.
func (p *Publisher) Swapped(graph string, differs bool) {
	p.state(func(st *MemberState) {
		if st.Graph = graph; differs {
			p.busy, st.Converged = true, false
		}
	})
}

// stirWait is for how long a graph may work before its host is no longer published as converged. A correction is
// mostly over sooner, and is not worth two writes.
const stirWait = time.Second

// Stirred notes that the graph is no longer at rest, and publishes that if it stays so for a second.
func (p *Publisher) Stirred() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = true
	if !p.timer {
		p.timer = true
		p.o.Clock.AfterFunc(stirWait, p.unsettled)
	}
}

// unsettled publishes that the graph is still working. The timer may come after the end of Run, and then
// alters a record that is published no more.
func (p *Publisher) unsettled() {
	p.state(func(st *MemberState) {
		p.timer = false
		st.Converged = st.Converged && !p.busy
	})
}

// Whole publishes the exports of a whole graph in place of those before.
func (p *Publisher) Whole(g *resgraph.Graph) {
	exports := map[string]exported{}
	for i, v := range g.All() {
		if x := p.exported(v); len(x.keys) > 0 {
			exports[g.ID(i)] = x
		}
	}
	if len(exports)+len(p.exports) > 0 || p.outlive.isFirst() {
		p.exports = exports
		p.publish()
	}
}

// Part publishes the exports of a part of the graph, by ids: brought has the vertices that came or were changed, and removed the
// ones that went. A part without exports costs nothing.
func (p *Publisher) Part(brought map[string]*resgraph.Vertex, removed []string) {
	moved := false
	for id, v := range brought {
		x := p.exported(v)
		moved = moved || len(x.keys)+len(p.exports[id].keys) > 0
		if delete(p.exports, id); len(x.keys) > 0 {
			p.exports[id] = x
		}
	}
	for _, id := range removed {
		moved = moved || len(p.exports[id].keys) > 0
		delete(p.exports, id)
	}
	if moved {
		p.publish()
	}
}

// exported returns how a vertex stands in the store; without keys where it is not exported, or cannot be.
func (p *Publisher) exported(v *resgraph.Vertex) exported {
	if p.o.Quiet || v == nil || len(engine.MetaOf(v.Res).Export) == 0 {
		return exported{}
	}
	keys, err := ExportKeys(p.o.Host, v.Res)
	for key, value := range keys {
		if n := len(key) + len(value); n > p.most {
			err = fmt.Errorf("it takes %d bytes in the store, and at most %d are allowed", n, p.most)
		}
	}
	if err != nil {
		p.o.Log.Warn("a resource can't be exported: other hosts do not get it", slog.String("resource", v.Res.String()), slog.Any("error", err))
		return exported{}
	}
	return exported{keys, max(engine.MetaOf(v.Res).Outlives(), p.o.Lease)}
}

// weigh says to which topics this host exports more than the others take over, once.
func (p *Publisher) weigh() {
	by := map[string]*used{} // by the part of the key
	for _, x := range p.exports {
		for key, value := range x.keys {
			topic, _, _ := strings.Cut(strings.TrimPrefix(key, tableExports), "/")
			if by[topic] == nil {
				by[topic] = &used{sizes: map[string]int{}}
			}
			by[topic].put(key, value, MaxExports, MaxExportBytes)
		}
	}
	was := p.over
	p.over = nil
	for _, topic := range slices.Sorted(maps.Keys(by)) {
		if !by[topic].over {
			continue
		}
		if p.over = append(p.over, topic); !slices.Contains(was, topic) {
			p.o.Log.Warn("other hosts do not get all that this one exports", slog.Any("error", &QuotaError{Host: p.o.Host, Topic: unescaped(topic)}))
		}
	}
}

// publish hands all exports to their keepers.
func (p *Publisher) publish() {
	p.weigh()
	if p.outlive.set(p.exports) {
		p.once.Do(func() { close(p.begin) })
	}
}

// Used returns a channel that is closed when a store is used: at once, unless the store opens itself at its first use.
func Used(w world.World) <-chan struct{} {
	if w, ok := w.(interface{ Used() <-chan struct{} }); ok {
		return w.Used()
	}
	now := make(chan struct{})
	close(now)
	return now
}
