package control

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/selection"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/graph"
)

// Session differs for each start of the daemon, also with the same pid.
func (s *Server) version() Version {
	st := s.opt.Recorder.Standing()
	return Version{
		Version: s.opt.Version, API: 1, PID: os.Getpid(), StateDir: s.opt.StateDir,
		Session: st.Session, Started: st.Started, Generation: st.Generation,
	}
}

func (s *Server) getVersion(http.ResponseWriter, *http.Request) (any, error) { return s.version(), nil }

// maxWait bounds how long one request may wait.
const maxWait = time.Hour

// getStatus answers how things stand: with the resources that are not ok, the
// resources in some states, or all. It can wait before.
func (s *Server) getStatus(w http.ResponseWriter, r *http.Request) (any, error) {
	p := params{Values: r.URL.Query()}
	states := p.words("state", selection.States())
	all := p.yes("all")
	selects, empty := p.Get("select"), p.yes("empty")
	waits := p.words("wait", []string{"converged"})
	limit := p.seconds("for_seconds", 30*time.Second, maxWait)
	if p.err != nil {
		return nil, p.err
	}
	if len(waits) > 0 {
		s.awaitRest(r.Context(), limit)
		s.frame.Patience(w)
	}
	ctx, cancel := clock.WithTimeout(r.Context(), s.opt.Clock, askTimeout, nil)
	defer cancel()
	var g *resgraph.Graph
	if selects != "" { // before the states, so that each of them is of it or of a later one
		var err error
		if g, err = s.inEffect(ctx); err != nil {
			return nil, err
		}
	}
	now, err := s.opt.Engine.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var among map[string]bool // of the selected ones; nil without a selection
	none := ""
	if selects != "" {
		c := &chooser{g: g}
		c.know(now.Statuses)
		c.away(now.Absent)
		chosen, err := c.choose(selects)
		switch e, ok := errors.AsType[*Error](err); {
		case ok && empty && e == errNoGraph:
			none = e.Text // the hint is this very question
		case ok && empty && e.Status == http.StatusNotFound:
			none = e.Error()
		case err != nil:
			return nil, err
		}
		among = make(map[string]bool, len(chosen.ids))
		for _, id := range chosen.ids {
			among[id] = true
		}
	}
	out := s.status(&now, func(st *reactor.Status) bool {
		switch {
		case among != nil && !among[st.Resource]:
			return false
		case len(states) > 0:
			return slices.Contains(states, st.Rest.String()) || slices.Contains(states, st.State.String())
		}
		return all || among != nil || st.Rest != resgraph.StateOK
	})
	if among != nil {
		out.Selected = selectedOf(out, now.Statuses, among)
		out.Selected.None = none
	}
	out.Awaits = now.Awaits
	out.Watches = s.watches(ctx, all)
	for _, p := range now.Absent {
		if among != nil && !among[p.Resource] {
			continue
		}
		out.Absent = append(out.Absent, AbsentPause{p.Resource, pauseOf(&p)})
	}
	return out, nil
}

// selectedOf says how the selected resources of a status stand.
func selectedOf(all *Status, list []reactor.Status, among map[string]bool) *Selected {
	var counts reactor.Counts
	for i := range list {
		if among[list[i].Resource] {
			counts[list[i].Rest]++
		}
	}
	alone := *all
	alone.Counts, alone.Early = counts.Named(), all.Generation == 0
	return &Selected{Counts: alone.Counts, ExitCode: alone.Code()}
}

// foldersTimeout bounds the question for the folders: the states are told even while a file system holds the watches up.
const foldersTimeout = time.Second

// watches says what tells of changes; nil where nobody knows.
func (s *Server) watches(ctx context.Context, all bool) *Watches {
	if s.opt.Folders == nil {
		return nil
	}
	ctx, cancel := clock.WithTimeout(ctx, s.opt.Clock, foldersTimeout, fmt.Errorf("no answer within %s: a file system may hang", foldersTimeout))
	defer cancel()
	list, err := s.opt.Folders(ctx)
	if err != nil {
		return &Watches{Counts: map[string]int{}, Error: err.Error()}
	}
	return watchesOf(list, all)
}

