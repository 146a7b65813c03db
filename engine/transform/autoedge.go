package transform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// AutoEdge is the step that adds the edges that resources ask for: UIDs says the names of a
// resource, AutoEdges its needs before (or after) itself. Every resource is found by an
// autoedge.NameUID too. An automatic edge is marked as implied, and has the name "auto"; it
// carries refresh where the UID that was asked by says so. Declared edges are left as they
// are, but for refresh that is asked for in the same direction, which is added. Between two
// that both are to go (engine.LeavingRes) the edge is turned round, and carries no refresh. A
// resource that is hidden or has autoedge: false neither asks nor is found. Surveys (engine.SurveyedRes) ask the host;
// without one there are none, and resources are what their UIDs say.
func AutoEdge(h engine.Host) Step { return new(Memory).AutoEdge(h, Known{}) }

const autoName = "auto" // of the edges

// askAtOnce is how many vertices one goroutine asks. It does not depend on the
// machine, nor does the result.
const askAtOnce = 4096

// inParts calls do for some of the vertices after the other, at once where there
// are many. Each call has an asking of its own, whose notes are added in order.
func (a *edgeQueries) inParts(vs []int32, do func(part *edgeQueries, mine []int32)) []edgeQueries {
	parts := make([]edgeQueries, (len(vs)+askAtOnce-1)/askAtOnce)
	ended := make([]<-chan error, len(parts))
	for i := range parts {
		parts[i] = edgeQueries{
			g: a.g, n: &Notes{All: a.n.All, step: a.n.step}, index: a.index, answers: a.answers, recall: a.recall, surveyed: a.surveyed, knows: a.knows,
			budget: maxCompared / len(parts),
		}
		ended[i] = apart.Start("UIDs or AutoEdges", func() error {
			do(&parts[i], vs[i*askAtOnce:min((i+1)*askAtOnce, len(vs))])
			return nil
		})
	}
	var exited error
	for _, c := range ended {
		exited = cmp.Or(<-c, exited)
	}
	if exited != nil {
		panic(exited) // Step.run returns it
	}
	for i := range parts {
		a.n.List = append(a.n.List, parts[i].n.List...)
	}
	return parts
}

// describeAll puts the UIDs of every vertex into the index.
func (a *edgeQueries) describeAll(vs []int32) {
	parts := a.inParts(vs, func(part *edgeQueries, mine []int32) {
		part.things = make([]thing, 0, len(mine))
		for _, v := range mine {
			part.describe(v)
			part.is.end()
		}
	})
	a.index.fill(parts)
	a.answers.is = concat(a.g.Len(), vs, each(parts, func(p *edgeQueries) *rows[uint32] { return &p.is }))
}

// each returns what get returns for each part.
func each[T any](parts []edgeQueries, get func(*edgeQueries) *T) []*T {
	list := make([]*T, len(parts))
	for i := range parts {
		list[i] = get(&parts[i])
	}
	return list
}

// askAll asks every vertex that may not be answered as before.
func (a *edgeQueries) askAll(ctx context.Context, vs []int32) {
	parts := a.inParts(vs, func(part *edgeQueries, mine []int32) {
		for _, v := range mine {
			if ctx.Err() != nil {
				return
			}
			if old, ok := a.recall.holds(v); ok {
				part.repeat(v, old)
			} else {
				part.ask(v)
			}
			part.asked.end()
			part.answered.end()
		}
	})
	if ctx.Err() != nil {
		return
	}
	lists := make([][]edgeRequest, len(parts))
	for i := range parts {
		lists[i] = parts[i].wanted
		a.answers.loose = append(a.answers.loose, parts[i].loose...)
	}
	a.wanted = slices.Concat(lists...)
	a.answers.asked = concat(a.g.Len(), vs, each(parts, func(p *edgeQueries) *rows[uint32] { return &p.asked }))
	a.answers.found = concat(a.g.Len(), vs, each(parts, func(p *edgeQueries) *rows[answer] { return &p.answered }))
}

// edgeRequest is an edge that a resource asks for.
type edgeRequest struct {
	from, to int32
	uid      autoedge.UID // by which it was asked for; nil if that was for an earlier graph
	asker    int32
	notify   bool // it carries refresh
	declared bool // there is such an edge, but without refresh
	turned   bool // both are to go, so the edge is turned round
}

func (w edgeRequest) edge() graph.Edge {
	e := graph.Edge{From: int(w.from), To: int(w.to), Name: autoName, Implied: true, Notify: w.notify, By: graph.ByTo}
	if w.from == w.asker {
		e.By = graph.ByFrom
	}
	if w.declared {
		e.Name = "" // the declared one keeps its own, or none
	}
	return e
}

