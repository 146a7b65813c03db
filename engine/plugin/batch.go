package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

var _ engine.Batcher = (*res)(nil)

// GroupKey is the same for all resources of a kind whose provider takes several calls as one; empty for another kind.
func (r *res) GroupKey() string {
	if r.kind.Batch < 2 {
		return ""
	}
	return r.kind.plugin.key() + " " + r.kind.Token
}

// Each member does the work that it does alone, with its own record. So a batch that crashes leaves the same records as single calls. Only the questions travel together.
//
// CheckApplyBatch checks and applies several resources of the kind. It returns when all of them are done.
func (r *res) CheckApplyBatch(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
	out := make([]engine.Outcome, len(members))
	g := &gatherer{res: r, ctx: ctx, active: len(members)}
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() {
			defer g.leave()
			err := callsafe.Do("CheckApply", func() (err error) {
				out[i].OK, err = m.(*res).checkApply(ctx, apply, g)
				return err
			})
			out[i].Err = err
		})
	}
	all.Wait()
	return out
}

// gatherer sends the questions of the members of a batch together: as soon as each member that is not done waits for an
// answer. So no timer is needed, and the calls of
// members that take other ways are in one message too.
type gatherer struct {
	res *res
	ctx context.Context

	mu     sync.Mutex
	active int // members that are not done
	asked  []*gathered
}

// gathered is a question that waits.
type gathered struct {
	method        string
	params, reply any
	err           error
	done          chan struct{}
}

// call asks, together with others.
func (g *gatherer) call(method string, params, reply any) error {
	q := &gathered{method: method, params: params, reply: reply, done: make(chan struct{})}
	g.mu.Lock()
	g.asked = append(g.asked, q)
	ready := g.ready()
	g.mu.Unlock()
	g.send(ready)
	<-q.done // a member that waits is active, so the last one to come or to leave has sent it
	return q.err
}

// leave says that a member is done.
func (g *gatherer) leave() {
	g.mu.Lock()
	g.active--
	ready := g.ready()
	g.mu.Unlock()
	g.send(ready)
}

// ready takes the questions if all members wait. The caller holds mu.
func (g *gatherer) ready() []*gathered {
	if len(g.asked) < g.active || len(g.asked) == 0 {
		return nil
	}
	ready := g.asked
	g.asked = nil
	return ready
}

// send asks, with as many calls in a message as the provider takes.
func (g *gatherer) send(asked []*gathered) {
	for len(asked) > 0 {
		n := min(len(asked), g.res.kind.Batch)
		g.sendOne(asked[:n])
		asked = asked[n:]
	}
}

// sendOne sends one message, and hands out the answers.
func (g *gatherer) sendOne(asked []*gathered) {
	defer func() {
		for _, q := range asked {
			close(q.done)
		}
	}()
	if len(asked) == 1 {
		q := asked[0]
		q.err = g.res.ses.call(g.ctx, q.method, q.params, q.reply)
		return
	}
	reply := protocol.BatchReply{}
	calls, err := callsOf(asked)
	if err == nil {
		err = g.res.ses.call(g.ctx, protocol.MethodBatch, &protocol.BatchRequest{Token: g.res.kind.Token, Calls: calls}, &reply)
	}
	if err == nil && len(reply.Outcomes) != len(asked) {
		err = fmt.Errorf("the provider %s has given %d outcomes for a batch of %d calls", g.res.kind.plugin.Name, len(reply.Outcomes), len(asked))
	}
	for i, q := range asked {
		if q.err = err; err == nil {
			q.err = g.res.ses.named(q.method, q.take(reply.Outcomes[i]))
		}
	}
}

// callsOf returns questions as the calls of a message.
func callsOf(asked []*gathered) ([]protocol.Call, error) {
	calls := make([]protocol.Call, len(asked))
	for i, q := range asked {
		params, err := json.Marshal(q.params)
		if err != nil {
			return nil, err
		}
		calls[i] = protocol.Call{Method: q.method, Params: params}
	}
	return calls, nil
}

// take reads the outcome of one call.
func (q *gathered) take(o protocol.Outcome) error {
	return readReply(&protocol.Message{Result: o.Result, Error: o.Error}, q.method, q.reply)
}

// call asks the provider, in a batch where there is one.
func (w *work) call(method string, params, reply any) error {
	switch method {
	case protocol.MethodGet, protocol.MethodCreate, protocol.MethodUpdate, protocol.MethodDelete:
		if w.batch != nil {
			return w.batch.call(method, params, reply)
		}
	}
	return w.ses.call(w.ctx, method, params, reply)
}