// awaitRest waits until the graph has converged, but no longer than that.
// It waits for news of the Recorder and not with a timer, so an answer comes at once. After that time the
// answer says how it stands then, without an error.
func (s *Server) awaitRest(ctx context.Context, limit time.Duration) {
	ctx, cancel := clock.WithTimeout(ctx, s.opt.Clock, limit, nil)
	defer cancel()
	for {
		changed := s.opt.Recorder.Changes()
		if s.opt.Recorder.Standing().Converged {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// maxAsked is of how many resources a status tells what they want to change.
const maxAsked = 100

// A graph that is held is told in Held and not in Refused. The counts are those of all
// vertices, whatever is wanted of them.
func (s *Server) status(now *reactor.Snapshot, wanted func(*reactor.Status) bool) *Status {
	st := s.opt.Recorder.Standing()
	out := &Status{
		Version: s.version(), Graph: st.Graph, SameSince: st.SameSince, Converged: now.Rest.Converged, Early: now.Rest.Early, Since: st.Since,
		Refused: st.Refused, Counts: now.Rest.Counts.Named(), Resources: []Resource{},
	}
	if st.Held {
		out.Held, out.Refused = st.Refused, ""
	}
	if s.opt.Lost != nil {
		if since, why := s.opt.Lost(); why != nil {
			out.StoreLost = &StoreLost{Since: since, Error: why.Error(), Refused: errors.Is(why, world.ErrRefused)}
		}
	}
	if s.opt.StateLost != nil {
		out.StateLost = s.opt.StateLost()
	}
	out.Notices = s.badNotices()
	if s.opt.Kept != nil {
		out.Pinned, out.Undone = s.opt.Kept.Pinned(), s.opt.Kept.Undone()
	}
	out.Generation, out.ExitCode = now.Rest.Generation, out.Code()
	asked := 0
	for i := range now.Statuses {
		if st := &now.Statuses[i]; wanted(st) {
			r := resourceOf(st)
			if r.Held != nil && len(r.Held.Changes) > 0 {
				if asked++; asked > maxAsked {
					r.Held.Changes, r.Held.Omitted = nil, true
				}
			}
			out.Resources = append(out.Resources, r)
		}
	}
	return out
}

// It is text for people, whose words may change with each version.
func (s *Server) getDump(_ http.ResponseWriter, r *http.Request) (any, error) {
	dump, err := s.opt.Engine.Dump(r.Context())
	return text("text/plain; charset=utf-8", []byte(dump)), err
}

// The body is in the text format of Prometheus.
func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.opt.Metrics == nil {
		return nil, &Error{http.StatusNotFound, "this program keeps no metrics", ""}
	}
	return s.opt.Metrics(w, r)
}

// The colours of the states in a drawing.
var looks = map[string]graph.Look{
	"starting":     {Fill: "#f1f5f9", Stroke: "#64748b"},
	"waiting":      {Fill: "#f1f5f9", Stroke: "#64748b"},
	"running":      {Fill: "#dbeafe", Stroke: "#2563eb"},
	"ok":           {Fill: "#dcfce7", Stroke: "#16a34a"},
	"would-change": {Fill: "#fef9c3", Stroke: "#ca8a04"},
	"unknown":      {Fill: "#fef9c3", Stroke: "#ca8a04"},
	"failed":       {Fill: "#fee2e2", Stroke: "#dc2626"},
	"blocked":      {Fill: "#ffedd5", Stroke: "#ea580c"},
	"paused":       {Fill: "#f3e8ff", Stroke: "#9333ea"},
	"held":         {Fill: "#f3e8ff", Stroke: "#9333ea"},
}

// getGraph draws the graph in effect with the state of each vertex.
func (s *Server) getGraph(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := params{Values: r.URL.Query()}
	format := append(p.words("format", []string{"dot", "mermaid", "json"}), "dot")[0]
	direction := append(p.words("direction", []string{"TB", "BT", "LR", "RL"}), "TB")[0]
	reduce := p.yes("reduce")
	if p.err != nil {
		return nil, p.err
	}
	g := s.opt.Recorder.Graph()
	if g == nil {
		return nil, errNoGraph
	}
	now, err := s.opt.Engine.Snapshot(r.Context())
	if err != nil {
		return nil, err
	}
	o := liveStyle(g, now.Statuses)
	o.Direction, o.Reduce = direction, reduce
	return draw(g, format, o)
}

// liveStyle shows the state of each vertex. A vertex that the engine does not
// have, because another graph is just taking effect, is starting.
func liveStyle(g *resgraph.Graph, list []reactor.Status) graph.DrawOptions {
	by := make(map[string]*reactor.Status, len(list))
	for i := range list {
		by[list[i].Resource] = &list[i]
	}
	return graph.DrawOptions{Looks: looks, Style: func(i int) graph.Style {
		id := g.ID(i)
		st := cmp.Or(by[id], &reactor.Status{Resource: id})
		kind, _, _ := strings.Cut(id, "[")
		data := map[string]string{"state": st.State.String()}
		if m := engine.MetaOf(g.Value(i).Res); m != nil && m.Module != "" {
			data["module"] = m.Module
		}
		if st.Err != nil {
			data["error"] = st.Err.Error()
		}
		label := fmt.Sprintf("%s\n%s", id, st.State)
		if n := len(g.Value(i).Special().Group); n > 0 {
			label += fmt.Sprintf("\nmembers: %d", n)
		}
		return graph.Style{
			Label:      label,
			Classes:    []string{"kind-" + kind, st.State.String()},
			Attributes: data,
		}
	}}
}

// IANA lists the media type of DOT.
func draw(g *resgraph.Graph, format string, o graph.DrawOptions) (*httpd.Answer, error) {
	var buf bytes.Buffer
	kind, err := "text/plain; charset=utf-8", error(nil)
	switch format {
	case "mermaid":
		err = g.WriteMermaid(&buf, o)
	case "json":
		kind = "application/json"
		err = g.WriteCytoscape(&buf, o)
	default:
		kind = "text/vnd.graphviz; charset=utf-8"
		err = g.WriteDOT(&buf, o)
	}
	return text(kind, buf.Bytes()), err
}