// reason says why the edge is wanted. A resource that was not asked is asked for it
// now.
func (a *edgeQueries) reason(w edgeRequest) string {
	if w.uid == nil {
		again := edgeQueries{g: a.g, n: &Notes{}, index: a.index, answers: a.answers, knows: a.knows, budget: maxCompared}
		again.ask(w.asker)
		if at := again.edgeRequest(w.from, w.to, 0); at >= 0 {
			w.uid = again.wanted[at].uid
		}
	}
	wants := " wants "
	if w.from == w.asker {
		wants = " wants to come before "
	}
	why := a.g.ID(int(w.asker)) + wants + fmt.Sprint(w.uid) + a.known(w)
	if w.turned {
		why = a.g.ID(int(w.asker)) + " belongs to " + fmt.Sprint(w.uid) + ", and what was made last goes first"
	}
	if w.notify {
		why += ", with refresh"
	}
	return why
}

// kind is that of the note that the edge has been added.
func (w edgeRequest) kind() string {
	if w.declared {
		return EdgeNotifies
	}
	return EdgeAdded
}

// edgeQueries is one run of AutoEdge up to the edges that are wanted.
type edgeQueries struct {
	g       *resgraph.Graph
	n       *Notes
	index   *index
	answers *answers // for the next graph
	recall  *recall  // nil if there was no graph before
	knows   Known

	surveyed map[int32]engine.Surveyed // by vertex: what else it is

	things []thing          // the UIDs of the vertices
	wanted []edgeRequest    // in the order of askers; each pair once for each asker
	found  []bool           // for Test, made once
	budget int              // how many UIDs without a hash may still be compared
	mine   map[[2]int32]int // where the wish for each edge stands among those of an asker who has many

	is, asked rows[uint32] // a row for each vertex that describes itself or asks, in order: see answers
	answered  rows[answer]
	loose     []loose
	names     map[string]bool // the ids that were asked for; nil to note none
}

// edgeable returns the vertices that ask, and notes which ones are found.
func (a *edgeQueries) edgeable() (list []int32) {
	for i, v := range a.g.All() {
		m := engine.MetaOf(v.Res)
		a.index.part[i] = m.AutoEdges() && !m.Hidden
		if _, ok := engine.As[engine.EdgeableRes](v.Res); ok && a.index.part[i] {
			list = append(list, int32(i))
			a.index.gone[i] = a.leaving(int32(i), v.Res)
		}
	}
	return list
}

// leaving reports whether the thing of a vertex is to go.
func (a *edgeQueries) leaving(v int32, r engine.Res) (yes bool) {
	l, ok := engine.As[engine.LeavingRes](r)
	if !ok {
		return false
	}
	if err := callsafe.Do("Leaving", func() error { yes = l.Leaving(); return nil }); err != nil {
		a.skip(v, err)
	}
	return yes
}

func (a *edgeQueries) res(v int32) engine.EdgeableRes {
	return a.g.Value(int(v)).Res.(engine.EdgeableRes)
}

// describe notes the UIDs of a vertex. A UID whose Hash panics is not
// found by anybody.
func (a *edgeQueries) describe(v int32) {
	uids := a.knows.uids(v)
	if uids == nil {
		if err := callsafe.Do("UIDs", func() error { uids = a.res(v).UIDs(); return nil }); err != nil {
			a.skip(v, err)
			return
		}
	}
	if more := a.surveyed[v].UIDs; len(more) > 0 {
		uids = slices.Concat(uids, more)
	}
	for _, u := range uids {
		if u == nil {
			continue
		}
		th := thing{uid: u, vertex: v}
		if err := callsafe.Do("Hash", func() error { th.sum = a.index.sum(u); return nil }); err != nil {
			a.skip(v, err)
			continue
		}
		a.things = append(a.things, th)
		a.is.all = append(a.is.all, uint32(th.sum))
	}
}

// skip says that something that vertex v says of itself can't be used.
func (a *edgeQueries) skip(v int32, err error) { a.n.Tell(Skipped, err.Error(), a.g.ID(int(v))) }

// ask adds the edges that a vertex wants: all of them or, if it has a fault, none.
func (a *edgeQueries) ask(v int32) {
	before, answered := len(a.wanted), len(a.answered.all)
	a.mine = nil
	err := callsafe.Do("AutoEdges", func() error { return a.listen(v, before) })
	if err != nil {
		a.wanted, a.answered.all = a.wanted[:before], a.answered.all[:answered]
		a.answers.again[v] = true
		a.skip(v, err)
	}
}

// repeat adds the wishes of a vertex from an earlier graph.
func (a *edgeQueries) repeat(v, old int32) {
	own := len(a.wanted)
	a.mine = nil
	a.asked.all = append(a.asked.all, a.recall.known.asked.of(old)...)
	for _, x := range a.recall.known.found.of(old) {
		x.vertex = a.recall.now[x.vertex]
		a.link(v, nil, x, own)
	}
}

// maxQuestions bounds how often one resource may go on asking. A path has at most
// half as many parts.
const maxQuestions = 4096

var errEndless = fmt.Errorf("AutoEdges goes on after %d questions", maxQuestions)

// listen asks a vertex until it wants no more. The wishes of v begin at own.
func (a *edgeQueries) listen(v int32, own int) error {
	edges, err := a.res(v).AutoEdges()
	if err != nil || edges == nil {
		return err
	}
	for range maxQuestions {
		uids := edges.Next()
		if len(uids) == 0 {
			return nil
		}
		a.found = append(a.found[:0], make([]bool, len(uids))...)
		for i, u := range uids {
			if a.found[i], err = a.look(v, u, own); err != nil {
				return err
			}
		}
		if !edges.Test(a.found) {
			return nil
		}
	}
	return errEndless
}

var errNilUID = errors.New("AutoEdges gives a UID that is nil")

// look looks one UID up, and notes the edges that it leads to.
func (a *edgeQueries) look(v int32, u autoedge.UID, own int) (bool, error) {
	if u == nil {
		return false, errNilUID
	}
	x := answer{reversed: u.IsReversed(), fixed: hasFixedOrder(u)}
	if n, ok := u.(notifier); ok {
		x.notify = n.Notifies()
	}
	if many, ok := u.(prefixUID); ok && isMany(many) {
		a.answers.again[v] = true
		a.loose = append(a.loose, loose{v, u})
		all := a.index.all(many, v)
		for _, x.vertex = range all {
			a.link(v, u, x, own)
		}
		return len(all) > 0, nil
	}
	sum := a.index.sum(u)
	if sum == 0 {
		a.answers.again[v] = true
		a.loose = append(a.loose, loose{v, u})
	}
	if id := autoedge.NamedBy(u); id != "" && a.names != nil {
		a.names[id] = true
	}
	if n := len(a.asked.all); n == int(a.asked.last()) || a.asked.all[n-1] != uint32(sum) { // a path is asked for as a file and as a mount
		a.asked.all = append(a.asked.all, uint32(sum))
	}
	var err error
	if x.vertex, err = a.index.find(u, sum, v, &a.budget); x.vertex < 0 || err != nil {
		return false, err
	}
	a.link(v, u, x, own)
	return true, nil
}

// isMany reports whether a UID means all of some.
func isMany(u prefixUID) bool {
	of, _ := u.HashPrefix()
	return of != nil
}

// link notes the edge between v, which asks by a UID, and a vertex that is meant.
func (a *edgeQueries) link(v int32, u autoedge.UID, x answer, own int) {
	a.answered.all = append(a.answered.all, x)
	w := edgeRequest{from: v, to: x.vertex, uid: u, asker: v}
	w.turned = a.index.gone[v] && a.index.gone[x.vertex] && !x.fixed
	if x.reversed != w.turned {
		w.from, w.to = x.vertex, v
	}
	w.notify = x.notify && !w.turned
	a.want(w, own)
}

// hasFixedOrder reports whether the order is the same one where both are to go.
func hasFixedOrder(u autoedge.UID) bool {
	x, ok := u.(interface{ HasFixedOrder() bool })
	return ok && x.HasFixedOrder()
}

// notifier is a UID that says whether the edge carries refresh.
type notifier interface{ Notifies() bool }

// want notes a wish, unless the asker, whose wishes begin at own, has it already or
// the edge is there.
func (a *edgeQueries) want(w edgeRequest, own int) {
	link, declared := a.g.Link(int(w.from), int(w.to))
	if declared && (link.Notify || !w.notify) {
		return
	}
	w.declared = declared
	at := a.edgeRequest(w.from, w.to, own)
	switch {
	case at < 0:
		a.wanted = append(a.wanted, w)
		if a.mine != nil {
			a.mine[[2]int32{w.from, w.to}] = len(a.wanted) - 1
		}
	case w.notify:
		a.wanted[at] = w
	}
}

// requestsMany is from when on the wishes of one asker are looked up.
const requestsMany = 32

// edgeRequest returns where the edgeRequest of the asker for an edge stands, -1 for nowhere.
func (a *edgeQueries) edgeRequest(from, to int32, own int) int {
	if a.mine == nil && len(a.wanted)-own > requestsMany {
		a.mine = map[[2]int32]int{}
		for i, w := range a.wanted[own:] {
			a.mine[[2]int32{w.from, w.to}] = own + i
		}
	}
	if a.mine != nil {
		if at, ok := a.mine[[2]int32{from, to}]; ok {
			return at
		}
		return -1
	}
	if at := slices.IndexFunc(a.wanted[own:], func(w edgeRequest) bool { return w.from == from && w.to == to }); at >= 0 {
		return own + at
	}
	return -1
}
